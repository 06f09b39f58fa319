#include "shale/layouts/keyed_samples.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/field_name.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/layouts/value_layout.hpp"

namespace shale::layouts {
namespace {

// Proving that a value is UTF-8 takes reading it: only short ones are.
constexpr std::uint64_t kMostTextBytes = 4096, kMostNumberBytes = 64;
constexpr std::size_t kMostShapes = 64, kMostJoined = 16;  // each takes 4 MiB

KeyPattern pattern_of(std::string_view keys, std::string_view database) {
  const std::vector<std::string> names = database_names(database);
  if (!keys.empty()) {
    if (names.size() > 1) {
      throw Error(Code::usage, "--parse FIELD=PATTERN is for one database, not for several")
          .hint("name one database, or leave out --parse: several are joined by key");
    }
    KeyPattern pattern = parse_key_pattern(keys);
    for (KeyField& field : pattern.fields) field.database = database;
    return pattern;
  }
  if (names.size() > kMostJoined)
    throw Error(Code::usage, "--database names {} databases, at most {} are joined", names.size(),
                kMostJoined);
  KeyPattern pattern;
  for (const std::string& name : names) {
    if (std::ranges::find(pattern.fields, name, &KeyField::database) != pattern.fields.end())
      throw Error(Code::usage, "--database names '{}' twice", printable(name));
    pattern.fields.push_back(
        {.name = field_name_of(name), .before = {}, .after = {}, .database = name});
  }
  if (pattern.fields.empty()) throw Error(Code::usage, "neither keys nor databases are named");
  return pattern;
}

std::optional<std::uint64_t> stored_count(const InputFile& file, const KeyMapEntry& entry) {
  if (entry.is_database) return std::nullopt;
  WindowReader window(file, kMostNumberBytes);
  const ViewBytes view = window.views();
  return count_stored_in({view, entry.value_offset, entry.value_bytes, file.path()});
}

template <class Number>
Number number_in(std::string_view text, const KeyField& field, std::string_view where,
                 std::uint64_t offset) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  throw Error(Code::unsupported, "the value of field '{}' is '{}', which is not a number",
              printable(field.name), printable(text.substr(0, kMostNumberBytes)))
      .at(where, offset);
}

// A value that is nothing but numbers.
LayoutField row_of_numbers(const KeyField& field, const FieldPlace& place, std::string_view where) {
  const std::uint64_t item = field.dtype->item_bytes();
  if (place.length % item == 0) {
    Field row{.name = field.name, .kind = Kind::tensor, .dtype = *field.dtype};
    row.shape = {place.length / item};
    return {.field = std::move(row), .cell = {.place = place}};
  }
  throw Error(Code::unsupported, "the value of field '{}' has {} bytes, which is not a row of {}",
              printable(field.name), place.length, dtype_text(*field.dtype))
      .at(where, place.offset);
}

// The keys of a shape: how many there are, and their numbers.
struct KeyShape {
  KeyField field;
  std::uint64_t keys = 0, least = ~std::uint64_t{0}, most = 0;
  bool may_be_plain = true;  // no key has zeros in front
};

class KeyShapes {
 public:
  // False: the key has no number, or there are too many shapes.
  bool add(std::string_view key) {
    std::optional<KeyField> field = numbered_field_of(key);
    if (!field) return false;
    const std::string_view digits =
        key.substr(field->before.size(), key.size() - field->before.size() - field->after.size());
    const std::optional<std::uint64_t> number = count_in(digits);
    if (!number) return false;
    auto shape = std::ranges::find_if(shapes_, [&](const KeyShape& one) {
      return one.field.before == field->before && one.field.after == field->after;
    });
    if (shape == shapes_.end()) {
      if (shapes_.size() == kMostShapes) return false;
      shape = shapes_.insert(shapes_.end(), {.field = std::move(*field)});
      shape->field.digits = static_cast<unsigned>(digits.size());
    }
    const bool has_zeros = digits.size() > 1 && digits[0] == '0';
    shape->may_be_plain = shape->may_be_plain && !has_zeros;
    if (has_zeros && digits.size() != shape->field.digits) return false;
    shape->field.digits = std::min(shape->field.digits, static_cast<unsigned>(digits.size()));
    ++shape->keys;
    shape->least = std::min(shape->least, *number);
    shape->most = std::max(shape->most, *number);
    return true;
  }

