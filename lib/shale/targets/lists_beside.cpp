#include "shale/targets/lists_beside.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/targets/file_output.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kPieceOfList = 64 * 1024;

Error has_other_content(const std::string& path) {
  return Error(Code::exists, "is not the list that belongs to this output, and is never replaced")
      .at(path)
      .hint("move it away, or choose an output in another folder");
}

// A file itself, not a link to one; nullopt if nothing has the name.
std::optional<InputFile> list_at(const std::string& path) {
  const std::optional<struct stat> facts = facts_at(path);
  if (!facts) return std::nullopt;
  if (!S_ISREG(facts->st_mode)) throw has_other_content(path);
  return InputFile(path);
}

bool holds(const InputFile& file, const SplitLists::File& list) {
  if (file.size() != list.bytes) return false;
  Hasher128 hasher;
  std::vector<std::byte> piece;
  for (std::uint64_t offset = 0; offset < file.size(); offset += piece.size()) {
    piece.resize(std::min(kPieceOfList, file.size() - offset));
    file.read_exact(offset, piece);
    hasher.update(piece);
  }
  return hasher.digest() == list.hash;
}

// Compares a file with rows that come in order, some of which it may lack.
class StandingList {
 public:
  explicit StandingList(InputFile file) : file_(std::move(file)) {}

  void take(std::string_view row) {
    row_.resize(std::min<std::uint64_t>(row.size(), file_.size() - at_));
    file_.read_exact(at_, row_);
    if (as_text(row_) == row) {
      at_ += row.size();
    } else {
      ++missing_;
    }
  }
  [[nodiscard]] bool is_of_rows(std::uint64_t most_missing) const {
    return at_ > 0 && at_ == file_.size() && missing_ <= most_missing;
  }
  [[nodiscard]] const std::string& path() const { return file_.path(); }

 private:
  InputFile file_;
  std::uint64_t at_ = 0, missing_ = 0;
  std::vector<std::byte> row_;
};

}  // namespace

ListsBeside::ListsBeside(const std::string& output, SplitLists lists, std::uint64_t most_missing)
    : folder_(folder_of_file(output)), lists_(std::move(lists)), files_(lists_.files()) {
  std::vector<std::optional<StandingList>> standing(files_.size());
  bool is_any = false;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    std::optional<InputFile> file = list_at(join_path(folder_, files_[i].name));
    if (!file) continue;
    standing[i].emplace(std::move(*file));
    is_any = true;
  }
  if (!is_any) return;
  lists_.for_each_row({}, [&](std::size_t file, std::string_view row) {
    if (standing[file]) standing[file]->take(row);
  });
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const bool is_of_videos = i > 0;  // classes are never skipped
    if (standing[i] && !standing[i]->is_of_rows(is_of_videos ? most_missing : 0))
      throw has_other_content(standing[i]->path());
  }
}

ListsBeside::~ListsBeside() try {
  for (const SplitLists::File& file : taken_) {
    const std::string path = join_path(folder_, file.name);
    const std::optional<InputFile> standing = list_at(path);
    if (standing && holds(*standing, file)) (void)remove_file(path);
  }
} catch (const Error&) {
  return;  // the error that led here is the one to be told
}

std::vector<WrittenList> ListsBeside::report() const {
  std::vector<WrittenList> lists;
  for (const SplitLists::File& file : files_) lists.push_back({file.name, file.rows});
  return lists;
}

void ListsBeside::write(const std::string& work_folder, const SplitLists::KeySet& skipped) {
  work_folder_ = work_folder;
  files_ = lists_.write(work_folder, skipped);
}

void ListsBeside::take_names() {
  for (const SplitLists::File& file : files_) {
    const std::string path = join_path(folder_, file.name);
    const std::string from = join_path(work_folder_, file.name);
    if (rename_to_free_name(from, path)) {
      taken_.push_back(file);
      continue;
    }
    const std::optional<InputFile> standing = list_at(path);
    if (!standing || !holds(*standing, file)) throw has_other_content(path);
    (void)remove_file(from);
  }
  sync_directory(folder_);
}

}  // namespace shale
