#include "formats/parquet/parquet_plan.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/schema_text.hpp"
#include "shale/parquet/parquet_footer.hpp"

#include "formats/parquet/parquet_features.hpp"

namespace shale {
namespace {

constexpr std::string_view kSchemaKey = "shale.schema";
// Of the layout of the files: another program version writes the same bytes.
constexpr std::string_view kCreatedBy = "shale version 1.0.0 (build 1)";
constexpr std::size_t kMostFields = 1024;
constexpr std::uint64_t kPageBytes = 1 << 20;
constexpr std::uint64_t kLongestRun = 6;  // of levels
constexpr std::uint64_t kLeastGroup = 1 << 20, kMostGroup = 1 << 30;
// The rows of a group are held until its columns have their places.
constexpr std::uint64_t kMostRows = 65'536, kLeastRows = 1024, kMostCells = 1 << 19;

ParquetType type_of_number(const DType& dtype) {
  if (dtype.descr() == "|b1") return ParquetType::boolean;
  if (dtype.descr()[1] == 'f')
    return dtype.item_bytes() == sizeof(float) ? ParquetType::float32 : ParquetType::float64;
  return dtype.item_bytes() < sizeof(std::int64_t) ? ParquetType::int32 : ParquetType::int64;
}

ParquetAnnotation annotation_of(const DType& dtype) {
  const char letter = dtype.descr()[1];
  const auto bits = static_cast<std::uint8_t>(8 * dtype.item_bytes());
  const bool is_plain = letter == 'i' && bits >= 32;
  if ((letter != 'i' && letter != 'u') || is_plain) return {};
  return {.meaning = ParquetMeaning::integer, .bits = bits, .is_signed = letter == 'i'};
}

constexpr ParquetAnnotation kString{.meaning = ParquetMeaning::string};

// Grows the elements of the schema, depth first.
class SchemaTree {
 public:
  explicit SchemaTree(std::int32_t columns) {
    elements_.push_back({.name = "schema", .children = columns});
  }

  void add(const Field& field) {
    if (field.kind == Kind::list || numbers_in(field)) return add_list(field);
    if (!media_of(field).empty()) return add_media(field.name);
    const bool is_number = !is_located(field.kind);
    const DType dtype = is_number ? dtype_of_column(field) : DType();
    add_leaf(field.name, is_number ? type_of_number(dtype) : ParquetType::byte_array,
             is_number                  ? annotation_of(dtype)
             : field.kind == Kind::text ? kString
                                        : ParquetAnnotation());
  }
  void add_leaf(const std::string& name, ParquetType type, const ParquetAnnotation& annotation) {
    elements_.push_back({.name = name,
                         .type = type,
                         .repetition = ParquetRepetition::optional,
                         .annotation = annotation});
  }
  [[nodiscard]] std::vector<ParquetElement> take() { return std::move(elements_); }

 private:
  void add_group(const std::string& name, ParquetRepetition repetition, std::int32_t children,
                 ParquetMeaning meaning = ParquetMeaning::none) {
    elements_.push_back({.name = name,
                         .repetition = repetition,
                         .children = children,
                         .annotation = {.meaning = meaning}});
  }
  void add_media(const std::string& name) {
    add_group(name, ParquetRepetition::optional, 2);
    add_leaf("bytes", ParquetType::byte_array, {});
    add_leaf("path", ParquetType::byte_array, kString);
  }
  void add_list_groups(const std::string& name) {
    add_group(name, ParquetRepetition::optional, 1, ParquetMeaning::list);
    add_group("list", ParquetRepetition::repeated, 1);
  }
  void add_list(const Field& field) {
    add_list_groups(field.name);
    if (!media_of(field).empty()) return add_media("element");
    if (const std::optional<ListedNumbers> numbers = numbers_in(field)) {
      if (numbers->inner > 0) add_list_groups("element");
      return add_leaf("element", numbers->type, annotation_of(field.dtype));
    }
    add_leaf("element", ParquetType::byte_array,
             field.elements == Kind::text ? kString : ParquetAnnotation());
  }

