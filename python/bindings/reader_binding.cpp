#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "shale/base/printable.hpp"
#include "shale/browse/indexed_join.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/sample_axis.hpp"
#include "shale/data/stored_tensor.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/loading/loader.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/sources/joined_source.hpp"

#include "python/bindings/bindings.hpp"
#include "python/bindings/field_objects.hpp"
#include "python/bindings/interpreter.hpp"
#include "python/bindings/plain_objects.hpp"
#include "python/bindings/sample_objects.hpp"
#include "python/bindings/watch.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace shale::python {
namespace {

CachePolicy cache_named(const std::string& name) {
  if (name == "keep") return CachePolicy::keep;
  if (name == "drop") return CachePolicy::drop;
  if (name == "direct") return CachePolicy::direct;
  throw Error(Code::usage, "cache is '{}', expected 'keep', 'drop' or 'direct'", printable(name));
}

// A signal is heard between two of these: the most rows and bytes that are read at once.
constexpr std::size_t kRowsAtOnce = 512;
constexpr std::uint64_t kBytesAtOnce = 32 << 20;
constexpr std::uint64_t kIndexRowsAtOnce = 1 << 16, kColumnBytes = 16 << 20;

std::vector<std::pair<std::string, nb::bytes>> file_splits(const nb::bytes& path) {
  std::vector<std::pair<std::string, nb::bytes>> splits;
  for (const SetOfSplit& one : files_of_splits(raw(path), 1))
    splits.emplace_back(one.split, nb::bytes(one.word.data(), one.word.size()));
  return splits;
}

nb::object decode_rgb8(const nb::bytes& data, const std::string& order) {
  const PixelOrder wanted = pixel_order_named(order);
  std::optional<RgbDecoder> decoder =
      RgbDecoder::open({static_cast<const std::byte*>(data.data()), data.size()}, kMostPixelBytes);
  if (!decoder) throw Error(Code::bad_content, "not a JPEG");
  nb::object array = empty_pixels(empty_array(), decoder->extent(), wanted);
  const std::span<std::byte> pixels = memory_of_array(array);
  const Unlocked unlocked;
  std::move(*decoder).decode(wanted, pixels);
  return array;
}

// What the place of the error knew only by its row gets the names of sample and shard.
[[noreturn]] void raise_with_sample(Error& error, const Loader& loader) {
  std::string shard;
  if (error.sample() && error.sample()->index) {
    try {
      shard = loader.shard_name_of(*error.sample()->index);
      if (error.sample()->key.empty())
        error.for_sample(loader.key_of(*error.sample()->index), error.sample()->index);
    } catch (const Error&) {
      // The error at hand is worth more.
    }
  }
  raise_as_python(error, shard);
}

// Without the interpreter's lock: `act` may wait for a disk.
template <class Act>
auto unlocked(const Loader& loader, Act act) {
  try {
    const Unlocked unlocked;
    return act();
  } catch (Error& error) {
    raise_with_sample(error, loader);
  }
}

// A value that is read piece by piece. It keeps the loader, which opens its own files in each
// process.
class PlacedValue {
 public:
  PlacedValue(std::shared_ptr<const Loader> loader, OpenValue value)
      : loader_(std::move(loader)), value_(std::move(value)) {}

  [[nodiscard]] std::uint64_t size() const { return value_.bytes; }
  // What tells it from another value: where it is among the shards.
  [[nodiscard]] nb::tuple place() const {
    return nb::make_tuple(value_.sample.place.cells[value_.field].place.offset, value_.bytes);
  }
  // At most `count` bytes from `begin` on.
  [[nodiscard]] nb::object read(std::uint64_t begin, std::uint64_t count) const {
    begin = std::min(begin, value_.bytes);
    count = std::min(count, value_.bytes - begin);
    FreshBytes bytes(count);
    CallingThread caller;
    const Events events = stopped_by_signals(caller);
    unlocked(*loader_, [&] {
      for (std::uint64_t done = 0; done < count;) {
        const std::uint64_t next = std::min(kBytesAtOnce, count - done);
        loader_->read_piece(value_, begin + done, bytes.memory.subspan(done, next));
        done += next;
        if (done < count) events.stop_if_asked();
      }
    });
    return std::move(bytes.object);
  }

