#include "shale/arrays/array_file.hpp"

#include <algorithm>
#include <utility>

#include "shale/arrays/gzip_member.hpp"
#include "shale/arrays/member_bytes.hpp"
#include "shale/arrays/pickled_columns.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/sample_axis.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/wire/idx_header.hpp"
#include "shale/wire/npy_header.hpp"
#include "shale/wire/stream_kind.hpp"

namespace shale {
namespace {

constexpr std::string_view kMemberSuffix = ".npy";
constexpr std::size_t kProbeBytes = 4096;  // what tells the format of a file

std::vector<std::byte> beginning_of(const InputFile& file) {
  std::vector<std::byte> begin(kProbeBytes);
  begin.resize(file.read_some(0, begin));
  return begin;
}

std::uint64_t product(std::uint64_t bytes, const std::vector<std::uint64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), std::uint64_t{0}) != shape.end()) return 0;
  for (const std::uint64_t axis : shape) bytes *= axis;  // the header's parser saw that it fits
  return bytes;
}

// The array whose file of `size` bytes is what `read` gives, first to last.
template <class Read>
NpyHeader read_header(std::uint64_t size, const std::string& where, Read read) try {
  std::vector<std::byte> head(std::min(size, kNpyPrefixBytes));
  read(std::span(head));
  const std::uint64_t length = std::min(size, npy_header_length(head, where));
  if (const std::uint64_t begun = head.size(); length > begun) {
    head.resize(length);
    read(std::span(head).subspan(begun));
  }
  return parse_npy_header(head, where);
} catch (Error& error) {
  if (error.code() == Code::damaged && error.hint().empty())
    error.hint("the file was truncated or changed; save or copy it again");
  throw;
}

Error no_axes(const std::string& where) {
  return Error(Code::unsupported, "array has no axes, so it has no samples")
      .at(where, 0)
      .hint("save it with shape (1,), for example by numpy.atleast_1d");
}

// Of a truncated array in C order: the rows that the file still holds; nullopt if it has none.
std::optional<std::uint64_t> rows_before_end(const NpyHeader& header, std::uint64_t size) {
  const std::uint64_t bytes = npy_data_bytes(header);
  if (header.fortran_order || size <= header.data_offset || size - header.data_offset >= bytes)
    return std::nullopt;
  const std::uint64_t rows = (size - header.data_offset) / (bytes / header.shape.front());
  return rows > 0 ? std::optional(rows) : std::nullopt;
}

// `read_behind` gives the bytes at an offset behind the array, where they can be looked at.
template <class ReadBehind>
ArrayFile array_behind(NpyHeader header, std::uint64_t size, const std::string& where,
                       ReadBehind read_behind, bool takes_truncated = false) {
  const std::optional<std::uint64_t> whole =
      takes_truncated ? rows_before_end(header, size) : std::nullopt;
  if (!whole) check_npy_size(header, size, where);
  if (const std::uint64_t end = header.data_offset + npy_data_bytes(header); end < size) {
    std::vector<std::byte> behind(std::min(size - end, kNpyPrefixBytes));
    if (!read_behind(end, std::span(behind))) behind.clear();
    Error error = npy_goes_on(header, size - end, behind, where, end);
    if (has_idx_name(where))
      error = Error(error.code(), "{}", error.message())
                  .at(where, end)
                  .hint(fmt::format("the array is the first {0} bytes; to take them alone: head -c "
                                    "{0} {1} > OTHER",
                                    end, shell_word(where)));
    throw error;
  }
  return {.file = {},
          .member = {},
          .dtype = std::move(header.dtype),
          .swaps = std::move(header.swaps),
          .fortran_order = header.fortran_order,
          .shape = std::move(header.shape),
          .data_offset = header.data_offset,
          .whole_rows = whole};
}

ArrayFile lone_array(const std::shared_ptr<const InputFile>& file, NpyHeader header,
                     bool takes_truncated) {
  if (header.shape.empty()) throw no_axes(file->path());
  ArrayFile array = array_behind(
      std::move(header), file->size(), file->path(),
      [&](std::uint64_t offset, std::span<std::byte> into) {
        file->read_exact(offset, into);
        return true;
      },
      takes_truncated);
  array.file = file;
  return array;
}

NpyHeader npy_header_of(const InputFile& file) {
  std::uint64_t at = 0;
  return read_header(file.size(), file.path(), [&](std::span<std::byte> into) {
    file.read_exact(at, into);
    at += into.size();
  });
}

// ---- files that are compressed as a whole

