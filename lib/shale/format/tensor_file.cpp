#include "shale/format/tensor_file.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/finding_draft.hpp"

namespace shale {
namespace {

// Of the field in "shard-0000000000.<field>.safetensors": a file name has 255 bytes.
constexpr std::size_t kMostNameBytes = 200;
// NumPy has 64 (NPY_MAXDIMS of NumPy 2), PyTorch too, and the first one counts the samples.
constexpr std::size_t kMostAxes = 63;
constexpr std::uint32_t kAnyChecksum = 0;

class TensorShardWriter final : public ShardWriter {
 public:
  TensorShardWriter(const TensorFormat& format, std::span<OutputFile> files, const Schema& schema)
      : format_(format), files_(files), schema_(schema), crc32s_(files.size()) {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const TensorFrame frame = frame_of(i);
      has_checksums_ = frame.has_checksums();
      files_[i].append(frame.head(0, kAnyChecksum));
    }
  }

  std::span<const std::uint64_t> append(const Record& record) override {
    if (is_closed_)
      throw Error(Code::bug, "rows appended to closed files").at(files_.front().path());
    for (std::size_t i = 0; i < files_.size(); ++i) {
      record.parts[i].for_each_piece([&](Bytes piece) {
        files_[i].append(piece);
        if (has_checksums_) crc32s_[i] = crc32(piece, crc32s_[i]);
      });
    }
    rows_ += record.digest.samples;
    return {};
  }

  ClosedShard close() override {
    is_closed_ = true;
    ClosedShard closed;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const TensorFrame frame = frame_of(i);
      const std::vector<std::byte> head = frame.head(0, crc32s_[i]);
      files_[i].append(frame.trailer(std::span(&crc32s_[i], 1)));
      files_[i].patch(0, head);
      closed.part_bases.push_back(head.size());
    }
    return closed;
  }

 private:
  [[nodiscard]] TensorFrame frame_of(std::size_t file) const {
    return format_.frame(std::span(&schema_.fields[file], 1), rows_);
  }

  const TensorFormat& format_;
  std::span<OutputFile> files_;
  const Schema& schema_;
  std::vector<std::uint32_t> crc32s_;
  bool has_checksums_ = false;
  std::uint64_t rows_ = 0;
  bool is_closed_ = false;
};

class TensorSizer final : public ShardSizer {
 public:
  TensorSizer(const TensorFormat& format, const Schema& schema) : format_(format) {
    for (const Field& field : schema.fields) {
      const TensorFrame frame = format.frame(std::span(&field, 1), 0);
      ends_.push_back(frame.head(0, kAnyChecksum).size());
      trailers_.push_back(frame.file_bytes() - ends_.back());
    }
  }

  [[nodiscard]] std::vector<std::uint64_t> size_with(std::span<const std::uint64_t> part_bytes,
                                                     std::uint64_t) const override {
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const std::uint64_t end = ends_[i] + part_bytes[i];
      sizes.push_back(end + trailers_[i] + (end >= format_.far ? format_.far_bytes : 0));
    }
    return sizes;
  }
  void add(std::span<const std::uint64_t> part_bytes, std::uint64_t) override {
    for (std::size_t i = 0; i < ends_.size(); ++i) ends_[i] += part_bytes[i];
  }

 private:
  const TensorFormat& format_;
  std::vector<std::uint64_t> ends_, trailers_;  // of rows, and behind them
};

// In words, for a finding.
std::string text_of(const Schema& schema, std::uint64_t rows,
                    std::span<const std::uint64_t> bases) {
  std::string text = fmt::format("{} rows", rows);
  for (std::size_t i = 0; i < schema.fields.size() && i < bases.size(); ++i)
    text += fmt::format(", {} from byte {}", field_text(schema.fields[i]), bases[i]);
  return text;
}

// Why no field can hold it, although others of the file may be sound; empty if one can.
std::string left_out_reason(const StoredTensor& tensor) {
  if (!tensor.obstacle.empty()) return "type_not_held";
  return tensor.shape.empty() ? "single_value" : "";
}

