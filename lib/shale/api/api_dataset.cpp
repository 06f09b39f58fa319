#include <algorithm>
#include <cstring>
#include <utility>

#include "shale/api/api_request.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/dataset.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/loading/loader.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {
namespace {

LoaderRequest loader_request(const std::string& path, const DatasetOptions& options) {
  LoaderRequest request{.path = path,
                        .index_folder = options.index_folder,
                        .proof = options.proof,
                        .cache = options.cache,
                        .generator = kLibraryGenerator};
  request.parsing = wanted_parsing(options.parse, options.database);
  return request;
}

FieldInfo field_info(const Field& field) {
  return {.name = field.name,
          .kind = field.kind,
          .dtype = field.dtype.descr(),
          .shape = field.shape,
          .is_optional = field.is_optional,
          .elements = field.elements,
          .is_json = field.is_json};
}

// A value, and where its bytes are read to. Those of a list come in one piece, and are divided when
// they are there.
OwnedValue value_to_fill(const LocatedSample& sample, std::size_t field, const Field& described) {
  const IndexCell& cell = sample.place.cells[field];
  const Kind kind = described.kind;
  if (is_absent(cell, described)) return std::monostate{};
  if (kind == Kind::integer) return cell.integer;
  if (kind == Kind::real) return cell.real;
  const std::uint64_t bytes = Loader::bytes_of_value(sample, field);
  if (kind == Kind::text) return std::string(bytes, '\0');
  return std::vector<std::byte>(bytes);
}

// Of the tensors among the fields that are wanted, for each field of the schema. Errors:
// Code::damaged for a shape that is not of its field, or of other bytes than the index says.
std::vector<std::vector<std::uint64_t>> shapes_of(const Loader& loader, const LocatedSample& sample,
                                                  const std::vector<bool>& wanted) {
  const Schema& schema = loader.manifest().schema;
  std::vector<std::vector<std::uint64_t>> shapes(schema.fields.size());
  ShapeWalk walk(sample.place.sides);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Field& field = schema.fields[i];
    const std::span<const std::uint64_t> shape = walk.next(field);
    if (!wanted[i] || field.kind != Kind::tensor || is_absent(sample.place.cells[i], field))
      continue;
    const std::uint64_t bytes = Loader::bytes_of_value(sample, i);
    if (field.is_ragged() && !field.takes_tensor(shape, bytes)) {
      Error error = wrong_shape(field, shape, bytes);
      add_place(error, loader, sample, i);
      throw error;
    }
    shapes[i].assign(shape.begin(), shape.end());
  }
  return shapes;
}

std::span<std::byte> bytes_to_fill(OwnedValue& value) {
  if (auto* text = std::get_if<std::string>(&value))
    return std::as_writable_bytes(std::span(*text));
  if (auto* bytes = std::get_if<std::vector<std::byte>>(&value)) return *bytes;
  return {};
}

OwnedValue divided(const Loader& loader, const LocatedSample& sample, std::size_t field,
                   const std::vector<std::byte>& extent) try {
  const Manifest& manifest = loader.manifest();
  std::vector<std::vector<std::byte>> elements;
  for (const Bytes element : split_list(
           format_of(manifest), extent, sample.place.cells[field].place,
           elements_of_field(sample.place.elements, sample.place.cells, manifest.schema, field)))
    elements.emplace_back(element.begin(), element.end());
  return elements;
} catch (Error& error) {
  add_place(error, loader, sample, field);
  throw;
}

}  // namespace

Dataset::Dataset(const std::string& path, const DatasetOptions& options, const Callbacks& callbacks)
    : loader_(std::make_shared<const Loader>(loader_request(path, options), Events{callbacks})),
      size_(loader_->size()) {
  const Schema& schema = loader_->manifest().schema;
  wanted_.assign(schema.fields.size(), false);
  const auto add = [&](std::size_t position) {
    fields_.push_back(field_info(schema.fields[position]));
    positions_.push_back(position);
    wanted_[position] = true;
  };
  for (const std::string& name : options.fields) {
    const std::optional<std::size_t> position = schema.find(name);
    if (!position) throw no_such_field(name).at(path);
    add(*position);
  }
  for (std::size_t i = 0; options.fields.empty() && i < schema.fields.size(); ++i) add(i);
}

std::size_t Dataset::field(std::string_view name) const {
  const auto found = std::ranges::find(fields_, name, &FieldInfo::name);
  if (found == fields_.end()) throw no_such_field(name);
  return static_cast<std::size_t>(found - fields_.begin());
}

const std::vector<std::string>& Dataset::classes() const { return loader_->manifest().classes; }