// Of the idx or .npy file in it; nullopt if there is none. Its size is known modulo 2^32.
std::optional<NpyHeader> header_in(const InputFile& file, const GzipMember& gzip) {
  if (is_npy(gzip.head)) {
    ZipMember endless = gzip.member;
    endless.bytes = ~std::uint64_t{0};
    MemberBytes bytes(file, endless);
    return read_header(endless.bytes, {}, [&](std::span<std::byte> into) { bytes.read(into); });
  }
  std::optional<NpyHeader> header = idx_header_of(gzip.head);
  if (!header) return std::nullopt;
  const std::uint64_t bytes = header->data_offset + npy_data_bytes(*header);
  const bool is_as_long = static_cast<std::uint32_t>(bytes) == gzip.low_bytes;
  return is_as_long || has_idx_name(file.path()) ? header : std::nullopt;
}

std::optional<ArrayFile> compressed_array(const std::shared_ptr<const InputFile>& file,
                                          Bytes begin) {
  std::optional<GzipMember> gzip = gzip_member_of(*file, begin);
  std::optional<NpyHeader> header = gzip ? header_in(*file, *gzip) : std::nullopt;
  if (!header && gzip && has_idx_name(file->path())) {
    throw Error(Code::damaged, "does not begin like an idx file when it is decompressed")
        .at(file->path(), gzip->member.data_offset)
        .hint("copy it again from an intact copy");
  }
  if (!header) return std::nullopt;
  if (header->shape.empty()) throw no_axes(file->path());
  const std::uint64_t bytes = header->data_offset + npy_data_bytes(*header);
  if (static_cast<std::uint32_t>(bytes) != gzip->low_bytes) {
    throw Error(Code::damaged, "the array in it takes {} bytes, but gzip has {} at its end", bytes,
                gzip->low_bytes)
        .at(file->path(), file->size() - sizeof gzip->low_bytes)
        .hint("the file was truncated, or is compressed in parts: 'gunzip' says which");
  }
  gzip->member.bytes = bytes;
  ArrayFile array = array_behind(std::move(*header), bytes, file->path(),
                                 [](std::uint64_t, std::span<std::byte>) { return false; });
  array.file = file;
  array.archived = std::move(gzip->member);
  return array;
}

// ---- numbers without a header

// Of what says itself what it is, a header would become numbers.
void refuse_other_than_raw(const InputFile& file, Bytes begin) {
  const Format* const format = detect_format({file.path(), begin, file.size(), &file});
  const StreamKind kind = stream_kind_of(begin.first(std::min(begin.size(), kStreamKindBytes)));
  const bool is_compressed = kind != StreamKind::other && kind != StreamKind::tar;
  if (format == nullptr && !is_compressed && !is_array_file(file)) return;
  Error error(Code::usage, "--raw is for numbers without a header, but the file is {}",
              is_compressed       ? fmt::format("compressed with {}", name_of(kind))
              : format != nullptr ? std::string(format->a_file)
                                  : "an idx file");
  throw error.at(file.path())
      .hint(is_compressed ? "decompress it first"
                          : "leave out --raw; or pass --raw-offset BYTES as "
                            "well, to read what is behind its header");
}

ArrayFile open_raw(const std::shared_ptr<const InputFile>& file, const ArrayReading& reading) {
  const RawNumbers& raw = reading.raw;
  const std::uint64_t size = file->size(), row_bytes = raw.row_bytes();
  if (raw.offset == 0) refuse_other_than_raw(*file, beginning_of(*file));
  if (raw.offset > size) {
    throw Error(Code::usage, "--raw-offset is {}, but the file has {} bytes", raw.offset, size)
        .at(file->path());
  }
  const std::uint64_t rows = (size - raw.offset) / row_bytes;
  const std::uint64_t rest = (size - raw.offset) % row_bytes;
  const bool is_cut = rest > 0 && reading.takes_truncated;
  if (rest > 0 && !is_cut) {
    throw Error(Code::damaged, "{} of {} bytes {} followed by {} more {}",
                format_counted(rows, "row", "rows"), row_bytes, rows == 1 ? "is" : "are", rest,
                rest == 1 ? "byte" : "bytes")
        .at(file->path(), size - rest)
        .hint(
            "check the type and the length of a row in --raw, and the bytes before the first row "
            "in --raw-offset; else the file was truncated");
  }
  ArrayFile array{.file = file, .member = {}, .dtype = raw.type.dtype, .swaps = raw.type.swaps};
  array.shape = {rows + (is_cut ? 1 : 0)};
  array.shape.insert(array.shape.end(), raw.row.begin(), raw.row.end());
  array.data_offset = raw.offset;
  if (is_cut) array.whole_rows = rows;
  return array;
}

