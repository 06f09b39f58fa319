#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/field_name.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/json_text.hpp"
#include "shale/parquet/parquet_codec.hpp"
#include "shale/parquet/parquet_footer.hpp"
#include "shale/parquet/parquet_places.hpp"

#include "formats/parquet/parquet_foreign.hpp"
#include "formats/parquet/parquet_words.hpp"

namespace shale {
namespace {

constexpr std::string_view kLabelField = "label";

bool is_string(const ParquetElement& node) {
  return node.annotation.meaning == ParquetMeaning::string;
}

// NumPy's name of the numbers of a column; empty: they are none.
std::string dtype_of(const ParquetElement& leaf) {
  const ParquetAnnotation& means = leaf.annotation;
  switch (*leaf.type) {
    case ParquetType::boolean:
      return "|b1";
    case ParquetType::float32:
      return "<f4";
    case ParquetType::float64:
      return "<f8";
    case ParquetType::int32:
    case ParquetType::int64: {
      const int bytes = *leaf.type == ParquetType::int32 ? 4 : 8;
      if (means.meaning != ParquetMeaning::integer) return fmt::format("<i{}", bytes);
      const int own = means.bits / 8;
      if (own > bytes || (own != 1 && own != 2 && own != 4 && own != 8)) return "";
      return fmt::format("{}{}{}", own == 1 ? '|' : '<', means.is_signed ? 'i' : 'u', own);
    }
    case ParquetType::fixed_bytes:
      return means.meaning == ParquetMeaning::float16 && leaf.type_length == 2 ? "<f2" : "";
    default:
      return "";
  }
}

// How a column is called that lies in these nodes, and what is special about them.
struct NodePath {
  std::string name;  // of the field
  std::string path;  // as the file has it, with dots
  bool is_of_media = false, is_path_of_media = false;
  bool has_map = false;
};

// A group of `bytes` and `path`, as the library `datasets` has images, audio, video and documents.
bool is_media(const ParquetFooter& footer, std::size_t group) {
  const std::vector<ParquetElement>& schema = footer.schema;
  if (schema[group].children != 2 || group + 2 >= schema.size()) return false;
  const ParquetElement &bytes = schema[group + 1], &path = schema[group + 2];
  return bytes.name == "bytes" && bytes.type == ParquetType::byte_array && !is_string(bytes) &&
         bytes.repetition != ParquetRepetition::repeated && path.name == "path" &&
         path.type == ParquetType::byte_array && path.repetition != ParquetRepetition::repeated;
}

NodePath path_of(const ParquetFooter& footer, const ParquetColumn& column) {
  const std::vector<ParquetElement>& schema = footer.schema;
  NodePath made;
  made.path = dotted_name(footer, column);
  std::size_t list_levels =
      0;  // nodes that are how a list is stored, and have no name of their own
  for (std::size_t i = 0; i < column.nodes.size(); ++i) {
    const std::size_t node = column.nodes[i];
    const bool is_leaf = i + 1 == column.nodes.size();
    made.has_map |= schema[node].annotation.meaning == ParquetMeaning::map;
    if (list_levels > 0) {
      --list_levels;
    } else if (is_leaf && i > 0 && is_media(footer, column.nodes[i - 1])) {
      made.is_of_media = schema[node].name == "bytes";
      made.is_path_of_media = !made.is_of_media;
      if (made.is_path_of_media) made.name += made.name.empty() ? "path" : "_path";
    } else {
      made.name += (made.name.empty() ? "" : "_") + schema[node].name;
    }
    if (schema[node].annotation.meaning == ParquetMeaning::list) {
      // The repeated group below, and the element in it; old writers have the element at once.
      const bool has_group =
          node + 1 < schema.size() && !schema[node + 1].type && schema[node + 1].children == 1;
      list_levels = has_group ? 2 : 1;
    }
  }
  return made;
}

void set_obstacle(ParquetForeignField& field, std::string code, std::string why) {
  field.obstacle = std::move(code);
  field.why = std::move(why);
}

ParquetForeignField field_of(const ParquetColumn& column, const NodePath& nodes) {
  ParquetForeignField made;
  made.path = nodes.path;
  made.is_path_of_media = nodes.is_path_of_media;
  Field& field = made.field;
  const ParquetElement& leaf = column.leaf;
  const ParquetMeaning meaning = leaf.annotation.meaning;
  const std::uint32_t depth = column.most_repetition;
  const std::string dtype = has_words(leaf) ? "" : dtype_of(leaf);
  field.name = field_name_of(nodes.name);
  if (has_words(leaf)) {
    made.form = ParquetForm::words;
    field.kind = Kind::text;
  } else if (!dtype.empty()) {
    made.form = ParquetForm::number;
    field = field_of_column(field.name, DType::parse(dtype),
                            std::vector<std::uint64_t>(depth, kFreeSide));
  } else if (meaning == ParquetMeaning::string || meaning == ParquetMeaning::enumeration ||
             meaning == ParquetMeaning::json) {
    made.form = ParquetForm::text;
    field.kind = Kind::text;
    field.is_json = meaning == ParquetMeaning::json && depth == 0;
  }
  if (meaning == ParquetMeaning::null) set_obstacle(made, "no_values", "it has no values");
  if (leaf.type == ParquetType::int32 || leaf.type == ParquetType::int64) {
    if (dtype.empty() && !has_words(leaf))
      set_obstacle(made, "unknown_type", "its numbers have a size that they cannot have");
  }
  if (nodes.has_map) set_obstacle(made, "map", "it is a map, which no field can hold");
  if (made.form != ParquetForm::number && depth > 0) {
    field.elements = field.kind;
    field.kind = Kind::list;
    if (depth > 1)
      set_obstacle(made, "nested_list", "it has lists of lists, of other than numbers");
  } else if (depth > 2) {
    set_obstacle(made, "nested_list", "it has lists that are nested more than twice");
  }
  return made;
}

// ---- what `datasets` says under "huggingface"

const JsonValue* features_in(const JsonValue& json) {
  const JsonValue* const info = json.find("info");
  return info == nullptr ? nullptr : info->find("features");
}

std::vector<std::string> class_names(const JsonValue& feature) {
  const JsonValue* const type = feature.find("_type");
  const JsonValue* const names = feature.find("names");
  if (type == nullptr || type->text != "ClassLabel" || names == nullptr ||
      names->type != JsonValue::Type::array)
    return {};
  std::vector<std::string> classes;
  for (const JsonValue& name : names->elements) classes.push_back(name.text);
  return classes;
}

struct ClassFeature {
  std::string name;  // with dots
  std::vector<std::string> classes;
  bool is_column = true;  // not of lists or groups
};

// Those that a feature is, or is made of.
void find_classes(const JsonValue& feature, ClassFeature at, std::vector<ClassFeature>& all) {
  at.classes = class_names(feature);
  if (!at.classes.empty()) return all.push_back(std::move(at));
  at.is_column = false;
  if (const JsonValue* const of_list = feature.find("feature"))
    return find_classes(*of_list, std::move(at), all);
  if (feature.find("_type") != nullptr) return;
  for (std::size_t i = 0; i < feature.elements.size(); ++i) {
    const bool is_group = !feature.names.empty();  // an older list has its feature in brackets
    const std::string name = is_group ? at.name + "." + feature.names[i] : at.name;
    find_classes(feature.elements[i], {.name = name, .classes = {}, .is_column = false}, all);
  }
}

void take_features(ParquetForeignFile& file) {
  const auto pair = std::ranges::find(file.footer.key_values, "huggingface", &ParquetKeyValue::key);
  if (pair == file.footer.key_values.end()) return;
  const std::optional<JsonValue> json = parse_json(pair->value);
  const JsonValue* const features = json ? features_in(*json) : nullptr;
  if (features == nullptr) {
    file.notes.emplace_back("what the file says under 'huggingface' is not what `datasets` writes");
    return;
  }
  std::vector<ClassFeature> all;
  for (std::size_t i = 0; i < features->names.size(); ++i)
    find_classes(features->elements[i], {.name = features->names[i], .classes = {}}, all);
  for (ClassFeature& one : all) {
    if (one.is_column && field_name_of(one.name) == kLabelField) {
      file.classes = std::move(one.classes);
    } else {
      file.notes.push_back(
          fmt::format("the {} class names of '{}' are not taken: only those of 'label' are",
                      one.classes.size(), printable(one.name)));
      file.left_out.add(
          {.kind = "names", .name = std::move(one.name), .reason = "not_class_names"});
    }
  }
}

// Two columns may come to one name; the later one has a number then.
void make_unique(std::vector<ParquetForeignField>& fields) {
  std::set<std::string> names;
  std::map<std::string, int> last;  // number, of a name that was there already
  for (ParquetForeignField& field : fields) {
    std::string name = field.field.name;
    while (!names.insert(name).second) {
      int& number = last.emplace(field.field.name, 1).first->second;
      name = fmt::format("{}_{}", field.field.name, ++number);
    }
    field.field.name = std::move(name);
  }
}

// The column that has the keys: one that is called so, else the paths of the only media.
std::optional<std::size_t> key_of(const ParquetForeignFile& file) {
  constexpr std::array<std::string_view, 2> kNames = {"key", "__key__"};
  std::optional<std::size_t> found;
  std::size_t paths = 0;
  for (std::size_t i = 0; i < file.fields.size(); ++i) {
    const ParquetForeignField& field = file.fields[i];
    if (!field.is_usable() || field.field.kind != Kind::text) continue;
    if (std::ranges::find(kNames, field.path) != kNames.end()) return i;
    if (field.is_path_of_media && ++paths == 1) found = i;
  }
  return paths == 1 ? found : std::nullopt;
}

}  // namespace

ParquetForeignFile describe_foreign_parquet(const InputFile& file) {
  constexpr std::size_t kMostColumns = 4096;
  ParquetForeignFile made;
  WindowReader window(file);
  made.footer = read_parquet_footer(window.views(), file.size(), file.path());
  std::array<std::byte, 8> tail{};
  file.read_exact(file.size() - tail.size(), tail);
  made.footer_begin = file.size() - tail.size() - ByteReader(tail).read_u32();
  made.columns = columns_of(made.footer);
  if (made.columns.size() > kMostColumns)
    throw Error(Code::limit, "{} columns, at most {} are read", made.columns.size(), kMostColumns)
        .at(file.path());
  for (std::size_t i = 0; i < made.columns.size(); ++i) {
    ParquetForeignField& field =
        made.fields.emplace_back(field_of(made.columns[i], path_of(made.footer, made.columns[i])));
    field.column = i;
    for (const ParquetRowGroup& group : made.footer.row_groups) {
      const ParquetCodec codec = group.chunks[i].codec;
      if (field.is_usable() && !can_unpack(codec))
        set_obstacle(
            field, "codec",
            fmt::format("it is compressed with {}, which is not supported", name_of(codec)));
    }
  }
  make_unique(made.fields);
  made.key = key_of(made);
  take_features(made);
  return made;
}

std::string note_on_column(const ParquetForeignField& field) {
  return fmt::format("column '{}' is left out: {}", printable(field.path), field.why);
}

bool lies_in_file(const ParquetForeignFile& file, const ParquetForeignField& field) {
  if (file.columns[field.column].leaf.type != ParquetType::byte_array) return false;
  if (field.form != ParquetForm::bytes && field.form != ParquetForm::text) return false;
  const bool is_list = field.field.kind == Kind::list;
  return std::ranges::all_of(file.footer.row_groups, [&](const ParquetRowGroup& group) {
    const ParquetChunk& chunk = group.chunks[field.column];
    if (chunk.codec != ParquetCodec::uncompressed) return false;
    constexpr unsigned kLevels = 1U << 3 | 1U << 4;  // RLE and BIT_PACKED, of levels
    for (unsigned bit = 0; bit < 32; ++bit) {
      if ((chunk.encodings & ~kLevels) >> bit & 1) {
        const auto encoding = static_cast<ParquetEncoding>(bit);
        // The elements of a list lie one behind the other, each behind its length.
        if (is_list ? encoding != ParquetEncoding::plain : !can_place(encoding)) return false;
      }
    }
    return !(is_list && chunk.dictionary_page_offset);
  });
}

bool has_to_be_unpacked(const ParquetForeignFile& file, const ParquetForeignField& field) {
  if (!field.is_usable() || field.form != ParquetForm::bytes) return false;
  const std::optional<ParquetType>& type = file.columns[field.column].leaf.type;
  return type == ParquetType::byte_array && !lies_in_file(file, field);
}

}  // namespace shale
