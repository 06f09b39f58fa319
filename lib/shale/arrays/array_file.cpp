#include "shale/arrays/array_file.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/inflate.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/sample_axis.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/wire/npy_header.hpp"

namespace shale {
namespace {

constexpr std::string_view kMemberSuffix = ".npy";
constexpr std::size_t kProbeBytes = 4096;        // what tells the format of a file
constexpr std::size_t kPieceBytes = 128 * 1024;  // compressed bytes read at once
constexpr std::uint64_t kMostReadAtOnce = 3 << 20;
constexpr std::uint64_t kSparse = 16;  // a row of which a smaller part is wanted is not read whole

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

// What is wrong with a member, by its name. Offsets of stored members count from their first byte.
Error in_member(const Error& error, const ZipMember& member, const std::string& path) {
  if (error.code() == Code::io) return error;
  const std::uint64_t inside = member.is_deflated ? 0 : error.offset().value_or(0);
  Error named(error.code(), "{} in member '{}'", error.message(), printable(member.name));
  named.at(path, member.data_offset + inside);
  if (!error.hint().empty()) named.hint(error.hint());
  return named;
}

// The bytes of one member, from its first on.
class MemberBytes {
 public:
  MemberBytes(const InputFile& file, const ZipMember& member) : file_(&file), member_(member) {
    if (!member.is_deflated) return;
    inflater_.emplace();
    buffer_.resize(std::min<std::uint64_t>(kPieceBytes, member.data_bytes));
  }

  // Fills `into`. With the member's last byte, all of them are proved.
  void read(std::span<std::byte> into) {
    if (into.size() > member_.bytes - given_) {
      throw Error(Code::bug, "{} bytes requested from a member that has {} left", into.size(),
                  member_.bytes - given_);
    }
    if (inflater_) {
      inflate(into);
    } else {
      file_->read_exact(member_.data_offset + given_, into);
    }
    given_ += into.size();
    crc32_ = crc32(into, crc32_);
    if (given_ == member_.bytes) prove();
  }

 private:
  template <class... Args>
  [[nodiscard]] Error damaged(fmt::format_string<Args...> format, Args&&... args) const {
    Error error(Code::damaged, format, std::forward<Args>(args)...);
    error.at(file_->path(), member_.data_offset + taken_);
    error.hint("the archive changed after it was written; copy it again");
    return error;
  }

  void inflate(std::span<std::byte> into) {
    for (std::size_t done = 0; done < into.size();) {
      const std::size_t given = inflate_some(into.subspan(done));
      done += given;
      if (has_stalled_) {
        throw damaged("member '{}' inflates to {} bytes, but the archive's directory says {}",
                      printable(member_.name), given_ + done, member_.bytes);
      }
    }
  }

  // Gives what one piece holds. Stalled: nothing more will come.
  std::size_t inflate_some(std::span<std::byte> into) {
    has_stalled_ = has_ended_;
    if (has_ended_) return 0;
    if (piece_.empty() && taken_ < member_.data_bytes) {
      const std::uint64_t bytes =
          std::min<std::uint64_t>(buffer_.size(), member_.data_bytes - taken_);
      file_->read_exact(member_.data_offset + taken_, std::span(buffer_).first(bytes));
      piece_ = Bytes(buffer_).first(bytes);
    }
    try {
      const Inflater::Progress progress = inflater_->inflate(piece_, into);
      piece_ = piece_.subspan(progress.taken);
      taken_ += progress.taken;
      has_ended_ = progress.has_ended;
      has_stalled_ = progress.taken + progress.given == 0;
      return progress.given;
    } catch (const Error& error) {
      throw in_member(error, member_, file_->path());
    }
  }

  void prove() {
    if (inflater_) prove_end();
    if (crc32_ == member_.crc32) return;
    throw member_checksum_error(member_, crc32_, file_->path());
  }

  // The stream ends where the array does, and fills the room that the directory says.
  void prove_end() {
    std::byte further{};
    // Also where all is taken: the inflater may not have looked at its last bits yet.
    while (!has_ended_ && !has_stalled_) {
      if (inflate_some({&further, 1}) == 0) continue;
      throw damaged("member '{}' inflates to more than {} bytes", printable(member_.name),
                    member_.bytes);
    }
    if (has_ended_ && inflater_->stream_bytes() == member_.data_bytes) return;
    throw damaged("compressed data of member '{}' ends after {} bytes, expected {}",
                  printable(member_.name), inflater_->stream_bytes(), member_.data_bytes);
  }

  const InputFile* file_;
  ZipMember member_;
  std::optional<Inflater> inflater_;
  std::vector<std::byte> buffer_;
  Bytes piece_;              // what is not taken yet of buffer_
  std::uint64_t taken_ = 0;  // compressed bytes that the inflater has
  std::uint64_t given_ = 0;
  std::uint32_t crc32_ = 0;
  bool has_ended_ = false, has_stalled_ = false;
};

class MemberStream final : public RowStream {
 public:
  explicit MemberStream(const ArrayFile& array)
      : file_(array.file), bytes_(*array.file, *array.archived) {
    std::vector<std::byte> header(array.archived->bytes - array.bytes());
    bytes_.read(header);
  }
  void read_rows(std::span<std::byte> into) override { bytes_.read(into); }

