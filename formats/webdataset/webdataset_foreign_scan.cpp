#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/value_checksum.hpp"

#include "formats/webdataset/webdataset_fields.hpp"
#include "formats/webdataset/webdataset_foreign.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kPayloadWindow = 256 * 1024;

class ForeignWebdatasetScanner {
 public:
  ForeignWebdatasetScanner(const ShardInput& input, const RowSink& rows,
                           const FindingSink& findings)
      : file_(input.files[0]),
        schema_(input.schema),
        input_(input),
        puts_keys_(input.layout.has_values && input.layout.key_part == 1),
        reads_payload_(input.reads_payload),
        has_lists_(input.schema.has_lists()),
        rows_(rows),
        draft_(file_, findings),
        pace_(input.progress, file_.size()),
        walk_(file_, pace_, input.lost) {
    std::size_t axes = 0;
    for (const Field& field : schema_.fields) {
      first_side_.push_back(axes);
      if (field.is_ragged()) axes += field.shape.size();
    }
  }

  void scan() {
    while (const std::optional<SampleMember> member = walk_.next()) {
      if (member->is_first) {
        end_sample();
        begin_sample(*member);
      }
      row_.record_length = member->end - row_.record_offset;
      std::optional<ListMember> list;
      if (has_lists_) list = list_member(member->extension);
      if (const auto field = list ? field_of(list->extension) : std::nullopt;
          field && schema_.fields[*field].kind == Kind::list) {
        extend_list(*field, *member, *list);
      } else if (const auto of_value = field_of(member->extension)) {
        fill(*of_value, *member);
      }
    }
    end_sample();
    draft_.at_row(number_);
    if (const std::optional<Error>& damage = walk_.damage())
      draft_.report(damage->offset().value_or(walk_.position()), damage->message());
  }

 private:
  void begin_sample(const SampleMember& member) {
    is_open_ = true;
    draft_.at_row(number_);
    draft_.at_key(member.key);
    row_ = {};
    row_.cells.resize(schema_.fields.size());
    for (std::size_t i = 0; i < schema_.fields.size(); ++i)
      row_.cells[i].lacks_number = !is_located(schema_.fields[i].kind);
    row_.sides.resize(schema_.ragged_axes());
    row_.record_offset = member.begin;
    row_.key_hash = xxh3_64(as_bytes(member.key));
    if (puts_keys_) {
      const std::uint64_t at = input_.put_value ? input_.put_value(as_bytes(member.key)) : 0;
      row_.key = {.offset = at, .length = member.key.size()};
    } else {
      if (member.key_place.offset == kMissing)
        draft_.begin("the name of a member lies in two pieces", member.begin).field = "key";
      if (member.key_place.offset == kMissing) return draft_.send();
      row_.key = member.key_place;
    }
    if (reads_payload_) row_.key.crc32c = crc32c(as_bytes(member.key));
  }

  void end_sample() {
    if (!is_open_) return;
    is_open_ = false;
    for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
      const Field& field = schema_.fields[i];
      if (!is_absent(row_.cells[i], field) || field.is_optional) continue;
      row_.cells[i].lacks_number = false;
      draft_.begin("sample has no member for this field", row_.record_offset).field = field.name;
      draft_.send();
    }
    rows_(row_);
    ++number_;
  }

  std::optional<std::size_t> field_of(std::string_view extension) {
    // Extensions come again in every sample. Hostile files have others each time.
    constexpr std::size_t kMostKnown = 4096, kMostBytes = 255;
    if (extension.size() > kMostBytes) return std::nullopt;
    if (const auto known = fields_.find(extension); known != fields_.end()) return known->second;
    if (fields_.size() >= kMostKnown) fields_.clear();
    const std::optional<std::size_t> field = field_of_extension(schema_, extension);
    fields_.emplace(std::string(extension), field);
    return field;
  }

  void fill(std::size_t i, const SampleMember& member) {
    const Field& field = schema_.fields[i];
    IndexCell& cell = row_.cells[i];
    if (field.kind == Kind::integer) {
      std::optional<std::int64_t> number;
      if (member.place.length <= kMostNumberBytes)
        number = number_in(as_text(walk_.view(member.place.offset, member.place.length)));
      if (!number) return report(i, member, "member is not an integer");
      cell.integer = *number;
      cell.lacks_number = false;
      return;
    }
    FieldPlace place = member.place;
    if (field.kind == Kind::tensor && !place_array(i, member, place)) return;
    if (reads_payload_) place.crc32c = crc_of(place);
    cell.place = place;
  }

  // As a shard of shale's has it: the extent is all of its members, headers and padding included.
  void extend_list(std::size_t i, const SampleMember& member, const ListMember& list) {
    FieldPlace& place = row_.cells[i].place;
    const bool is_first = place.offset == kMissing;
    if (!list.element && is_first) {
      place = {.offset = member.place.offset, .length = 0};
      return;
    }
    const bool is_next = is_first ? list.element == 0
                                  : place.count > 0 && list.element == place.count &&
                                        place.count < kMaxElements &&
                                        member.begin == place.offset + place.length;
    if (!is_next) return report(i, member, "an element of a list is not where it belongs");
    if (is_first) place = {.offset = member.begin, .length = 0};
    place.length = member.end - place.offset;
    ++place.count;
    if (!reads_payload_) return;
    const FieldPlace whole{.offset = member.begin, .length = member.end - member.begin};
    place.crc32c = crc32c_combine(place.crc32c, crc_of(whole), whole.length);
  }

  std::uint32_t crc_of(const FieldPlace& place) {
    return crc32c_of_place(
        place, kPayloadWindow, pace_,
        [this](std::uint64_t offset, std::uint64_t length) { return walk_.view(offset, length); });
  }

  bool place_array(std::size_t i, const SampleMember& member, FieldPlace& place) try {
    const Field& field = schema_.fields[i];
    const ArrayInMember array = array_in(walk_, member.place, file_.path());
    if (array.dtype != field.dtype || !shape_fits(array.shape, field.shape)) {
      draft_.begin("array is not one of its field", member.place.offset).field = field.name;
      draft_.send(array_text(array.dtype, array.shape), array_text(field.dtype, field.shape));
      return false;
    }
    place = array.place;
    if (field.is_ragged())
      std::ranges::copy(array.shape,
                        row_.sides.begin() + static_cast<std::ptrdiff_t>(first_side_[i]));
    return true;
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    draft_.report(error, schema_.fields[i].name);
    return false;
  }

  void report(std::size_t i, const SampleMember& member, std::string message) {
    draft_.begin(std::move(message), member.place.offset).field = schema_.fields[i].name;
    draft_.send();
  }

  const InputFile& file_;
  const Schema& schema_;
  const ShardInput& input_;
  bool puts_keys_, reads_payload_, has_lists_, is_open_ = false;
  const RowSink& rows_;
  FindingDraft draft_;
  WalkPace pace_;
  SampleWalk walk_;
  std::vector<std::size_t> first_side_;  // of each field, in the sides of a row
  std::map<std::string, std::optional<std::size_t>, std::less<>> fields_;
  IndexRow row_;
  std::uint64_t number_ = 0;
};

}  // namespace

void scan_foreign_webdataset(const ShardInput& input, const RowSink& rows,
                             const FindingSink& findings) {
  ForeignWebdatasetScanner(input, rows, findings).scan();
}

}  // namespace shale
