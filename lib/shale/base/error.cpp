#include "shale/base/error.hpp"

#include <system_error>
#include <utility>

#include "shale/base/printable.hpp"

namespace shale {

Error::Error(Code code, std::string message, int) : code_(code), message_(std::move(message)) {
  rebuild();
}

Error& Error::at(std::string_view file, std::optional<std::uint64_t> offset) {
  if (file_.empty()) file_ = file;
  if (!offset_ && file_ == file) offset_ = offset;  // an offset in another file would be a lie
  rebuild();
  return *this;
}

Error& Error::for_sample(std::string_view key, std::optional<std::uint64_t> index) {
  if (!sample_) sample_.emplace();
  if (sample_->key.empty()) sample_->key = key;
  if (!sample_->index) sample_->index = index;
  rebuild();
  return *this;
}

Error& Error::because(std::string_view cause) {
  if (cause_.empty()) cause_ = cause;
  rebuild();
  return *this;
}

Error& Error::because_errno(int error_number) {
  return because(std::generic_category().message(error_number));
}

Error& Error::hint(std::string_view hint) {
  if (hint_.empty()) hint_ = hint;
  return *this;
}

void Error::rebuild() {
  what_.clear();
  if (!file_.empty()) what_ += printable(file_) + ": ";
  if (offset_) what_ += fmt::format("byte {}: ", *offset_);
  if (sample_ && !sample_->key.empty())
    what_ += fmt::format("sample '{}': ", printable(sample_->key));
  if (sample_ && sample_->key.empty() && sample_->index) {
    what_ += fmt::format("sample {}: ", *sample_->index);
  }
  what_ += message_;
  if (!cause_.empty()) what_ += ": " + cause_;
}

}  // namespace shale
