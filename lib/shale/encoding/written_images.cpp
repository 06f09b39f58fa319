#include "shale/encoding/written_images.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/io/free_space.hpp"

// A note: u32 bytes of the key, xxh3-128 of the image, the key. Of an image without a hash only
// kNothing.

namespace shale {
namespace {

constexpr std::uint32_t kNothing = ~std::uint32_t{0};
constexpr std::uint64_t kNoteWindow = 256 * 1024, kBetweenLooksAtSpace = 256 * 1024;
// Of the free space. The shards need it more: without notes they are read again, without room they
// cannot be written.
constexpr std::uint64_t kShareOfSpace = 16;

}  // namespace

WrittenImages::WrittenImages(std::string folder, std::size_t field, std::uint64_t first_row)
    : folder_(std::move(folder)),
      field_(field),
      first_row_(first_row),
      next_look_(kBetweenLooksAtSpace) {}

void WrittenImages::add(const std::optional<Hash128>& hash, std::string_view key) {
  if (has_given_up_) return;
  note_.clear();
  if (hash) {
    const std::string_view noted = key.size() > kLongestKey ? std::string_view() : key;
    note_.write(static_cast<std::uint32_t>(noted.size()));
    note_.write_bytes(hash->bytes());
    note_.write_text(noted);
  } else {
    note_.write(kNothing);
  }
  try {
    if (!notes_) notes_.emplace(folder_);
    notes_->append(note_.bytes());
    ++rows_;
    if (notes_->size() >= next_look_) leave_room();
  } catch (const Error&) {
    give_up();
  }
}

void WrittenImages::leave_room() {
  next_look_ = notes_->size() + kBetweenLooksAtSpace;
  const std::optional<std::uint64_t> free = free_space(folder_);
  if (free && *free / kShareOfSpace < notes_->size()) give_up();
}

void WrittenImages::give_up() {
  notes_.reset();
  has_given_up_ = true;
}

std::optional<WrittenImages::Image> WrittenImages::image_of(std::uint64_t row) {
  if (has_given_up_ || row < first_row_ + rows_read_ || row - first_row_ >= rows_)
    return std::nullopt;
  try {
    for (;;) {
      const bool is_wanted = first_row_ + rows_read_ == row;
      std::uint32_t key_bytes = 0;
      std::memcpy(&key_bytes, read(sizeof(key_bytes)).data(), sizeof(key_bytes));
      ++rows_read_;
      if (key_bytes == kNothing) {
        if (is_wanted) return std::nullopt;
        continue;
      }
      constexpr std::size_t kHash = sizeof(Hash128);
      const Bytes known = read(kHash + key_bytes);
      if (!is_wanted) continue;
      return Image{.hash = Hash128::from_bytes(known.first<kHash>()),
                   .key = std::string(as_text(known.subspan(kHash)))};
    }
  } catch (const Error&) {
    give_up();
    return std::nullopt;
  }
}

// The next bytes of the notes, which are there: a note is no longer than the window.
Bytes WrittenImages::read(std::uint64_t bytes) {
  if (position_ + bytes > window_begin_ + window_.size()) {
    window_begin_ = position_;
    window_.resize(std::min(kNoteWindow, notes_->size() - position_));
    notes_->read_exact(position_, window_);
  }
  const Bytes found = Bytes(window_).subspan(position_ - window_begin_, bytes);
  position_ += bytes;
  return found;
}

}  // namespace shale