void refuse_unread(const StoredTensor& tensor, const InputFile& file) {
  const std::string name = tensor.name.empty() ? "" : fmt::format(" '{}'", printable(tensor.name));
  if (!tensor.obstacle.empty())
    throw Error(Code::unsupported, "tensor{} {}", name, tensor.obstacle).at(file.path());
  if (tensor.shape.empty()) {
    throw Error(Code::unsupported, "tensor{} has no axes, so it has no samples", name)
        .at(file.path())
        .hint("save it with tensor.reshape(1)");
  }
  if (!tensor.strides.empty() || !tensor.swaps.empty()) {
    throw Error(Code::unsupported, "tensor{} does not lie in the file row after row{}", name,
                tensor.swaps.empty() ? "" : ", or is big-endian")
        .at(file.path())
        .hint("'shale convert' reads it");
  }
}

// Checks that a file is still what survey() said: fields, number of rows, and where they begin.
void compare_survey(const TensorFormat& format, const ShardInput& input,
                    const FindingSink& findings) {
  const InputFile& file = input.files[0];
  Finding finding;
  finding.file = file.name();
  try {
    const Survey found = format.survey(file);
    if (!input.layout.rows.has_strides()) {
      throw Error(Code::damaged, "the index has no rows of one size, but {} {} file does",
                  format.article, format.suffix);
    }
    if (found.schema.fields == input.schema.fields && found.samples == input.samples &&
        std::ranges::equal(found.bases, input.bases)) {
      if (!input.reads_payload || format.prove == nullptr || !format.has_checksums(file)) return;
      WindowReader window(file);
      const std::optional<Error> fault =
          format.prove(file.size(), window.views(), file.path(), input.progress);
      if (!fault) return;
      throw Error(*fault);
    }
    finding.message = format.changed;
    finding.offset = 0;
    finding.found = text_of(found.schema, found.samples, found.bases);
    finding.expected = text_of(input.schema, input.samples, input.bases);
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    finding.message = error.message();
    finding.offset = error.offset();
  }
  findings(std::move(finding));
}

// One file of a shard of shale's own.
class TensorFileCheck {
 public:
  TensorFileCheck(const TensorFormat& format, const InputFile& file, const Field& field,
                  const FindingSink& findings)
      : format_(format), file_(file), field_(field), findings_(findings) {}

  void check(std::uint64_t samples, std::uint64_t base) const {
    const TensorFrame frame = format_.frame(std::span(&field_, 1), samples);
    const std::uint32_t checksum = frame.has_checksums() ? stored_checksum(frame) : kAnyChecksum;
    const std::vector<std::byte> head = frame.head(0, checksum);
    if (!has_bytes(0, head, format_.head_name)) return;
    if (base != head.size()) {
      report(0, "rows are not where the manifest says", fmt::format("byte {}", head.size()),
             fmt::format("byte {}", base));
    }
    const std::vector<std::byte> trailer = frame.trailer(std::span(&checksum, 1));
    const std::uint64_t end = head.size() + frame.rows_bytes(0), bytes = file_.size();
    if (bytes == end + trailer.size()) {
      (void)has_bytes(end, trailer, format_.trailer_name);
    } else if (!trailer.empty()) {
      report(std::min(bytes, end),
             bytes < end + trailer.size() ? "file ends before its directory does"
                                          : "bytes follow the directory",
             fmt::format("byte {}", bytes), fmt::format("byte {}", end + trailer.size()));
    } else {
      report(std::min(bytes, end),
             bytes < end ? "file ends before its last row" : "bytes follow the last row",
             fmt::format("{} bytes of rows", bytes - head.size()),
             std::to_string(frame.rows_bytes(0)));
    }
  }

