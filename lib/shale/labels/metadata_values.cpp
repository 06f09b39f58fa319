#include "shale/labels/metadata_values.hpp"

#include <charconv>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/labels/label_rows.hpp"

// A row as a listing has it, for each field (numbers little-endian):
//   u8 1, or 0 and nothing else   an optional field
//   i64 | f64                     a number
//   u32 length, bytes             text and JSON
//   u64 each side                 a tensor; then u32 length, bytes: its elements
//   u32 length, bytes             a list: u32 length, bytes for each element

namespace shale {
namespace {

void append_run(std::string& row, std::string_view bytes) {
  row.append(as_text(bytes_of(static_cast<std::uint32_t>(bytes.size())))).append(bytes);
}

template <class Number>
std::string run_of_numbers(const std::vector<Number>& numbers) {
  return std::string(as_text(std::as_bytes(std::span(numbers))));
}

void append_tensor(std::string& row, const Field& field, JsonList list) {
  list.sides.resize(field.shape.size(), field.shape.back() == kFreeSide ? 0 : field.shape.back());
  if (!shape_fits(list.sides, field.shape))
    throw Error(Code::bug, "a list of '{}' has another shape than those before", field.name);
  for (const std::uint64_t side : list.sides) row.append(as_text(bytes_of(side)));
  const bool is_real = field.dtype.descr() == "<f8";
  append_run(row, is_real ? run_of_numbers(list.reals) : run_of_numbers(list.integers));
}

}  // namespace

double real_in(std::string_view text) {
  double number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void NestedColumn::note(std::string_view json) {
  if (!json.starts_with('[') && !json.starts_with('{')) {
    has_booleans_ = true;
  } else if (const std::optional<JsonList> list = parse_json_list(json)) {
    note_list(*list);
  } else {
    has_others_ = true;
  }
}

void NestedColumn::note_list(const JsonList& list) {
  has_lists_ = true;
  has_texts_ = has_texts_ || list.has_texts();
  has_numbers_ = has_numbers_ || list.has_numbers();
  has_reals_ = has_reals_ || list.has_reals;
  is_exact_ = is_exact_ && list.is_exact;
  if (list.sides[0] == 0) return;  // of any kind
  if (list.sides.size() == 1) {
    has_flat_ = true;
    return;
  }
  has_lists_of_lists_ = true;
  width_ = width_.value_or(list.sides[1]) == list.sides[1] ? list.sides[1] : kFreeSide;
}

Field NestedColumn::field() const {
  if (!has_lists_ && !has_others_) return {.name = {}, .kind = Kind::text};
  const bool are_lists = !has_booleans_ && !has_others_;
  if (are_lists && has_texts_ && !has_numbers_ && !has_lists_of_lists_)
    return {.name = {}, .kind = Kind::list, .elements = Kind::text};
  const bool have_one_form =
      has_numbers_ && !has_texts_ && has_flat_ != has_lists_of_lists_ && (is_exact_ || !has_reals_);
  if (!are_lists || !have_one_form) return {.name = {}, .kind = Kind::text, .is_json = true};
  Field field{.name = {},
              .kind = Kind::tensor,
              .dtype = DType::parse(has_reals_ ? "<f8" : "<i8"),
              .shape = {kFreeSide}};
  if (width_) field.shape.push_back(*width_);
  return field;
}

void append_metadata_value(std::string& row, const Field& field,
                           const std::optional<std::string>& text) {
  if (field.is_optional) row.append(1, text ? '\1' : '\0');
  if (!text) return;
  if (field.kind == Kind::integer) {
    row.append(as_text(bytes_of(parse_integer_label(*text).value_or(0))));
  } else if (field.kind == Kind::real) {
    row.append(as_text(bytes_of(real_in(*text))));
  } else if (field.kind == Kind::text) {
    append_run(row, *text);
  } else {
    std::optional<JsonList> list = parse_json_list(*text);
    if (!list) throw Error(Code::bug, "a value of '{}' is not a list", field.name);
    if (field.kind == Kind::tensor) return append_tensor(row, field, std::move(*list));
    std::string elements;
    for (const std::string& element : list->texts) append_run(elements, element);
    append_run(row, elements);
  }
}

void take_metadata_row(std::string_view row, const std::vector<Field>& fields,
                       PendingSample& sample) {
  ByteReader from(as_bytes(row));
  const std::size_t first = sample.cells.size() - fields.size();
  sample.bytes += row.size();
  sample.known.reserve(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field& field = fields[i];
    IndexCell& cell = sample.cells[first + i];
    const bool is_present = !field.is_optional || from.read_u8() != 0;
    for (std::size_t axis = 0; field.is_ragged() && axis < field.shape.size(); ++axis)
      sample.sides.push_back(is_present ? from.read_u64() : 0);
    if (!is_present) {
      cell.lacks_number = !is_located(field.kind);
    } else if (field.kind == Kind::integer) {
      cell.integer = from.read_i64();
    } else if (field.kind == Kind::real) {
      cell.real = from.read_f64();
    } else {
      const Bytes bytes = from.read_bytes(from.read_u32());
      cell.place = {.offset = 0, .length = bytes.size()};
      sample.known.push_back({.field = first + i, .bytes = std::string(as_text(bytes))});
      if (field.kind != Kind::list) continue;
      cell.place.count = static_cast<std::uint32_t>(elements_of_known(bytes).size());
      cell.place.length -= cell.place.count * sizeof(std::uint32_t);
    }
  }
}

}  // namespace shale
