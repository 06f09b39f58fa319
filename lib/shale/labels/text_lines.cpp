#include "shale/labels/text_lines.hpp"

#include <algorithm>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/io/input_stream.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/io/write_fully.hpp"
#include "shale/manifest/csv.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kLongestLine = 1 << 20, kLinePieceBytes = 256 * 1024;

}  // namespace

std::string ListCopies::path_of(const std::string& name) {
  if (name != kStdin) {
    const std::optional<struct stat> facts = facts_behind(name);
    if (!facts || S_ISREG(facts->st_mode) || S_ISDIR(facts->st_mode)) return name;
  }
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<NamelessFile>& copy = copies_[name];
  if (copy) return copy->link();
  InputStream input(name);
  auto file = std::make_unique<NamelessFile>(temporary_folder());
  std::vector<std::byte> buffer(kLinePieceBytes);
  std::uint64_t offset = 0;
  while (const std::uint64_t count = input.read(buffer)) {
    write_fully(file->descriptor(), Bytes(buffer).first(count), offset, file->path());
    offset += count;
  }
  copy = std::move(file);
  return copy->link();
}

TextLines::TextLines(const std::string& path, std::string_view wanted, char ending)
    : name_(path), file_(path), wanted_(wanted), ending_(ending) {}

TextLines::TextLines(const std::string& name, std::string_view wanted, ListCopies& copies,
                     char ending)
    : name_(name == kStdin ? "stdin" : name),
      file_(copies.path_of(name)),
      wanted_(wanted),
      ending_(ending) {}

void TextLines::for_each(
    const std::function<bool(std::uint64_t line, std::string_view text)>& use) const {
  std::vector<std::byte> piece(std::min(kLinePieceBytes, file_.size()));
  std::string text;
  std::uint64_t line = 1;
  const auto end_line = [&] {
    const bool is_of_text = ending_ == '\n';
    if (is_of_text && text.ends_with('\r')) text.pop_back();
    const std::string_view whole = is_of_text && line == 1 ? without_byte_order_mark(text) : text;
    const bool goes_on = whole.empty() || use(line, whole);
    text.clear();
    ++line;
    return goes_on;
  };
  for (std::uint64_t offset = 0; offset < file_.size();) {
    piece.resize(std::min<std::uint64_t>(piece.size(), file_.size() - offset));
    file_.read_exact(offset, piece);
    offset += piece.size();
    for (const char byte : as_text(piece)) {
      if (byte == ending_) {
        if (!end_line()) return;
        continue;
      }
      text += byte;
      if (text.size() <= kLongestLine) continue;
      throw Error(Code::bad_content, "line {} is longer than {}", line, format_size(kLongestLine))
          .at(name_)
          .hint("a list has " + wanted_ + " in each line");
    }
  }
  if (!text.empty()) end_line();
}

std::string TextLines::text_of(std::uint64_t line) const {
  std::string found;
  for_each([&](std::uint64_t at, std::string_view text) {
    if (at == line) found = text;
    return at < line;
  });
  return found;
}

Error unknown_key(const std::string& list, std::uint64_t line, std::string_view key,
                  std::uint64_t unknown) {
  const std::string others = unknown == 1 ? ""
                                          : fmt::format(" ({} in the list are unknown)",
                                                        format_counted(unknown, "key", "keys"));
  return Error(Code::bad_content, "line {}: no sample of the input has the key '{}'{}", line,
               printable(key), others)
      .at(list);
}

Error listed_twice(const std::string& list, std::string_view what, std::string_view where,
                   std::string_view hint) {
  return Error(Code::bad_content, "{} is listed twice, {}", what, where).at(list).hint(hint);
}

}  // namespace shale
