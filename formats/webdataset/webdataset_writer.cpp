#include "formats/webdataset/webdataset_writer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/format/appended_shard.hpp"
#include "shale/wire/npy_header.hpp"
#include "shale/wire/tar_writer.hpp"

#include "formats/webdataset/webdataset_names.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kUsualNan = 0x7ff8'0000'0000'0000;
constexpr std::array<std::byte, kTarRecordBytes> kZeros{};

// The names of these fields, which are nearly always those of the sample before.
const MemberNames& names_of(const Schema& schema) {
  static thread_local std::vector<Field> fields;
  static thread_local std::optional<MemberNames> names;
  if (!names || fields != schema.fields) {
    names.emplace(schema);
    fields = schema.fields;
  }
  return *names;
}

std::vector<std::byte> npy_header_of(const Field& field, std::span<const std::uint64_t> shape) {
  return npy_header_bytes({.dtype = field.dtype, .shape = {shape.begin(), shape.end()}});
}

// What goes into the members of a sample, and its row.
class SampleMembers {
 public:
  SampleMembers(const Sample& sample, const Schema& schema, const OptionSet& options)
      : sample_(sample),
        schema_(schema),
        names_(names_of(schema)),
        key_(member_key(sample.key, keeps_suffixes(options))) {
    check_key();
    record_.key = sample.key;
    record_.row.key_hash = xxh3_64(as_bytes(sample.key));
    record_.row.sides = sample.sides;
    record_.row.cells.resize(schema.fields.size());
    part_ = &record_.parts.emplace_back();
  }

  Record encode() {
    const auto first_extensions = extensions();
    for (const auto& [extension, field] : first_extensions) append_field(field, extension);
    if (first_extensions.empty()) append_headers(std::string(kNothingExtension), 0);
    record_.row.record_offset = 0;
    record_.row.record_length = part_->size();
    return std::move(record_);
  }

 private:
  using Extensions = std::vector<std::pair<std::string, std::size_t>>;

  void check_key() const {
    if (sample_.key.size() <= kMaxKeyBytes) return;
    throw Error(Code::limit, "key of {} bytes; the webdataset format holds at most {}",
                sample_.key.size(), kMaxKeyBytes)
        .for_sample(sample_.key.substr(0, 64) + "...");
  }