  // The pattern of samples that are counted: each number once in each shape.
  [[nodiscard]] std::optional<KeyPattern> pattern(std::uint64_t count) const {
    KeyPattern pattern;
    for (const KeyShape& shape : shapes_) {
      const std::uint64_t from = shapes_.front().least;
      const bool is_whole =
          shape.keys == count && shape.least == from && from <= 1 && shape.most == from + count - 1;
      if (!is_whole) return std::nullopt;
      pattern.from = from;
      KeyField field = shape.field;
      if (shape.may_be_plain) field.digits = 0;
      const auto has_name = [&](const KeyField& one) { return one.name == field.name; };
      if (std::ranges::any_of(pattern.fields, has_name)) return std::nullopt;
      pattern.fields.push_back(std::move(field));
    }
    return pattern.fields.empty() ? std::nullopt : std::optional(std::move(pattern));
  }

 private:
  std::vector<KeyShape> shapes_;
};

}  // namespace

std::vector<std::string> database_names(std::string_view list) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; !list.empty() && begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    names.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

KeyedSamples::KeyedSamples(KeyedFile file, std::string_view keys, std::string_view database)
    : file_(std::move(file)), pattern_(pattern_of(keys, database)) {
  for (const KeyField& field : pattern_.fields) {
    if (std::ranges::find(databases_, field.database, &OpenDatabase::name) == databases_.end())
      databases_.push_back({field.database, file_.open(field.database)});
  }
  if (pattern_.count_key.empty()) return;
  const auto entry = databases_.front().map->find(as_bytes(pattern_.count_key));
  if (entry) count_ = stored_count(file_.file, *entry);
  if (count_) return;
  throw Error(Code::unsupported, "{} '{}', which is to count the samples",
              entry ? "does not have a number in entry" : "has no entry",
              printable(pattern_.count_key))
      .at(file_.file.path())
      .hint("leave out count=: samples are then taken as long as there are entries");
}

std::vector<std::string> KeyedSamples::databases() const {
  std::vector<std::string> names;
  for (const OpenDatabase& one : databases_) names.push_back(one.name);
  return names;
}

std::uint64_t KeyedSamples::expected() const {
  return count_.value_or(databases_.front().map->facts().entries);
}

std::optional<KeyMapEntry> KeyedSamples::find(const KeyField& field, std::string_view key) const {
  const auto database = std::ranges::find(databases_, field.database, &OpenDatabase::name);
  std::optional<KeyMapEntry> found = database->map->find(as_bytes(key));
  return found && found->is_database ? std::nullopt : std::move(found);
}

void KeyedSamples::take_rest(KeyedSample& sample, std::size_t first,
                             const auto& captured_by) const {
  for (std::size_t i = first; i < pattern_.fields.size(); ++i) {
    const KeyField& field = pattern_.fields[i];
    const std::string captured(captured_by(field));
    sample.entries[i] = find(field, field.key_of(captured));
    if (!sample.entries[i] || !sample.key.empty()) continue;
    sample.key = captured;
    sample.key_offset = file_.key_offset_of(*sample.entries[i]) + field.before.size();
  }
}

void KeyedSamples::for_each(const std::function<void(const KeyedSample&)>& use) const {
  const std::size_t fields = pattern_.fields.size();
  const KeyField& first = pattern_.fields.front();
  if (pattern_.is_numbered()) {
    for (std::uint64_t row = 0; !count_ || row < *count_; ++row) {
      const std::uint64_t number = pattern_.from + row;
      KeyedSample sample{.key = {}, .entries = {}};
      sample.entries.resize(fields);
      take_rest(sample, 0, [&](const KeyField& field) { return field.text_of(number); });
      if (!sample.key.empty()) {
        use(sample);
        continue;
      }
      if (!count_) return;
      throw Error(Code::unsupported, "has no entry '{}', but '{}' counts {} samples",
                  printable(first.key_of(first.text_of(number))), printable(pattern_.count_key),
                  *count_)
          .at(file_.file.path());
    }
    return;
  }
  const auto cursor = databases_.front().map->cursor();
  for (bool is_there = cursor->first(); is_there; is_there = cursor->next()) {
    std::optional<KeyMapEntry> entry = cursor->current();
    const std::string_view key = entry ? as_text(entry->key) : std::string_view();
    const std::optional<std::string_view> captured = first.captured_in(key);
    const bool is_of_first =
        captured && !entry->is_database &&
        (!first.database.empty() || pattern_.field_of(key) == std::optional<std::size_t>(0));
    if (!is_of_first) continue;
    KeyedSample sample{.key = std::string(*captured),
                       .key_offset = file_.key_offset_of(*entry) + first.before.size(),
                       .entries = {}};
    sample.entries.resize(fields);
    sample.entries[0] = std::move(entry);
    take_rest(sample, 1, [&](const KeyField&) { return sample.key; });
    use(sample);
  }
}