 private:
  std::shared_ptr<const Loader> loader_;
  OpenValue value_;
};

class Reader {
 public:
  Reader(const std::vector<nb::bytes>& words, const nb::bytes& index_folder,
         const std::string& cache, std::optional<bool> verifies,
         const std::optional<std::string>& parse, const std::optional<std::string>& database,
         const std::string& opened_before, const std::optional<std::string>& on,
         const std::optional<std::string>& partners, const std::optional<std::string>& axis,
         const std::optional<std::string>& raw_type, std::optional<std::uint64_t> raw_offset) {
    LoaderRequest request{.path = raw(words.at(0)),
                          .index_folder = raw(index_folder),
                          .parsing = wanted_parsing(parse.value_or(""), database.value_or("")),
                          .proof = !verifies   ? Proof::automatic
                                   : *verifies ? Proof::all
                                               : Proof::none,
                          .cache = cache_named(cache),
                          .generator = "shale " SHALE_VERSION,
                          .opened_before = opened_before};
    InputRequest inputs;
    for (const nb::bytes& word : words) inputs.inputs.push_back(raw(word));
    if (words.size() > 1 || axis || raw_type || are_arrays_alone(inputs.inputs)) {
      if (axis) inputs.axes = parse_axes(*axis);
      inputs.generator = request.generator;
      inputs.container = {request.index_folder, request.parsing};
      inputs.join = join_named(on.value_or(""), partners.value_or(""));
      if (raw_type) inputs.raw = parse_raw(*raw_type, raw_offset.value_or(0));
      request.path = text_of_inputs(inputs.inputs);
      request.open_instead = [inputs](const Events& events) {
        return open_joined_inputs(inputs, events);
      };
    }
    CallingThread caller;
    {
      const Unlocked unlocked;
      loader_ = std::make_shared<const Loader>(request, stopped_by_signals(caller));
    }
    format_ = &format_of(loader_->manifest());
  }

  // The same files, for another choice of fields.
  [[nodiscard]] Reader sharing() const { return Reader(loader_, format_); }

  [[nodiscard]] const std::string& self_hash() const { return loader_->self_hash(); }
  [[nodiscard]] nb::bytes file() const {
    const std::string file = loader_->lone_file();
    return nb::bytes(file.data(), file.size());
  }

  // `decodings`: "", "hwc" or "chw" for each name.
  void select(const std::vector<std::string>& names, const std::vector<std::string>& decodings) {
    const Schema& schema = loader_->manifest().schema;
    if (decodings.size() != names.size()) {
      throw Error(Code::usage, "{} names of fields, but {} ways of decoding", names.size(),
                  decodings.size());
    }
    std::vector<std::size_t> first_sides;
    for (std::size_t next = 0; const Field& field : schema.fields) {
      first_sides.push_back(next);
      if (field.is_ragged()) next += field.shape.size();
    }
    fields_.clear();
    wanted_.assign(schema.fields.size(), false);
    for (std::size_t i = 0; i < names.size(); ++i) {
      OutputField field;
      field.name = nb::steal(PyUnicode_InternFromString(names[i].c_str()));
      if (!decodings[i].empty()) field.decoding = pixel_order_named(decodings[i]);
      if (names[i] != "key") {
        field.field = schema.find(names[i]);
        if (!field.field) throw no_such_field(names[i]);
        wanted_[*field.field] = true;
        const Field& described = schema.fields[*field.field];
        field.kind = described.kind;
        if (described.kind == Kind::tensor) {
          field.dtype = numpy_dtype(described.dtype.descr());
          field.shape = shape_object(described);
          if (!raw_dtype_name(described.dtype.descr()).empty())
            field.as_numbers = import_name("shale._raw_dtypes", "as_numbers");
          if (described.is_ragged()) field.first_side = first_sides[*field.field];
        }
        field.holds_texts = described.kind == Kind::list && described.holds_text();
      }
      fields_.push_back(std::move(field));
    }
  }

