#include "shale/arrays/sample_arrays.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "shale/arrays/array_headers.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/stored_tensor.hpp"
#include "shale/format/format.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/wire/npy_value.hpp"
#include "shale/wire/zip_directory.hpp"

namespace shale {
namespace {

constexpr std::string_view kLabel = "label", kArchive = "npz";

// Of a member that is an array: its name without the suffix. Nullopt: it is something else.
std::optional<std::string> array_name_of(const ZipMember& member) {
  const std::size_t dot = member.name.rfind('.');
  if (dot == std::string::npos || member.is_repeated ||
      !is_array_suffix(std::string_view(member.name).substr(dot + 1)))
    return std::nullopt;
  return member.name.substr(0, dot);
}

// As columns are named. Those that an index or the class has are taken.
std::string field_of(const std::string& member) {
  std::string name = column_name_of(member);
  if (is_reserved_name(name) || name == kLabel) name += "_array";
  return name;
}

std::optional<NpyHeader> header_of(const ZipMember& member, const ArchivedFile& place,
                                   const std::string& where) {
  constexpr std::uint64_t kHeadBytes = 512;
  std::vector<std::byte> head(std::min(member.bytes, kHeadBytes));
  head.resize(read_beginning(place, head));
  try {
    if (const std::uint64_t length = npy_header_length(head, where); length > head.size()) {
      head.resize(std::min(length, member.bytes));
      head.resize(read_beginning(place, head));
    }
    return parse_npy_value(head, member.bytes, where);
  } catch (const Error& error) {
    if (error.code() == Code::io) throw;
    return std::nullopt;  // objects, say
  }
}

SampleArrays members_of(const std::shared_ptr<const ArchiveFile>& file, const std::string& path) {
  SampleArrays found;
  WindowReader window(file->file());
  for (ZipMember& member : read_zip_directory(file->file().size(), window.views(), path)) {
    const ArchivedFile place{.archive = file,
                             .offset = member.data_offset,
                             .packed_bytes = member.is_deflated ? member.data_bytes : 0,
                             .crc32 = member.crc32};
    std::optional<std::string> name = array_name_of(member);
    if (!name) {
      found.left_out.push_back(std::move(member.name));
      continue;
    }
    std::optional<NpyHeader> header = header_of(member, place, path);
    std::string field = field_of(*name);
    if (!header) {
      found.unread.push_back({.member = *std::move(name), .field = std::move(field)});
      continue;
    }
    found.arrays.push_back({.member = *std::move(name),
                            .field = std::move(field),
                            .dtype = std::move(header->dtype),
                            .shape = std::move(header->shape),
                            .is_npy = true,
                            .bytes = member.bytes,
                            .place = place});
  }
  return found;
}

std::optional<SampleArrays> tensors_of(const std::shared_ptr<const ArchiveFile>& file) {
  for (const Format* const format : all_formats()) {
    if (format->tensors == nullptr || format->tensors->read == nullptr) continue;
    std::optional<StoredTensors> stored = format->tensors->read(file->file());
    if (!stored) continue;
    SampleArrays found{.arrays = {}, .left_out = std::move(stored->left_out)};
    for (StoredTensor& tensor : stored->tensors) {
      std::string field = field_of(tensor.name);
      if (!tensor.obstacle.empty() || !tensor.strides.empty() || !tensor.swaps.empty()) {
        found.unread.push_back({.member = std::move(tensor.name), .field = std::move(field)});
        continue;
      }
      std::uint64_t bytes = tensor.dtype.item_bytes();
      for (const std::uint64_t side : tensor.shape) bytes *= side;
      found.arrays.push_back({.member = std::move(tensor.name),
                              .field = std::move(field),
                              .dtype = std::move(tensor.dtype),
                              .shape = std::move(tensor.shape),
                              .is_npy = false,
                              .bytes = bytes,
                              .place = {.archive = file, .offset = tensor.offset}});
    }
    return found;
  }
  return std::nullopt;
}

}  // namespace

bool holds_named_arrays(std::string_view suffix) {
  return suffix == kArchive || std::ranges::any_of(all_formats(), [&](const Format* format) {
           return format->tensors != nullptr && format->tensors->read != nullptr &&
                  std::ranges::any_of(format->suffixes, [&](std::string_view one) {
                    return one.substr(1) == suffix;
                  });
         });
}

SampleArrays arrays_of_sample(const std::string& path, std::uint64_t bytes,
                              std::int64_t modified_ns) {
  // A read opens it again: there is one for each sample.
  const auto file = std::make_shared<const ArchiveFile>(path, false);
  const bool is_as_listed =
      file->file().size() == bytes && (modified_ns == 0 || file->modified_ns() == modified_ns);
  if (!is_as_listed) {
    throw Error(Code::mismatch, "was written to after its folder was listed")
        .at(path)
        .hint("wait until nothing writes to the input, then run the same command again");
  }
  if (std::optional<SampleArrays> tensors = tensors_of(file)) return *std::move(tensors);
  std::array<std::byte, 4> head{};
  if (!is_zip(as_text(Bytes(head).first(file->file().read_some(0, head))))) {
    throw Error(Code::unsupported, "holds no arrays: it is not an .npz, .pt or .safetensors file")
        .at(path);
  }
  return members_of(file, path);
}

}  // namespace shale