bool KeyedSamples::takes(std::string_view database, std::string_view key,
                         std::uint64_t samples) const {
  if (!pattern_.count_key.empty() && key == pattern_.count_key) return true;
  const KeyField& first = pattern_.fields.front();
  for (const KeyField& field : pattern_.fields) {
    const std::optional<std::string_view> captured = field.captured_in(key);
    if (field.database != database || !captured) continue;
    if (!field.is_numbered)
      return &field == &first || find(first, first.key_of(*captured)).has_value();
    const std::optional<std::uint64_t> number = count_in(*captured);
    if (number && *number >= pattern_.from && *number - pattern_.from < samples) return true;
  }
  return false;
}

std::vector<LayoutField> fields_of(const KeyedSample& sample, const KeyPattern& pattern,
                                   const Schema* schema, ValueReader& values,
                                   std::string_view where) {
  std::vector<LayoutField> fields;
  for (std::size_t i = 0; i < pattern.fields.size(); ++i) {
    if (!sample.entries[i]) continue;
    const KeyField& wanted = pattern.fields[i];
    const ValueExtent entry = extent_of(*sample.entries[i]);
    values.enter(entry);
    const auto content = [&] {
      return as_text(values.view()(entry.value_offset, entry.value_bytes));
    };
    const FieldPlace place{.offset = entry.value_offset, .length = entry.value_bytes};
    if (wanted.dtype) {
      fields.push_back(row_of_numbers(wanted, place, where));
    } else if (wanted.kind == Kind::integer || wanted.kind == Kind::real) {
      const std::string text(entry.value_bytes <= kMostNumberBytes ? content() : "...");
      fields.push_back(
          wanted.kind == Kind::integer
              ? integer_field(wanted.name,
                              number_in<std::int64_t>(text, wanted, where, place.offset))
              : real_field(wanted.name, number_in<double>(text, wanted, where, place.offset)));
    } else {
      const std::optional<std::size_t> known = schema ? schema->find(wanted.name) : std::nullopt;
      const bool is_bytes = wanted.kind == Kind::bytes ||
                            (known && schema->fields[*known].kind == Kind::bytes) ||
                            (entry.value_bytes > kMostTextBytes && wanted.kind != Kind::text);
      const bool is_text = !is_bytes && is_utf8(content());
      if (!is_text && wanted.kind == Kind::text) {
        throw Error(Code::unsupported, "the value of field '{}' is not UTF-8",
                    printable(wanted.name))
            .at(where, place.offset)
            .hint("write FIELD:bytes=PATTERN for it");
      }
      fields.push_back(placed_field(wanted.name, is_text ? Kind::text : Kind::bytes, place));
    }
    fields.back().may_lack = true;
  }
  return fields;
}

void KeyNumbers::add(std::string_view key) {
  const std::optional<std::uint64_t> number = count_in(key);
  are_numbers_ = are_numbers_ && number && (key.size() == 1 || key[0] != '0');
  ++keys_;
  least_ = std::min(least_, number.value_or(0));
  most_ = std::max(most_, number.value_or(0));
}

std::string KeyNumbers::pattern() const {
  if (!are_numbers_ || keys_ == 0 || most_ - least_ != keys_ - 1) return {};
  return least_ == 0 ? "value=%d" : fmt::format("value=%d, from={}", least_);
}

std::optional<KeyPattern> recognize_keys(const KeyedFile& file, std::string_view database) {
  const auto map = file.open(database);
  for (const std::string_view name : count_keys()) {
    const std::optional<KeyMapEntry> entry = map->find(as_bytes(name));
    const std::optional<std::uint64_t> count =
        entry ? stored_count(file.file, *entry) : std::nullopt;
    if (!count || *count == 0 || (map->facts().entries - 1) % *count != 0) continue;
    KeyShapes shapes;
    const auto cursor = map->cursor();
    for (bool is_there = cursor->first(); is_there; is_there = cursor->next()) {
      const std::optional<KeyMapEntry> one = cursor->current();
      const std::string_view key = as_text(one->key);
      if (key != name && (one->is_database || !shapes.add(key))) return std::nullopt;
    }
    std::optional<KeyPattern> pattern = shapes.pattern(*count);
    if (pattern) pattern->count_key = name;
    return pattern;
  }
  return std::nullopt;
}

std::string note_on_lost_keys(const KeyedFile& file) {
  const auto map = file.open({});
  for (const std::string_view name : count_keys()) {
    if (!map->find(as_bytes(name)) || recognize_keys(file, {})) continue;
    return fmt::format(
        "'{}' counts samples, but the keys that are left are not theirs alone, or not all of them: "
        "each entry is taken as a sample",
        name);
  }
  return {};
}

}  // namespace shale::layouts