  // Of each field that has a value that of its first member, in their order.
  Extensions extensions() {
    Extensions found;
    std::size_t axes = 0;
    for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
      const Field& field = schema_.fields[i];
      first_side_.push_back(axes);
      if (field.is_ragged()) axes += field.shape.size();
      const Value& value = sample_.values[i];
      const bool is_absent = std::holds_alternative<std::monostate>(value);
      record_.row.cells[i].lacks_number = is_absent && !is_located(field.kind);
      if (!is_absent) found.emplace_back(first_extension(i), i);
    }
    std::ranges::sort(found);
    return found;
  }

  std::string first_extension(std::size_t field) const {
    const FieldMembers& members = names_[field];
    const Value& value = sample_.values[field];
    if (!members.is_list) {
      return members.extension_of(members.extension.empty() ? extension_of_content(run_of(value))
                                                            : "");
    }
    return count_elements(value) == 0 ? members.extension_of_empty_list()
                                      : extension_of_element(field, 0);
  }

  std::string extension_of_element(std::size_t field, std::uint64_t number) const {
    const FieldMembers& members = names_[field];
    return members.extension_of_element(
        number, members.extension.empty()
                    ? extension_of_content(element_of(sample_.values[field], number))
                    : "");
  }

  void append_field(std::size_t number, const std::string& extension) {
    const Field& field = schema_.fields[number];
    const Value& value = sample_.values[number];
    IndexCell& cell = record_.row.cells[number];
    switch (field.kind) {
      case Kind::integer:
        cell.integer = std::get<std::int64_t>(value);
        return append_text(extension, integer_text(cell.integer));
      case Kind::real:
        cell.real = std::get<double>(value);
        return append_text(extension, real_text(cell.real), bits_of_nan(cell.real));
      case Kind::list:
        return append_list(number, extension, cell.place);
      case Kind::tensor:
        return append_tensor(number, extension, cell.place);
      case Kind::bytes:
      case Kind::text:
        break;
    }
    const AnyBytes bytes = run_of(value);
    append_headers(extension, bytes.size());
    append_value(bytes, cell.place);
    append_padding(bytes.size());
  }

  void append_text(const std::string& extension, const std::string& text,
                   const std::string& bits = {}) {
    append_headers(extension, text.size(), bits);
    part_->append_copy(as_bytes(text));
    append_padding(text.size());
  }

  void append_tensor(std::size_t number, const std::string& extension, FieldPlace& place) {
    const Field& field = schema_.fields[number];
    const std::span<const std::uint64_t> shape =
        field.is_ragged()
            ? std::span(sample_.sides).subspan(first_side_[number], field.shape.size())
            : std::span(field.shape);
    const std::vector<std::byte> header = npy_header_of(field, shape);
    const AnyBytes bytes = run_of(sample_.values[number]);
    append_headers(extension, header.size() + bytes.size());
    part_->append_copy(header);
    append_value(bytes, place);
    append_padding(header.size() + bytes.size());
  }

  // The extent of a list begins with the header of its first element, so that it can be divided.
  void append_list(std::size_t number, const std::string& extension, FieldPlace& list) {
    const Value& value = sample_.values[number];
    const std::uint64_t count = count_elements(value);
    check_elements(count);
    if (count == 0) {
      append_headers(extension, 0);
      list = {.offset = part_->size()};
      return;
    }
    std::uint32_t crc = 0;
    std::uint64_t begin = part_->size();
    for (std::uint64_t i = 0; i < count; ++i) {
      const AnyBytes element = element_of(value, i);
      crc = crc32c(as_bytes(append_headers(i == 0 ? extension : extension_of_element(number, i),
                                           element.size())),
                   crc);
      if (i == 0) list.offset = begin;
      FieldPlace place;
      append_value(element, place);
      crc = crc32c_combine(crc, place.crc32c, place.length);
      append_padding(element.size());
      crc = crc32c(Bytes(kZeros).first(tar_padding(element.size())), crc);
    }
    list.length = part_->size() - list.offset;
    list.crc32c = crc;
    list.count = static_cast<std::uint32_t>(count);
  }

  void append_value(const AnyBytes& bytes, FieldPlace& place) {
    place = {.offset = part_->size(), .length = bytes.size(), .crc32c = bytes.crc32c()};
    part_->append(bytes);
  }

  void append_padding(std::uint64_t bytes) {
    part_->append_copy(Bytes(kZeros).first(tar_padding(bytes)));
  }

  std::string append_headers(const std::string& extension, std::uint64_t bytes,
                             const std::string& bits = {}) {
    TarFile file{.path = key_ + "." + extension, .bytes = bytes};
    if (file.path.size() > kMostTarPathBytes) {
      throw Error(Code::limit, "the name of a member has {} bytes; a tar archive holds at most {}",
                  file.path.size(), kMostTarPathBytes)
          .for_sample(sample_.key.substr(0, 64) + "...")
          .hint("choose a format without this limit, such as --to record, or shorter keys");
    }
    const bool is_first = part_->size() == 0;
    const bool is_recorded = is_first && !fits_target(sample_.key);
    if (is_first && !is_recorded) file.target = sample_.key;
    if (is_recorded) file.records.push_back({std::string(kKeyRecord), sample_.key});
    if (!bits.empty()) file.records.push_back({std::string(kRealRecord), bits});
    std::string headers = tar_headers(file);
    if (is_first) {
      const std::uint64_t at =
          is_recorded ? headers.find(fmt::format(" {}=", kKeyRecord)) + kKeyRecord.size() + 2
                      : headers.size() - kTarBlockBytes + kTarTargetAt;
      record_.row.key = {
          .offset = at, .length = sample_.key.size(), .crc32c = crc32c(as_bytes(sample_.key))};
    }
    part_->append_copy(as_bytes(headers));
    return headers;
  }

  const Sample& sample_;
  const Schema& schema_;
  const MemberNames& names_;
  const std::string key_;
  std::vector<std::size_t> first_side_;  // per field
  Record record_;
  Blob* part_;
};

class WebdatasetSizer final : public ShardSizer {
 public:
  [[nodiscard]] std::vector<std::uint64_t> size_with(std::span<const std::uint64_t> part_bytes,
                                                     std::uint64_t /*samples*/) const override {
    return {tar_file_bytes(members_ + part_bytes[0])};
  }
  void add(std::span<const std::uint64_t> part_bytes, std::uint64_t /*samples*/) override {
    members_ += part_bytes[0];
  }

 private:
  std::uint64_t members_ = 0;  // bytes
};

}  // namespace

std::string integer_text(std::int64_t value) { return fmt::to_string(value); }

std::string real_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  std::string shortest(text.data(), end);
  if (shortest.find_first_of(".e") == std::string::npos) shortest += ".0";  // not an integer
  return shortest;
}

std::string bits_of_nan(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return std::isnan(value) && bits != kUsualNan ? fmt::format("{:016x}", bits) : "";
}

bool fits_target(std::string_view key) {
  return !key.empty() && key.size() <= kTarNameBytes && key.find('\0') == std::string_view::npos;
}

bool keeps_suffixes(const OptionSet& options) { return options.text(kLayoutOption) == kWholeKeys; }

Record encode_webdataset(const Sample& sample, const Schema& schema, const OptionSet& options) {
  return SampleMembers(sample, schema, options).encode();
}

std::unique_ptr<ShardSizer> create_webdataset_sizer(const Schema&, const OptionSet&) {
  return std::make_unique<WebdatasetSizer>();
}

std::unique_ptr<ShardWriter> create_webdataset_shard(std::span<OutputFile> files, const Schema&,
                                                     const OptionSet&) {
  return create_appended_shard(files[0], tar_file_bytes);
}

}  // namespace shale