  // In the order requested; read in the order of the dataset, a part after the other. `into`: by
  // name of a field the arrays that its tensors are read into, one for each row.
  [[nodiscard]] nb::list read(const std::vector<std::uint64_t>& rows,
                              const std::optional<nb::dict>& into) {
    const std::vector<nb::object> arrays =
        into ? arrays_of_fields(*into) : std::vector<nb::object>();
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t place) { return rows[place]; });
    const nb::object samples = nb::steal(PyList_New(static_cast<Py_ssize_t>(rows.size())));
    if (!samples.is_valid()) throw nb::python_error();
    CallingThread caller;
    const Events events = stopped_by_signals(caller);
    std::vector<std::uint64_t> part;
    for (std::size_t begin = 0; begin < order.size(); begin += part.size()) {
      const std::span<const std::size_t> places =
          std::span(order).subspan(begin, std::min(kRowsAtOnce, order.size() - begin));
      part.clear();
      for (const std::size_t place : places) part.push_back(rows[place]);
      const nb::list made = read_part(part, {arrays, places}, events);
      for (std::size_t i = 0; i < places.size(); ++i) {
        PyList_SetItem(samples.ptr(), static_cast<Py_ssize_t>(places[i]),
                       nb::object(made[i]).release().ptr());
      }
      if (or_parked(PyErr_CheckSignals) != 0) throw nb::python_error();
    }
    return nb::borrow<nb::list>(samples);
  }

  // None for a missing one.
  [[nodiscard]] nb::list values(const std::vector<std::uint64_t>& rows,
                                const std::string& name) const {
    const std::optional<std::size_t> field = loader_->manifest().schema.find(name);
    if (!field) throw no_such_field(name);
    std::vector<std::optional<OpenValue>> opened =
        unlocked(*loader_, [&] { return loader_->open_values(rows, *field); });
    nb::list list;
    for (std::optional<OpenValue>& value : opened)
      list.append(value ? nb::cast(PlacedValue(loader_, std::move(*value))) : nb::none());
    return list;
  }

  // How many elements a list has in each row; None for a missing one.
  [[nodiscard]] nb::list counts(const std::vector<std::uint64_t>& rows,
                                const std::string& name) const {
    const std::size_t field = list_field(name);
    nb::list list;
    for (const LocatedSample& sample : locate_lists(rows)) {
      const FieldPlace& place = sample.place.cells[field].place;
      list.append(place.offset == kMissing ? nb::none() : nb::object(nb::int_(place.count)));
    }
    return list;
  }

  // Of the list of a row those elements, for each request: (row, field, numbers). All are read at
  // once.
  using ElementRequest = std::tuple<std::uint64_t, std::string, std::vector<std::uint64_t>>;
  [[nodiscard]] nb::list elements(const std::vector<ElementRequest>& requests) const {
    std::vector<std::uint64_t> rows;
    std::vector<std::size_t> fields;
    for (const auto& [row, name, numbers] : requests) {
      rows.push_back(row);
      fields.push_back(list_field(name));
    }
    const std::vector<LocatedSample> samples = locate_lists(rows);
    std::vector<Fetch> fetches;
    unlocked(*loader_, [&] {
      for (std::size_t i = 0; i < requests.size(); ++i) {
        for (const FieldPlace& place :
             loader_->elements(samples[i], fields[i], std::get<2>(requests[i])))
          fetches.push_back({&samples[i], fields[i], {}, place});
      }
    });
    const nb::list values = fetch_bytes(fetches);
    nb::list lists;
    std::size_t next = 0;
    for (const auto& [row, name, numbers] : requests) {
      nb::list list;
      for (std::size_t i = 0; i < numbers.size(); ++i) list.append(values[next++]);
      lists.append(std::move(list));
    }
    return lists;
  }

  [[nodiscard]] nb::object find(const nb::bytes& key) const {
    const std::string wanted = raw(key);
    CallingThread caller;
    const std::optional<std::uint64_t> row =
        unlocked(*loader_, [&] { return loader_->find(wanted, stopped_by_signals(caller)); });
    return row ? nb::object(nb::int_(*row)) : nb::none();
  }

  [[nodiscard]] nb::object column(const std::string& name) const {
    const ColumnPlace column = loader_->column(name);
    nb::object array = empty_array()(loader_->size(), column.descr);
    const std::span<std::byte> memory = memory_of_array(array);
    // Numbers out of shards come by the same parts as the loader reads them.
    const std::uint64_t rows = column.field ? kColumnBytes / column.item_bytes : kIndexRowsAtOnce;
    CallingThread caller;
    const Events events = stopped_by_signals(caller);
    unlocked(*loader_, [&] {
      for (std::uint64_t begin = 0; begin < loader_->size(); begin += rows) {
        const std::uint64_t count = std::min(rows, loader_->size() - begin);
        loader_->read_column(column, begin,
                             memory.subspan(begin * column.item_bytes, count * column.item_bytes));
        events.stop_if_asked();
      }
    });
    return array;
  }

  [[nodiscard]] nb::list schema() const {
    nb::list list;
    for (const Field& field : loader_->manifest().schema.fields) {
      nb::dict made = described(field, loader_->manifest().layout.rows);
      made["name"] = field.name;
      list.append(std::move(made));
    }
    return list;
  }

  // Of each field, the one text for what it holds.
  [[nodiscard]] nb::list types() const {
    nb::list list;
    for (const Field& field : loader_->manifest().schema.fields)
      list.append(field_type_text(field));
    return list;
  }

  [[nodiscard]] nb::list classes() const {
    nb::list list;
    for (const std::string& name : loader_->manifest().classes) list.append(fs_text(name));
    return list;
  }

  [[nodiscard]] std::uint64_t size() const { return loader_->size(); }
  [[nodiscard]] std::string format() const {
    const Manifest& manifest = loader_->manifest();
    return manifest.source.kind == kJoined ? "join" : manifest.format;
  }
  [[nodiscard]] nb::object key(std::uint64_t row) const {
    return text_of_bytes(loader_->key_of(row));
  }
  [[nodiscard]] std::string shard_name(std::uint64_t row) const {
    return loader_->shard_name_of(row);
  }

 private:
  Reader(std::shared_ptr<const Loader> loader, const Format* format)
      : loader_(std::move(loader)), format_(format) {}

  [[nodiscard]] std::size_t list_field(const std::string& name) const {
    const Schema& schema = loader_->manifest().schema;
    const std::optional<std::size_t> field = schema.find(name);
    if (field && schema.fields[*field].kind == Kind::list) return *field;
    throw Error(Code::not_found, "the dataset has no list '{}'", printable(name));
  }

  [[nodiscard]] std::vector<LocatedSample> locate_lists(
      const std::vector<std::uint64_t>& rows) const {
    return unlocked(*loader_, [&] { return loader_->locate(rows); });
  }

  // A bytes object for each; fills in where they are read to.
  [[nodiscard]] nb::list fetch_bytes(std::vector<Fetch>& fetches) const {
    nb::list values;
    for (Fetch& fetch : fetches) {
      FreshBytes value(fetch.place().length);
      fetch.into = value.memory;
      values.append(std::move(value.object));
    }
    CallingThread caller;
    const Events events = stopped_by_signals(caller);
    unlocked(*loader_, [&] { fetch_in_parts(fetches, events); });
    return values;
  }

  // A signal is heard between two parts.
  void fetch_in_parts(std::span<const Fetch> left, const Events& events) const {
    while (!left.empty()) {
      std::size_t count = 0;
      for (std::uint64_t bytes = 0; count < left.size() && bytes < kBytesAtOnce; ++count)
        bytes += left[count].into.size();
      loader_->fetch(left.first(count));
      left = left.subspan(count);
      if (!left.empty()) events.stop_if_asked();
    }
  }

  [[nodiscard]] std::vector<nb::object> arrays_of_fields(const nb::dict& by_name) const {
    std::vector<nb::object> arrays;
    for (const OutputField& field : fields_)
      arrays.push_back(nb::object(by_name.attr("get")(field.name)));
    return arrays;
  }

  [[nodiscard]] nb::list read_part(std::span<const std::uint64_t> rows, GivenArrays given,
                                   const Events& events) try {
    std::vector<LocatedSample> located;
    {
      const Unlocked unlocked;
      located = loader_->locate(rows, wanted_);
    }
    SampleObjects objects(*loader_, located, fields_, given, memory_);
    {
      const Unlocked unlocked;
      fetch_in_parts(objects.fetches(), events);
      objects.open_images();
    }
    if (objects.has_images()) {
      objects.make_pixels();
      const Unlocked unlocked;
      objects.decode_images(events);
    }
    return objects.finish(*format_, loader_->manifest().layout.has_keys);
  } catch (Error& error) {
    raise_with_sample(error, *loader_);
  }

  std::shared_ptr<const Loader> loader_;
  const Format* format_ = nullptr;
  std::vector<OutputField> fields_;
  std::vector<bool> wanted_;  // fields of the schema that are among them
  MemoryPool memory_;
};

}  // namespace