  std::vector<ParquetElement> elements_;
};

void add_leaves(const Field& field, std::uint32_t part, ParquetPlan& plan) {
  ParquetLeaf leaf{.part = part, .is_npy = is_npy(field), .is_optional = field.is_optional};
  std::vector<std::string> path = {field.name};
  const std::optional<ListedNumbers> numbers = numbers_in(field);
  if (field.kind == Kind::list || numbers) {
    leaf.is_list = true;
    leaf.value_level = 3;
    path.insert(path.end(), {"list", "element"});
  }
  if (numbers) {
    leaf.type = numbers->type;
    leaf.inner = numbers->inner;
    leaf.item_bytes = field.dtype.item_bytes();
    if (leaf.inner > 0) {
      leaf.value_level = 5;
      path.insert(path.end(), {"list", "element"});
    }
  }
  if (!is_located(field.kind)) {
    leaf.type = type_of_number(dtype_of_column(field));
    leaf.has_bounds = leaf.type != ParquetType::boolean;
    leaf.item_bytes = leaf.type == ParquetType::boolean                                      ? 1
                      : leaf.type == ParquetType::int32 || leaf.type == ParquetType::float32 ? 4
                                                                                             : 8;
  }
  const bool is_media = !media_of(field).empty();
  if (is_media) {
    ++leaf.value_level;
    path.emplace_back("bytes");
  }
  plan.leaves.push_back(leaf);
  plan.columns.push_back({leaf.type, path});
  if (!is_media) return;
  leaf.is_path = true;
  path.back() = "path";
  plan.leaves.push_back(leaf);
  plan.columns.push_back({leaf.type, path});
}

// The field whose values are likely the largest.
std::size_t streamed_part(const Schema& schema) {
  for (const Kind kind : {Kind::bytes, Kind::list, Kind::tensor, Kind::text}) {
    for (std::size_t i = 0; i < schema.fields.size(); ++i) {
      if (schema.fields[i].kind == kind) return 1 + i;
    }
  }
  return schema.fields.empty() ? 0 : 1;
}

// A page with nothing known of it, as large as one can be told.
WrittenPage largest_page(bool has_bounds) {
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 61, kLargeI32 = 1U << 31;
  WrittenPage page{
      .offset = kLarge, .bytes = kLargeI32, .first_row = kLarge, .slots = kLarge, .nulls = kLarge};
  if (has_bounds)
    page.bounds = {std::string(kMostBoundBytes, '0'), std::string(kMostBoundBytes, '0')};
  return page;
}

}  // namespace

std::vector<std::size_t> ParquetPlan::order() const {
  std::vector<std::size_t> all = {streamed};
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (i != streamed) all.push_back(i);
  }
  return all;
}

ParquetPlan plan_parquet(const Schema& schema, std::uint64_t row_group_bytes) {
  if (schema.fields.size() > kMostFields) {
    throw Error(Code::unsupported, "{} fields; a Parquet shard holds at most {}",
                schema.fields.size(), kMostFields);
  }
  ParquetPlan plan{.parts = 1 + schema.fields.size(), .row_group_bytes = row_group_bytes};
  for (std::uint32_t i = 0; i < schema.fields.size(); ++i)
    add_leaves(schema.fields[i], i + 1, plan);
  if (schema.has_keys) {
    plan.leaves.push_back({.part = 0, .has_bounds = true});
    plan.columns.push_back({ParquetType::byte_array, {std::string(kKeyColumn)}});
  }
  const std::size_t part = streamed_part(schema);
  const auto leaf = std::ranges::find(plan.leaves, part, &ParquetLeaf::part);
  plan.streamed = static_cast<std::size_t>(leaf - plan.leaves.begin());
  return plan;
}

std::uint64_t row_group_bytes_of(const OptionSet& options) {
  const std::uint64_t bytes = parse_size(options.text(kRowGroupOption), "row group size");
  if (bytes >= kLeastGroup && bytes <= kMostGroup) return bytes;
  throw Error(Code::usage, "a row group of {} bytes; it may have 1MiB to 1GiB", bytes)
      .hint("pass --row-group-size 100MB, or leave it out");
}

WrittenFile describe_parquet(const ParquetPlan& plan, const Schema& schema, const LabelNames& names,
                             bool keys_are_text) {
  const bool has_key = schema.has_keys;
  SchemaTree tree(static_cast<std::int32_t>(schema.fields.size() + (has_key ? 1 : 0)));
  for (const Field& field : schema.fields) tree.add(field);
  if (has_key) {
    tree.add_leaf(std::string(kKeyColumn), ParquetType::byte_array,
                  keys_are_text ? kString : ParquetAnnotation());
  }
  WrittenFile file{.schema = tree.take(),
                   .columns = plan.columns,
                   .groups = {},
                   .key_values = {},
                   .created_by = std::string(kCreatedBy)};
  std::string text;
  for (const Field& field : schema.fields)
    text += field.name + '\t' + field_type_text(field) + '\n';
  file.key_values.push_back(
      {std::string(kHuggingfaceKey), huggingface_json(schema, names, keys_are_text)});
  file.key_values.push_back({std::string(kSchemaKey), text});
  return file;
}