 private:
  // Of the rows, as the header has it.
  [[nodiscard]] std::uint32_t stored_checksum(const TensorFrame& frame) const {
    std::uint32_t checksum = kAnyChecksum;
    const std::uint64_t at = frame.front.size() + frame.crc32_at;
    if (file_.size() >= at + sizeof checksum)
      file_.read_exact(at, std::as_writable_bytes(std::span(&checksum, 1)));
    return checksum;
  }

  // Reports the first byte from `offset` on that is not as expected; false if there is one.
  [[nodiscard]] bool has_bytes(std::uint64_t offset, Bytes expected, std::string_view what) const {
    const std::uint64_t left = file_.size() - std::min(offset, file_.size());
    std::vector<std::byte> found(std::min<std::uint64_t>(expected.size(), left));
    file_.read_exact(offset, found);
    const auto [at, wanted] = std::mismatch(found.begin(), found.end(), expected.begin());
    if (at == found.end() && found.size() == expected.size()) return true;
    const std::uint64_t place = offset + static_cast<std::uint64_t>(at - found.begin());
    if (at == found.end()) {
      report(place, fmt::format("file ends inside its {}", what),
             fmt::format("{} bytes", file_.size()),
             fmt::format("at least {}", offset + expected.size()));
    } else {
      report(place, fmt::format("byte of the {} is wrong", what),
             fmt::format("0x{:02x}", std::to_integer<unsigned>(*at)),
             fmt::format("0x{:02x}", std::to_integer<unsigned>(*wanted)));
    }
    return false;
  }

  void report(std::uint64_t offset, std::string message, std::string found,
              std::string expected) const {
    FindingDraft draft(file_, findings_);
    draft.begin(std::move(message), offset).field = field_.name;
    draft.send(std::move(found), std::move(expected));
  }

  const TensorFormat& format_;
  const InputFile& file_;
  const Field& field_;
  const FindingSink& findings_;
};

}  // namespace

TensorFrame TensorFrame::of(std::span<const Field> fields, std::uint64_t rows) {
  TensorFrame frame;
  for (const Field& field : fields)
    frame.columns.push_back({field.name, dtype_of_column(field), shape_of_column(field, rows)});
  frame.places.resize(fields.size());
  std::iota(frame.places.begin(), frame.places.end(), std::size_t{0});
  return frame;
}

std::vector<std::byte> TensorFrame::head(std::size_t column, std::uint32_t crc32) const {
  std::vector<std::byte> head;
  if (column == places.front()) head = front;
  if (!header) return head;
  const std::vector<std::byte> own = header(column, crc32);
  head.insert(head.end(), own.begin(), own.end());
  return head;
}

std::vector<std::byte> TensorFrame::trailer(std::span<const std::uint32_t> crc32s) const {
  return footer ? footer(crc32s) : std::vector<std::byte>();
}

std::uint64_t TensorFrame::file_bytes() const {
  std::uint64_t bytes = trailer(std::vector<std::uint32_t>(columns.size(), kAnyChecksum)).size();
  for (const std::size_t column : places)
    bytes += head(column, kAnyChecksum).size() + rows_bytes(column);
  return bytes;
}

bool proves_itself(const Format& format, const InputFile& file) {
  if (format.can.self_checksummed) return true;
  return format.tensors != nullptr && format.tensors->has_checksums != nullptr &&
         format.tensors->has_checksums(file);
}