// One member of an archive, into what was found. `reason`: it is left out for.
class MemberOpener {
 public:
  MemberOpener(const std::shared_ptr<const InputFile>& file, ArrayFiles& found)
      : file_(file), found_(found) {}

  void open(ZipMember member) {
    std::string name = member.name.substr(0, member.name.size() - kMemberSuffix.size());
    reason_.clear();
    try {
      ArrayFile array = array_of(member);
      array.file = file_;
      array.member = std::move(name);
      if (!member.is_deflated) array.data_offset += member.data_offset;
      array.archived = std::move(member);
      found_.arrays.push_back(std::move(array));
    } catch (const Error& error) {
      if (error.code() != Code::unsupported && error.code() != Code::damaged) throw;
      // The member's own bytes have no file name; what has one already names the member.
      found_.unread.push_back(
          {std::move(name), error.file().empty() ? in_member(error, member, file_->path()) : error,
           reason_});
    }
  }

 private:
  ArrayFile array_of(const ZipMember& member) {
    if (member.is_repeated) throw repeated_member(member, file_->path());
    MemberBytes bytes(*file_, member);
    NpyHeader header = header_of(member, bytes);
    if (header.shape.empty()) {
      reason_ = "single_value";
      throw no_axes({});
    }
    return array_behind(std::move(header), member.bytes, {},
                        [&](std::uint64_t offset, std::span<std::byte> into) {
                          if (!member.is_deflated)
                            file_->read_exact(member.data_offset + offset, into);
                          return !member.is_deflated;
                        });
  }

  NpyHeader header_of(const ZipMember& member, MemberBytes& bytes) try {
    return read_header(member.bytes, {}, [&](std::span<std::byte> into) { bytes.read(into); });
  } catch (const Error& error) {
    if (error.code() == Code::unsupported) reason_ = "type_not_held";
    throw;
  }

  std::shared_ptr<const InputFile> file_;
  ArrayFiles& found_;
  std::string reason_;
};

void add_tensor(StoredTensor tensor, const std::shared_ptr<const InputFile>& file,
                ArrayFiles& found) {
  const bool has_axes = !tensor.obstacle.empty() || !tensor.shape.empty();
  if (!has_axes) tensor.obstacle = "has no axes, so it has no samples";
  if (!tensor.obstacle.empty()) {
    Error error(Code::unsupported, "tensor '{}' {}", printable(column_name_of(tensor.name)),
                tensor.obstacle);
    error.at(file->path());
    found.unread.push_back(
        {std::move(tensor.name), std::move(error), has_axes ? "type_not_held" : "single_value"});
    return;
  }
  ArrayFile& array = found.arrays.emplace_back();
  array.file = file;
  array.fortran_order = tensor.is_fortran();
  if (!array.fortran_order) array.strides = std::move(tensor.strides);
  array.member = std::move(tensor.name);
  array.dtype = std::move(tensor.dtype);
  array.swaps = std::move(tensor.swaps);
  array.shape = std::move(tensor.shape);
  array.data_offset = tensor.offset;
}

// At least one array, or the error of the first that cannot be read.
ArrayFiles checked(ArrayFiles found) {
  if (found.arrays.empty() && !found.unread.empty()) throw found.unread.front().error;
  return found;
}

// ---- pickles

// A list, whose elements lie nowhere yet.
std::shared_ptr<const InputFile> in_memory(const std::string& name, Bytes elements) {
  const NamelessFile memory(NamelessFile::InMemory{name});
  OutputFile out(memory.duplicate(), memory.path(), {.io = IoMode::buffered});
  out.append(elements);
  (void)out.finish();
  return std::make_shared<const InputFile>(memory.link());
}

ArrayFiles arrays_of_pickle(const std::shared_ptr<const InputFile>& file) {
  PickledColumns pickled = read_pickled_columns(*file);
  ArrayFiles found;
  found.left_out = std::move(pickled.others);
  found.single = std::move(pickled.single);
  for (PickledColumn& column : pickled.columns) {
    const std::size_t before = found.arrays.size();
    add_tensor(std::move(column.tensor), file, found);
    if (!column.is_apart || found.arrays.size() == before) continue;
    ArrayFile& list = found.arrays.back();
    list.file = in_memory(file->path(), column.elements);
    list.is_in_memory = true;
    list.made_from = file->path();
    list.data_offset = 0;
  }
  return checked(std::move(found));
}

ArrayFiles arrays_of(StoredTensors tensors, const std::shared_ptr<const InputFile>& file) {
  ArrayFiles found;
  found.left_out = std::move(tensors.left_out);
  for (StoredTensor& tensor : tensors.tensors) add_tensor(std::move(tensor), file, found);
  if (found.arrays.empty() && found.unread.empty())
    throw holds_no_tensor(found.left_out, file->path());
  return checked(std::move(found));
}

