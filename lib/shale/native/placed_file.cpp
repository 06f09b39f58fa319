#include "shale/native/placed_file.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/path_facts.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kPieceBytes = 256 << 10;

std::string beside(const std::string& path) {
  return join_path(folder_of_file(path), "." + path.substr(path.rfind('/') + 1) + ".shale-new");
}

// Piece by piece, until `use` has had enough.
void for_each_piece(std::string_view head, ScratchFile* rest,
                    const std::function<bool(Bytes piece)>& use) {
  if (!use(as_bytes(head)) || rest == nullptr) return;
  std::vector<std::byte> buffer(std::min(kPieceBytes, rest->size()));
  for (std::uint64_t at = 0; at < rest->size(); at += buffer.size()) {
    buffer.resize(std::min<std::uint64_t>(buffer.size(), rest->size() - at));
    rest->read_exact(at, buffer);
    if (!use(buffer)) return;
  }
}

}  // namespace

void PlacedFiles::add(const std::string& path, std::string_view head, ScratchFile* rest) {
  const std::string temporary = beside(path);
  remove_file(temporary);  // of a run that was killed
  OutputFile file(
      temporary,
      {.io = IoMode::buffered, .buffer_bytes = 64 << 10, .buffers = 1, .syncs = &syncs_});
  for_each_piece(head, rest, [&](Bytes piece) {
    file.append(piece);
    return true;
  });
  (void)file.finish();
  paths_.push_back(path);
}

void PlacedFiles::place() {
  syncs_.sync();
  for (const std::string& path : paths_) rename_file(beside(path), path);
  paths_.clear();
}

bool has_content(const std::string& path, std::string_view head, ScratchFile* rest) {
  const InputFile file(path);
  if (file.size() != head.size() + (rest != nullptr ? rest->size() : 0)) return false;
  std::uint64_t at = 0;
  bool is_same = true;
  std::vector<std::byte> there;
  for_each_piece(head, rest, [&](Bytes piece) {
    there.resize(piece.size());
    file.read_exact(at, there);
    at += piece.size();
    return is_same = std::ranges::equal(there, piece);
  });
  return is_same;
}

void refuse_link_to_nothing(const std::string& path) {
  if (!stands(path) || facts_behind(path)) return;
  throw Error(Code::exists, "is a link to nothing, where an index for other programs belongs")
      .at(path)
      .hint("remove the link, or restore what it led to, and run the same command again");
}

}  // namespace shale