ShardLayout tensor_layout(const TensorFormat& format, const Schema& schema) {
  const std::string kind = fmt::format("{} {}", format.article, format.suffix.substr(1));
  if (schema.fields.empty()) {
    throw Error(Code::unsupported, "samples have no fields, but {} shard is one file per field",
                kind)
        .hint("the 'record' format holds samples of a key alone");
  }
  ShardLayout layout;
  for (const Field& field : schema.fields) {
    if (field.name.size() > kMostNameBytes) {
      throw Error(Code::unsupported,
                  "field '{}' has a name of {} bytes; a file of {} shard is named by at most {}",
                  printable(field.name), field.name.size(), kind, kMostNameBytes);
    }
    if (field.shape.size() > kMostAxes) {
      throw Error(Code::unsupported, "field '{}' has {} axes; {} array of samples has at most {}",
                  printable(field.name), field.shape.size(), kind, kMostAxes);
    }
    layout.file_suffixes.push_back(fmt::format(".{}{}", field.name, format.suffix));
  }
  for (const Field& field : schema.fields) {
    const TensorType* const type = tensor_type_of_descr(dtype_of_column(field).descr());
    if (format.has == nullptr || (type != nullptr && format.has(*type))) continue;
    throw Error(Code::unsupported, "field '{}' is of dtype {}, which {} files do not have",
                printable(field.name), dtype_text(dtype_of_column(field)), format.suffix)
        .hint("choose other fields with --fields, or write .npy or .npz");
  }
  layout.part_file.resize(schema.fields.size());
  std::iota(layout.part_file.begin(), layout.part_file.end(), std::uint32_t{0});
  layout.field_part = layout.part_file;
  layout.has_keys = false;
  layout.rows = RowStorage::columns();
  return layout;
}

std::unique_ptr<ShardSizer> make_tensor_sizer(const TensorFormat& format, const Schema& schema) {
  return std::make_unique<TensorSizer>(format, schema);
}

std::unique_ptr<ShardWriter> create_tensor_shard(const TensorFormat& format,
                                                 std::span<OutputFile> files,
                                                 const Schema& schema) {
  return std::make_unique<TensorShardWriter>(format, files, schema);
}

void scan_tensor_shard(const TensorFormat& format, const ShardInput& input,
                       const FindingSink& findings) {
  if (input.layout.dialect != Dialect::own) return compare_survey(format, input, findings);
  for (std::size_t i = 0; i < input.files.size(); ++i) {
    TensorFileCheck(format, input.files[i], input.schema.fields[i], findings)
        .check(input.samples, input.bases[i]);
  }
}

Survey survey_of_tensors(const StoredTensors& found, const InputFile& file) {
  if (found.tensors.empty()) throw holds_no_tensor(found.left_out, file.path());
  std::vector<const StoredTensor*> taken;
  LeftOutList left_out;
  for (const StoredTensor& tensor : found.tensors) {
    const std::string reason = left_out_reason(tensor);
    if (reason.empty()) {
      taken.push_back(&tensor);
    } else {
      left_out.add({.kind = "member", .name = tensor.name, .reason = reason});
    }
  }
  if (taken.empty()) refuse_unread(found.tensors.front(), file);
  Schema schema;
  std::vector<std::uint64_t> bases;
  for (const StoredTensor* const column : taken) {
    const StoredTensor &tensor = *column, &first = *taken.front();
    refuse_unread(tensor, file);
    if (tensor.shape.front() != first.shape.front()) {
      throw Error(Code::unsupported,
                  "tensor '{}' has {} rows, but '{}' has {}: they are not columns of one dataset",
                  printable(tensor.name), tensor.shape.front(), printable(first.name),
                  first.shape.front())
          .at(file.path())
          .hint("'shale convert --fields' reads those that belong together");
    }
    schema.fields.push_back(field_of_column(column_name_of(tensor.name), tensor.dtype,
                                            {tensor.shape.begin() + 1, tensor.shape.end()}));
    bases.push_back(tensor.offset);
  }
  Survey survey =
      Survey::of_columns(std::move(schema), taken.front()->shape.front(), std::move(bases));
  if (!found.left_out.empty()) {
    survey.notes.push_back(fmt::format("leaving out {} values that are not tensors, '{}' first",
                                       found.left_out.size(), printable(found.left_out.front())));
  }
  for (const std::string& name : found.left_out)
    survey.left_out.add({.kind = "entry", .name = name, .reason = "not_a_tensor"});
  for (const LeftOut& one : left_out.entries) {
    survey.notes.push_back(
        fmt::format("leaving out '{}': {}", printable(one.name),
                    one.reason == "single_value" ? "it has no axes" : "no field can hold it"));
  }
  survey.left_out.add(left_out);
  return survey;
}

}  // namespace shale
