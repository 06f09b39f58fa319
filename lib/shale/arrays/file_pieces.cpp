#include "shale/arrays/file_pieces.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace shale {
namespace {

constexpr std::uint64_t kReadAtOnce = 1 << 20;

}  // namespace

void visit_file_pieces(const InputFile& file, std::uint64_t offset, std::uint64_t bytes,
                       const std::function<void(Bytes)>& sink) {
  std::vector<std::byte> piece(std::min(kReadAtOnce, bytes));
  for (std::uint64_t done = 0; done < bytes;) {
    const auto some = std::span(piece).first(std::min(kReadAtOnce, bytes - done));
    file.read_exact(offset + done, some);
    done += some.size();
    sink(some);
  }
}

}  // namespace shale