std::optional<Schema> schema_of_key_values(std::span<const ParquetKeyValue> pairs) {
  for (const ParquetKeyValue& pair : pairs) {
    if (pair.key == kSchemaKey) return parse_schema_text(pair.value);
  }
  return std::nullopt;
}

ParquetMeasure::ParquetMeasure(const ParquetPlan& plan, const Schema& schema)
    : plan_(plan), pending_(plan.leaves.size()) {
  // Of lists that have more than 14 elements, and of their numbers.
  constexpr std::uint64_t kListHeaders = 40;
  constexpr std::uint64_t kLongestNumber = 10;
  most_rows_ = std::clamp(kMostCells / plan.parts, kLeastRows, kMostRows);
  WrittenFile file = describe_parquet(plan, schema, {}, false);
  const auto size_of = [&] { return parquet_tail(file, 0).size(); };
  const std::uint64_t of_key = std::string_view("string").size() + 8;  // with its annotations
  bytes_ = kParquetMagic.size() + size_of() + of_key + 2 * kLongestNumber;
  const std::uint64_t header_bytes = data_page_header(1U << 30, 1U << 31, 1U << 30).size();
  WrittenGroup group{.rows = std::uint64_t{1} << 61};
  for (const ParquetLeaf& leaf : plan.leaves) {
    WrittenChunk& chunk = group.chunks.emplace_back();
    chunk.has_bounds = leaf.has_bounds;
    chunk.pages.push_back(largest_page(leaf.has_bounds));
    chunk.bounds = chunk.pages[0].bounds;
  }
  const std::uint64_t without = size_of();
  file.groups.push_back(group);
  const std::uint64_t with = size_of();
  group_overhead_ = with - without;
  for (std::size_t i = 0; i < plan.leaves.size(); ++i) {
    const ParquetLeaf& leaf = plan.leaves[i];
    file.groups[0].chunks[i].pages.push_back(largest_page(leaf.has_bounds));
    const std::uint64_t levels = (leaf.is_list ? 2 : 1) * (kValueLengthBytes + kLongestRun);
    page_overhead_.push_back(size_of() - with + header_bytes + levels);
    file.groups[0].chunks[i].pages.pop_back();
    group_overhead_ += kListHeaders + header_bytes + levels;
    // A run of a null, or of a value behind one, takes two bytes; a list's two runs at most 14.
    row_bytes_ += leaf.is_list ? 14 : leaf.is_optional ? 2 : 0;
    if (leaf.adds_length()) row_bytes_ += kValueLengthBytes;
    if (leaf.inner > 1) nested_.push_back(i);
  }
}

bool ParquetMeasure::closes_group(std::span<const std::uint64_t> parts) const {
  if (group_rows_ == 0) return false;
  return group_rows_ == most_rows_ || group_bytes_ + bytes_of_row(parts) > plan_.row_group_bytes;
}

void ParquetMeasure::close_group() {
  group_bytes_ = group_rows_ = 0;
  std::ranges::fill(pending_, 0);
}

bool ParquetMeasure::begins_page(std::size_t leaf, std::span<const std::uint64_t> parts) const {
  return group_rows_ == 0 ||
         pending_[leaf] + parts[plan_.leaves[leaf].part] + kValueLengthBytes > kPageBytes;
}

void ParquetMeasure::add(std::span<const std::uint64_t> parts) {
  bytes_ = bytes_with(parts);
  if (closes_group(parts)) close_group();
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (begins_page(i, parts)) pending_[i] = 0;
    pending_[i] += parts[plan_.leaves[i].part] + kValueLengthBytes;
  }
  group_bytes_ += bytes_of_row(parts);
  ++group_rows_;
}

std::uint64_t ParquetMeasure::bytes_with(std::span<const std::uint64_t> parts) const {
  std::uint64_t bytes = bytes_ + bytes_of_row(parts);
  if (group_rows_ == 0 || closes_group(parts)) return bytes + group_overhead_;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (begins_page(i, parts)) bytes += page_overhead_[i];
  }
  return bytes;
}

std::uint64_t ParquetMeasure::bytes_of_row(std::span<const std::uint64_t> parts) const {
  std::uint64_t bytes = row_bytes_;
  for (const std::uint64_t part : parts) bytes += part;
  // Each inner list is a run of the slot that begins it, and one of the others.
  for (const std::size_t i : nested_) {
    const ParquetLeaf& leaf = plan_.leaves[i];
    bytes += parts[leaf.part] / leaf.slot_bytes() * (2 + kLongestRun);
  }
  return bytes;
}

}  // namespace shale