// A file of another kind is not a damaged array, whatever its name ends in.
Error not_an_array(const InputFile& file, Bytes begin) {
  const Format* const format = detect_format({file.path(), begin, file.size(), &file});
  Error error(Code::unsupported, "is {}, not an array",
              begin.empty()       ? "empty"
              : format != nullptr ? format->a_file
                                  : "of another kind");
  return error.at(file.path())
      .hint(format != nullptr
                ? "pass it alone, without a name before it; or save the array that is "
                  "needed with numpy.save"
                : "save it as an array, with numpy.save");
}

}  // namespace

std::uint64_t ArrayFile::bytes() const { return product(dtype.item_bytes(), shape); }

std::vector<std::uint64_t> ArrayFile::steps() const {
  if (!strides.empty()) return strides;
  std::vector<std::uint64_t> found(shape.size(), 1);
  if (fortran_order) {
    for (std::size_t axis = 1; axis < found.size(); ++axis)
      found[axis] = found[axis - 1] * shape[axis - 1];
  } else {
    for (std::size_t axis = found.size() - 1; axis > 0; --axis)
      found[axis - 1] = found[axis] * shape[axis];
  }
  return found;
}

void ArrayFile::put_first(std::size_t axis) {
  if (axis >= shape.size())
    throw Error(Code::bug, "axis {} of an array that has {}", axis, shape.size());
  if (axis == 0) return;
  strides = with_side_first(steps(), axis);
  shape = with_side_first(std::move(shape), axis);
  fortran_order = false;
}

bool is_array_file(const InputFile& file) {
  const std::vector<std::byte> begin = beginning_of(file);
  const Format* const format = detect_format({file.path(), begin, file.size(), &file});
  return is_npy(begin) || (is_zip(as_text(begin)) && !is_zip_of_files(file)) ||
         (format != nullptr && format->tensors != nullptr) || is_array_file_alone(file);
}

bool is_array_file_alone(const InputFile& file) {
  const std::vector<std::byte> begin = beginning_of(file);
  if (idx_header_of_file(begin, file.size(), file.path()) || may_be_pickle(file, begin))
    return true;
  const std::optional<GzipMember> gzip = gzip_member_of(file, begin);
  return gzip && (is_npy(gzip->head) || has_idx_name(file.path()) || header_in(file, *gzip));
}

ArrayFiles open_arrays(const std::string& path, const ArrayReading& reading) {
  const auto file = std::make_shared<const InputFile>(path);
  ArrayFiles found;
  if (reading.raw.is_given()) {
    found.arrays.push_back(open_raw(file, reading));
    return found;
  }
  for (const Format* format : all_formats()) {
    if (format->tensors == nullptr || format->tensors->read == nullptr) continue;
    if (std::optional<StoredTensors> tensors = format->tensors->read(*file))
      return arrays_of(std::move(*tensors), file);
  }
  const std::vector<std::byte> begin = beginning_of(*file);
  if (!is_zip(as_text(begin))) {
    const bool is_cut = begin.empty() && path.ends_with(kMemberSuffix);
    if (may_be_pickle(*file, begin)) return arrays_of_pickle(file);
    if (std::optional<NpyHeader> idx = idx_header_of_file(begin, file->size(), path)) {
      found.arrays.push_back(lone_array(file, *std::move(idx), reading.takes_truncated));
    } else if (std::optional<ArrayFile> array = compressed_array(file, begin)) {
      found.arrays.push_back(*std::move(array));
    } else if (!is_cut && (begin.empty() || !may_be_npy(begin))) {
      throw not_an_array(*file, begin);
    } else {
      found.arrays.push_back(lone_array(file, npy_header_of(*file), reading.takes_truncated));
    }
    return found;
  }
  WindowReader window(*file);
  std::vector<ZipMember> members = read_zip_directory(file->size(), window.views(), path);
  MemberOpener opener(file, found);
  for (ZipMember& member : members) {
    if (member.name.ends_with(kMemberSuffix)) {
      opener.open(std::move(member));
    } else {
      found.left_out.push_back(std::move(member.name));
    }
  }
  if (found.arrays.empty() && found.unread.empty()) {
    throw Error(Code::unsupported, "archive of {} members holds no .npy file",
                found.left_out.size())
        .at(path)
        .hint(fmt::format("unpack it, and convert the folder: unzip '{}' -d FOLDER",
                          printable(path)));
  }
  return checked(std::move(found));
}

}  // namespace shale