const std::string& Dataset::format() const { return loader_->manifest().format; }

OwnedSample Dataset::read(std::uint64_t row) const {
  return std::move(read(std::span(&row, 1)).front());
}

std::vector<OwnedSample> Dataset::read(std::span<const std::uint64_t> rows) const {
  const Manifest& manifest = loader_->manifest();
  const std::vector<Field>& described = manifest.schema.fields;
  const bool has_keys = manifest.layout.has_keys;
  const std::vector<LocatedSample> located = loader_->locate(rows, wanted_);
  std::vector<OwnedSample> samples(rows.size());
  std::vector<Fetch> fetches;
  const auto fetch = [&](const LocatedSample& sample, std::optional<std::size_t> field,
                         std::span<std::byte> into) {
    if (!into.empty()) fetches.push_back({&sample, field, into});
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    OwnedSample& sample = samples[i];
    sample.row = rows[i];
    if (has_keys) sample.key.resize(Loader::bytes_of_value(located[i], std::nullopt));
    fetch(located[i], std::nullopt, std::as_writable_bytes(std::span(sample.key)));
    if (!has_keys) sample.key = std::to_string(rows[i]);
    sample.values.reserve(fields_.size());
    const std::vector<std::vector<std::uint64_t>> shapes = shapes_of(*loader_, located[i], wanted_);
    for (std::size_t k = 0; k < fields_.size(); ++k) {
      sample.values.push_back(value_to_fill(located[i], positions_[k], described[positions_[k]]));
      sample.shapes.push_back(shapes[positions_[k]]);
      fetch(located[i], positions_[k], bytes_to_fill(sample.values.back()));
    }
  }
  loader_->fetch(fetches);
  for (std::size_t k = 0; k < fields_.size(); ++k) {
    if (fields_[k].kind != Kind::list) continue;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      OwnedValue& value = samples[i].values[k];
      if (const auto* extent = std::get_if<std::vector<std::byte>>(&value))
        value = divided(*loader_, located[i], positions_[k], *extent);
    }
  }
  return samples;
}

std::uint64_t Dataset::bytes_of_value(std::size_t field) const {
  if (field >= positions_.size()) throw no_such_field(std::to_string(field));
  const Field& described = loader_->manifest().schema.fields[positions_[field]];
  if (!is_located(described.kind)) return sizeof(std::uint64_t);
  if (described.is_ragged()) {
    throw Error(Code::usage, "field '{}' is {}: its values differ in size",
                printable(described.name), array_text(described.dtype, described.shape))
        .hint("read the samples; OwnedSample::shapes has the shape of each");
  }
  if (described.kind == Kind::tensor) return described.tensor_bytes();
  throw Error(Code::usage, "field '{}' is of kind {}, not a tensor, integer or real",
              printable(described.name), name_of(described.kind));
}

void Dataset::read_array(std::size_t field, std::span<const std::uint64_t> rows,
                         std::span<std::byte> into) const {
  const std::uint64_t bytes = bytes_of_value(field);
  if (into.size() / std::max<std::uint64_t>(1, bytes) != rows.size() ||
      into.size() != bytes * rows.size()) {
    throw Error(Code::usage, "{} values of {} bytes do not fill an array of {} bytes", rows.size(),
                bytes, into.size());
  }
  const std::size_t position = positions_[field];
  std::vector<bool> wanted(wanted_.size(), false);
  wanted[position] = true;
  const std::vector<LocatedSample> located = loader_->locate(rows, wanted);
  std::vector<Fetch> fetches;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::span<std::byte> place = into.subspan(i * bytes, bytes);
    const IndexCell& cell = located[i].place.cells[position];
    if (is_absent(cell, loader_->manifest().schema.fields[position])) {
      throw Error(Code::schema, "field '{}' is missing", printable(fields_[field].name))
          .for_sample({}, rows[i]);
    }
    if (fields_[field].kind == Kind::integer) {
      std::memcpy(place.data(), &cell.integer, sizeof cell.integer);
    } else if (fields_[field].kind == Kind::real) {
      std::memcpy(place.data(), &cell.real, sizeof cell.real);
    } else if (cell.place.length != bytes) {
      throw wrong_tensor_bytes(*loader_, located[i], position, cell.place.length, bytes);
    } else if (bytes > 0) {
      fetches.push_back({&located[i], position, place});
    }
  }
  loader_->fetch(fetches);
}

std::string Dataset::key(std::uint64_t row) const { return loader_->key_of(row); }

std::optional<std::uint64_t> Dataset::find(std::string_view key, const Callbacks& callbacks) const {
  return loader_->find(key, Events{callbacks});
}

}  // namespace shale