void bind_reader(nb::module_& module) {
  nb::class_<PlacedValue>(module, "Value")
      .def("read", &PlacedValue::read, "begin"_a, "count"_a)
      .def_prop_ro("size", &PlacedValue::size)
      .def_prop_ro("place", &PlacedValue::place);
  nb::class_<Reader>(module, "Reader")
      .def(nb::init<const std::vector<nb::bytes>&, const nb::bytes&, const std::string&,
                    std::optional<bool>, const std::optional<std::string>&,
                    const std::optional<std::string>&, const std::string&,
                    const std::optional<std::string>&, const std::optional<std::string>&,
                    const std::optional<std::string>&, const std::optional<std::string>&,
                    std::optional<std::uint64_t>>(),
           "words"_a, "index_folder"_a, "cache"_a, "verify"_a.none(), "parse"_a.none(),
           "database"_a.none(), "opened_before"_a, "on"_a = nb::none(), "partners"_a = nb::none(),
           "axis"_a = nb::none(), "raw"_a = nb::none(), "raw_offset"_a = nb::none())
      .def("select", &Reader::select, "names"_a, "decodings"_a)
      .def("sharing", &Reader::sharing)
      .def("read", &Reader::read, "rows"_a, "into"_a = nb::none())
      .def("values", &Reader::values, "rows"_a, "field"_a)
      .def("counts", &Reader::counts, "rows"_a, "field"_a)
      .def("elements", &Reader::elements, "requests"_a)
      .def("find", &Reader::find, "key"_a)
      .def("column", &Reader::column, "name"_a)
      .def("key", &Reader::key, "row"_a)
      .def("shard_name", &Reader::shard_name, "row"_a)
      .def("__len__", &Reader::size)
      .def_prop_ro("schema", &Reader::schema)
      .def_prop_ro("types", &Reader::types)
      .def_prop_ro("classes", &Reader::classes)
      .def_prop_ro("format", &Reader::format)
      .def_prop_ro("file", &Reader::file)
      .def_prop_ro("self_hash", &Reader::self_hash);
  module.def("decode_rgb8", &decode_rgb8, "data"_a, "order"_a);
  module.def("file_splits", &file_splits, "path"_a);
  module.def("io_backend", [] { return std::string(Loader::io_backend()); });
}

}  // namespace shale::python