 private:
  std::shared_ptr<const InputFile> file_;
  MemberBytes bytes_;
};

// The rows of an array whose axes may run in any order and with any step, as a view of a tensor
// does. A row that lies densely is read at once, any other one run of elements after the other.
class StridedStream final : public RowStream {
 public:
  explicit StridedStream(const ArrayFile& array)
      : array_(array), item_bytes_(array.dtype.item_bytes()), window_(*array_.file) {
    std::size_t axes = array_.shape.size();
    run_bytes_ = item_bytes_;
    // The last axes, as long as their elements lie one after the other, are one run.
    while (axes > 1 && step_of(axes - 1) == run_bytes_) run_bytes_ *= array_.shape[--axes];
    std::uint64_t span = run_bytes_;
    row_bytes_ = run_bytes_;
    for (std::size_t axis = 1; axis < axes; ++axis) {
      axes_.push_back({array_.shape[axis], step_of(axis)});
      row_bytes_ *= array_.shape[axis];
      if (array_.shape[axis] > 0) span += (array_.shape[axis] - 1) * step_of(axis);
    }
    span_ = span <= kMostReadAtOnce && span / kSparse <= row_bytes_ ? span : 0;
    index_.resize(axes_.size());
  }

  void read_rows(std::span<std::byte> into) override {
    if (row_bytes_ == 0) return;
    for (; !into.empty(); into = into.subspan(row_bytes_)) {
      const std::uint64_t begin = array_.data_offset + row_++ * step_of(0);
      const Bytes row = span_ > 0 ? window_.view(begin, span_) : Bytes();
      for (std::uint64_t done = 0; done < row_bytes_; done += run_bytes_) {
        const std::uint64_t offset = next_run();
        const Bytes run = span_ > 0 ? row.subspan(offset, run_bytes_)
                                    : view_run(begin + offset, into.subspan(done, run_bytes_));
        if (!run.empty()) std::memcpy(into.data() + done, run.data(), run_bytes_);
      }
    }
  }

 private:
  struct Axis {
    std::uint64_t length, step;
  };

  [[nodiscard]] std::uint64_t step_of(std::size_t axis) const {
    return array_.strides[axis] * item_bytes_;
  }

  // A large run is read where it is wanted: there is nothing to copy then.
  Bytes view_run(std::uint64_t offset, std::span<std::byte> into) {
    if (run_bytes_ <= kMostReadAtOnce) return window_.view(offset, run_bytes_);
    array_.file->read_exact(offset, into);
    return {};
  }

  // Where it begins, from the beginning of the row; after the last one comes the first again.
  std::uint64_t next_run() {
    std::uint64_t offset = 0;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis)
      offset += index_[axis] * axes_[axis].step;
    for (std::size_t axis = axes_.size(); axis-- > 0;) {
      if (++index_[axis] < axes_[axis].length) break;
      index_[axis] = 0;
    }
    return offset;
  }

  const ArrayFile array_;
  const std::uint64_t item_bytes_;
  WindowReader window_;
  std::vector<Axis> axes_;  // those between the rows and the runs
  std::vector<std::uint64_t> index_;
  std::uint64_t run_bytes_ = 0, row_bytes_ = 0, row_ = 0;
  std::uint64_t span_ = 0;  // of a row that is read whole; else 0
};

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
    throw npy_goes_on(header, size - end, behind, where, end);
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

ArrayFile open_npy(const std::shared_ptr<const InputFile>& file, bool takes_truncated) {
  std::uint64_t at = 0;
  NpyHeader header = read_header(file->size(), file->path(), [&](std::span<std::byte> into) {
    file->read_exact(at, into);
    at += into.size();
  });
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
  const Format* const format = detect_format({file.path(), begin, file.size()});
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
  const Format* const format = detect_format({file.path(), begin, file.size()});
  return is_npy(begin) || (is_zip(as_text(begin)) && !is_zip_of_files(file)) ||
         (format != nullptr && format->tensors != nullptr);
}

ArrayFiles open_arrays(const std::string& path, bool takes_truncated) {
  const auto file = std::make_shared<const InputFile>(path);
  for (const Format* format : all_formats()) {
    if (format->tensors == nullptr || format->tensors->read == nullptr) continue;
    if (std::optional<StoredTensors> found = format->tensors->read(*file))
      return arrays_of(std::move(*found), file);
  }
  ArrayFiles found;
  const std::vector<std::byte> begin = beginning_of(*file);
  if (!is_zip(as_text(begin))) {
    const bool is_cut = begin.empty() && path.ends_with(kMemberSuffix);
    if (!is_cut && (begin.empty() || !may_be_npy(begin))) throw not_an_array(*file, begin);
    found.arrays.push_back(open_npy(file, takes_truncated));
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

std::unique_ptr<RowStream> open_member(const ArrayFile& array) {
  if (array.is_located()) {
    throw Error(Code::bug, "a stream was requested of an array that lies in its file")
        .at(array.file->path());
  }
  if (!array.archived) return std::make_unique<StridedStream>(array);
  return std::make_unique<MemberStream>(array);
}

}  // namespace shale
