#include "shale/arrays/array_headers.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/array_text.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/wire/npy_value.hpp"

namespace shale {
namespace {

ReadRequest request(const ArrayHeaders::File& file, std::span<std::byte> into) {
  ReadRequest wanted =
      file.archived.archive ? request_of(file.archived) : ReadRequest{.path = file.path.c_str()};
  wanted.into = into;
  return wanted;
}

// NumPy's headers take 128 bytes, those of types with long names more.
constexpr std::uint64_t kHeadBytes = 512;
constexpr std::size_t kFilesAtOnce = 512;
constexpr std::string_view kSuffix = "npy";

}  // namespace

bool is_array_suffix(std::string_view suffix) {
  return suffix == kSuffix || (suffix.ends_with(kSuffix) && suffix[suffix.size() - 4] == '.');
}

void ArrayHeaders::add(std::size_t field, const std::string& name, File file) {
  found_[field].name = name;
  files_.emplace_back(field, std::move(file));
  if (files_.size() == kFilesAtOnce) read();
}

void ArrayHeaders::add(std::size_t field, const std::string& name, const std::string& path,
                       const DType& dtype, const std::vector<std::uint64_t>& shape) {
  found_[field].name = name;
  take(found_[field], path, dtype, shape);
}

void ArrayHeaders::read() {
  std::vector<std::byte> heads(files_.size() * kHeadBytes);
  std::vector<ReadRequest> requests;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const File& file = files_[i].second;
    const auto head = std::span(heads).subspan(i * kHeadBytes, std::min(kHeadBytes, file.bytes));
    requests.push_back(request(file, file.archived.packed_bytes > 0 ? head.first(0) : head));
  }
  std::vector<ReadResult> results = reader_.read(requests);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const auto& [field, file] = files_[i];
    if (file.archived.packed_bytes > 0) {
      requests[i].into = std::span(heads).subspan(i * kHeadBytes, std::min(kHeadBytes, file.bytes));
      results[i] = {.bytes = read_beginning(file.archived, requests[i].into)};
    }
    if (file.archived.archive) file.archived.archive->refuse_changes();
    if (results[i].error != 0)
      throw read_failed(file.path, std::nullopt, file.bytes, results[i].error);
    const Bytes head = Bytes(requests[i].into).first(results[i].bytes);
    Found& found = found_[field];
    try {
      const std::uint64_t length = npy_header_length(head, file.path);
      const bool is_longer = length > head.size() && length <= file.bytes;
      const std::vector<std::byte> whole =
          is_longer ? longer_head(file, length) : std::vector<std::byte>();
      const NpyHeader header =
          parse_npy_value(is_longer ? Bytes(whole) : head, file.bytes, file.path);
      found.big_endian += header.swaps.empty() ? 0 : 1;
      take(found, file.path, header.dtype, header.shape);
    } catch (const Error& error) {
      if (error.code() == Code::bad_content || error.code() == Code::io) throw;
      if (!found.first_error) found.first_error = error;
    }
  }
  files_.clear();
}

std::vector<std::byte> ArrayHeaders::longer_head(const File& file, std::uint64_t bytes) {
  std::vector<std::byte> head(bytes);
  if (file.archived.packed_bytes > 0) {
    head.resize(read_beginning(file.archived, head));
    return head;
  }
  const ReadRequest wanted = request(file, head);
  const ReadResult result = reader_.read(std::span(&wanted, 1)).front();
  if (result.error != 0) throw read_failed(file.path, std::nullopt, file.bytes, result.error);
  head.resize(result.bytes);
  return head;
}

void ArrayHeaders::take(Found& found, const std::string& path, const DType& dtype,
                        const std::vector<std::uint64_t>& shape) {
  const std::string text = array_text(dtype, shape);
  if (!found.type) {
    found.type = Field{.name = found.name, .kind = Kind::tensor, .dtype = dtype, .shape = shape};
    found.first_text = text;
    found.first_path = path;
    return;
  }
  std::vector<std::uint64_t>& sides = found.type->shape;
  if (dtype != found.type->dtype || shape.size() != sides.size()) {
    throw Error(Code::bad_content, "holds {}, but {} holds {}: field '{}' has one type", text,
                printable(found.first_path), found.first_text, printable(found.name))
        .at(path)
        .hint(
            "save all as one type with as many axes, or pass --pairs bytes, which takes every file "
            "as the bytes that it is");
  }
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (sides[i] != shape[i]) sides[i] = kFreeSide;
  }
}

Field ArrayHeaders::type_of(std::size_t field) const {
  const Found& found = found_.at(field);
  if (found.type) return *found.type;
  const Error& first = found.first_error.value();
  Error error(Code::bad_content, "{}", first.message());
  throw error.at(first.file(), first.offset())
      .because(first.cause())
      .hint("no file of field '" + printable(found.name) +
            "' has an array that can be read; pass --pairs bytes to take every file as the bytes "
            "that it is, or --pairs off to leave out those beside images");
}

std::vector<std::string> ArrayHeaders::notes() const {
  std::vector<std::string> notes;
  for (const auto& [number, found] : found_) {
    if (found.big_endian == 0) continue;
    notes.push_back(fmt::format("{} of field '{}' {} big-endian; the bytes are swapped",
                                format_counted(found.big_endian, "array", "arrays"),
                                printable(found.name), found.big_endian == 1 ? "is" : "are"));
  }
  return notes;
}

}  // namespace shale
