#include "shale/arrays/piece_reader.hpp"

#include <algorithm>

#include "shale/base/error.hpp"
#include "shale/io/read_errors.hpp"

namespace shale {
namespace {

constexpr std::size_t kBatch = 512;
constexpr std::uint32_t kDepth = 64;
// A long piece is read in several parts, so that these too are in flight together.
constexpr std::uint64_t kLongestRead = 512 * 1024;

}  // namespace

std::uint64_t size_of(const PieceSource& source) {
  return std::visit([](const auto& file) { return file->size(); }, source);
}

std::string path_of(const PieceSource& source) {
  const auto* file = std::get_if<std::shared_ptr<const InputFile>>(&source);
  return file != nullptr ? (*file)->path() : "(scratch)";
}

PieceReader::PieceReader(PieceSource source) : source_(std::move(source)) {
  waiting_.reserve(kBatch);
  if (std::holds_alternative<std::shared_ptr<const InputFile>>(source_))
    batch_reader_.emplace(BatchReader::Options{.depth = kDepth});
}

void PieceReader::add(std::uint64_t offset, std::span<std::byte> into) {
  if (!batch_reader_) {
    std::get<std::shared_ptr<ScratchFile>>(source_)->read_exact(offset, into);
    return;
  }
  while (!into.empty()) {
    ReadRequest* last = waiting_.empty() ? nullptr : &waiting_.back();
    const bool follows = last != nullptr && last->into.size() < kLongestRead &&
                         last->offset + last->into.size() == offset &&
                         last->into.data() + last->into.size() == into.data();
    if (!follows) {
      if (waiting_.size() == kBatch) read_batch();
      const int descriptor = std::get<std::shared_ptr<const InputFile>>(source_)->descriptor();
      last = &waiting_.emplace_back(
          ReadRequest{.descriptor = descriptor, .offset = offset, .into = into.first(0)});
    }
    const std::uint64_t count =
        std::min<std::uint64_t>(into.size(), kLongestRead - last->into.size());
    last->into = {last->into.data(), last->into.size() + count};
    offset += count;
    into = into.subspan(count);
  }
}

void PieceReader::finish() {
  if (!waiting_.empty()) read_batch();
}

void PieceReader::read_batch() {
  const std::vector<ReadResult> results = batch_reader_->read(waiting_);
  const std::string path = path_of(source_);
  for (std::size_t i = 0; i < results.size(); ++i)
    require_all(results[i], path, waiting_[i].offset, waiting_[i].into.size());
  waiting_.clear();
}

void PieceReader::prefetch(std::uint64_t offset, std::uint64_t length) const {
  const auto* file = std::get_if<std::shared_ptr<const InputFile>>(&source_);
  if (file == nullptr) return;
  // The kernel takes no more from one call than its read-ahead window, 128 KiB on many machines.
  constexpr std::uint64_t kStep = 128 * 1024;
  for (const std::uint64_t end = offset + length; offset < end; offset += kStep)
    (*file)->prefetch(offset, std::min(kStep, end - offset));
}

}  // namespace shale
