#include "python/bindings/sample_objects.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/shards/dataset_reader.hpp"

#include "python/bindings/interpreter.hpp"
#include "python/bindings/plain_objects.hpp"

namespace nb = nanobind;

namespace shale::python {
namespace {

// More than this is given back after the batch.
constexpr std::uint64_t kMostKeptBytes = 64 << 20;

bool is_missing(const LocatedSample& sample, const OutputField& field) {
  const FieldPlace& place = field.field ? sample.place.cells[*field.field].place : sample.place.key;
  return place.offset == kMissing;
}

// Values that Python takes as they lie on the disk.
bool is_read_in_place(const OutputField& field) {
  return field.kind == Kind::tensor || (field.kind == Kind::bytes && !field.decoding);
}

Error wrong_shape(const Loader& loader, const LocatedSample& sample, std::size_t field,
                  std::span<const std::uint64_t> shape) {
  const Field& described = loader.manifest().schema.fields[field];
  Error error = shale::wrong_shape(described, shape, Loader::bytes_of_value(sample, field));
  add_place(error, loader, sample, field);
  return error;
}

// The shape of a ragged tensor that is there: so many sides of the sample from `first` on. Errors:
// Code::damaged unless it is one that the schema describes, of as many bytes as the index says.
std::span<const std::uint64_t> checked_shape(const Loader& loader, const LocatedSample& sample,
                                             std::size_t field, std::size_t first) {
  const Field& described = loader.manifest().schema.fields[field];
  const std::span<const std::uint64_t> shape =
      std::span(sample.place.sides).subspan(first, described.shape.size());
  if (!described.takes_tensor(shape, Loader::bytes_of_value(sample, field)))
    throw wrong_shape(loader, sample, field, shape);
  return shape;
}

nb::object bytes_object(Bytes bytes) {
  return nb::steal(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes.data()),
                                             static_cast<Py_ssize_t>(bytes.size())));
}

nb::object text_object(Bytes text, const char* errors) {
  PyObject* decoded = PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(text.data()),
                                           static_cast<Py_ssize_t>(text.size()), errors);
  if (decoded == nullptr && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError) != 0) {
    PyErr_Clear();
    throw Error(Code::damaged, "{} bytes of text are not UTF-8", text.size());
  }
  if (decoded == nullptr) throw nb::python_error();
  return nb::steal(decoded);
}

}  // namespace

nb::object empty_array() { return import_name("numpy", "empty"); }

nb::object empty_pixels(nb::handle empty, ImageExtent extent, PixelOrder order) {
  const nb::object shape = order == PixelOrder::chw
                               ? nb::make_tuple(3, extent.height, extent.width)
                               : nb::make_tuple(extent.height, extent.width, 3);
  return empty(shape, "u1");
}

std::span<std::byte> memory_of_array(nb::handle array) {
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE) == 0) {
    const std::span<std::byte> memory(static_cast<std::byte*>(view.buf),
                                      static_cast<std::size_t>(view.len));
    PyBuffer_Release(&view);  // the array is ours alone until it is handed out
    return memory;
  }
  PyErr_Clear();  // dates have no buffer
  const auto address = nb::cast<std::uintptr_t>(array.attr("__array_interface__")["data"][0]);
  return {reinterpret_cast<std::byte*>(address), nb::cast<std::size_t>(array.attr("nbytes"))};
}

MemoryPool::Scratch MemoryPool::take(std::uint64_t bytes) {
  Scratch scratch;
  if (!free_.empty()) {
    scratch = std::move(free_.back());
    free_.pop_back();
  }
  if (scratch.capacity < bytes) {
    scratch.bytes.reset();
    scratch.bytes = std::make_unique_for_overwrite<std::byte[]>(bytes);
    scratch.capacity = bytes;
  }
  return scratch;
}

void MemoryPool::put_back(Scratch scratch) {
  if (scratch.capacity <= kMostKeptBytes) free_.push_back(std::move(scratch));
}

void MemoryPool::keep_backed(const std::byte* highest) {
  constexpr std::size_t kBlockBytes = 64 << 10;  // too much for most gaps, and never touched
  const std::less<> is_below;
  if (heap_end_ != nullptr && is_below(highest, heap_end_.get())) return;
  auto block = std::make_unique_for_overwrite<std::byte[]>(kBlockBytes);
  if (is_below(highest, block.get())) heap_end_ = std::move(block);
}

SampleObjects::SampleObjects(const Loader& loader, std::span<const LocatedSample> samples,
                             std::span<const OutputField> fields, GivenArrays given,
                             MemoryPool& pool)
    : loader_(loader), samples_(samples), fields_(fields), given_(given), pool_(pool) {
  const NoCollection no_collection;
  std::uint64_t scratch_bytes = 0;
  for (const OutputField& field : fields_) {
    if (field.kind == Kind::tensor || field.decoding) empty_ = empty_array();
    if (!is_located(field.kind) || is_read_in_place(field)) continue;
    for (const LocatedSample& sample : samples_)
      scratch_bytes += Loader::bytes_of_value(sample, field.field);
  }
  scratch_ = pool_.take(scratch_bytes);
  std::span<std::byte> scratch(scratch_.bytes.get(), scratch_bytes);
  cells_.reserve(samples_.size() * fields_.size());
  const std::byte* highest = nullptr;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const LocatedSample& sample = samples_[i];
    for (std::size_t k = 0; k < fields_.size(); ++k) {
      const OutputField& field = fields_[k];
      cells_.push_back(make_cell(i, k, scratch));
      const Cell& cell = cells_.back();
      if (field.decoding && !is_missing(sample, field))
        images_.push_back({cells_.size() - 1, sample.row, *field.decoding, std::nullopt, {}});
      if (cell.bytes.empty()) continue;
      fetches_.push_back({&sample, field.field, cell.bytes});
      if (cell.object.is_valid())
        highest = std::max<const std::byte*>(highest, cell.bytes.data(), std::less<>());
    }
  }
  if (highest != nullptr) pool_.keep_backed(highest);
}

SampleObjects::~SampleObjects() { pool_.put_back(std::move(scratch_)); }

SampleObjects::Cell SampleObjects::make_cell(std::size_t sample_number, std::size_t field_number,
                                             std::span<std::byte>& scratch) const {
  const LocatedSample& sample = samples_[sample_number];
  const OutputField& field = fields_[field_number];
  if (!is_located(field.kind) || is_missing(sample, field)) return {};
  const std::uint64_t bytes = Loader::bytes_of_value(sample, field.field);
  Cell cell;
  if (!is_read_in_place(field)) {
    cell.bytes = scratch.first(bytes);
    scratch = scratch.subspan(bytes);
  } else if (field.kind == Kind::bytes) {
    FreshBytes fresh(bytes);
    cell = {std::move(fresh.object), fresh.memory};
  } else {
    const bool is_given = !given_.lists.empty() && !given_.lists[field_number].is_none();
    cell.object = is_given ? nb::object(given_.lists[field_number][given_.places[sample_number]])
                           : fresh_array(sample, field);
    cell.bytes = memory_of_array(cell.object);
    if (cell.bytes.size() != bytes)
      throw wrong_tensor_bytes(loader_, sample, field.field, bytes, cell.bytes.size());
  }
  return cell;
}

// Of the shape that the index gives, if its bytes are as many.
nb::object SampleObjects::fresh_array(const LocatedSample& sample, const OutputField& field) const {
  if (!field.first_side) return empty_(field.shape, field.dtype);
  const std::span<const std::uint64_t> shape =
      checked_shape(loader_, sample, *field.field, *field.first_side);
  nb::list sides;
  for (const std::uint64_t side : shape) sides.append(side);
  try {
    return empty_(nb::tuple(sides), field.dtype);
  } catch (const nb::python_error& error) {
    // Beside a side of no length others may be longer than NumPy takes.
    if (!error.matches(PyExc_ValueError) && !error.matches(PyExc_OverflowError)) throw;
    throw wrong_shape(loader_, sample, *field.field, shape);
  }
}

void SampleObjects::open_images() {
  for (Image& image : images_) {
    try {
      image.decoder = RgbDecoder::open(cells_[image.cell].bytes, kMostPixelBytes);
    } catch (Error& error) {
      error.for_sample({}, image.row);
      throw;
    }
  }
}

void SampleObjects::make_pixels() {
  const NoCollection no_collection;
  const std::byte* highest = nullptr;
  for (Image& image : images_) {
    if (!image.decoder) continue;
    Cell& cell = cells_[image.cell];
    cell.object = empty_pixels(empty_, image.decoder->extent(), image.order);
    image.pixels = memory_of_array(cell.object);
    highest = std::max<const std::byte*>(highest, image.pixels.data(), std::less<>());
  }
  if (highest != nullptr) pool_.keep_backed(highest);
}

void SampleObjects::decode_images(const Events& events) {
  for (Image& image : images_) {
    if (!image.decoder) continue;
    events.stop_if_asked();
    try {
      std::move(*image.decoder).decode(image.order, image.pixels);
    } catch (Error& error) {
      error.for_sample({}, image.row);
      throw;
    }
    image.decoder.reset();
  }
}

nb::list SampleObjects::finish(const Format& format, bool has_keys) {
  const NoCollection no_collection;
  nb::list list;
  auto cell = cells_.begin();
  for (const LocatedSample& sample : samples_) {
    nb::dict made;
    for (const OutputField& field : fields_) {
      try {
        made[field.name] = value_of(sample, field, *cell++, format, has_keys);
      } catch (Error& error) {
        add_place(error, loader_, sample, field.field);
        if (error.code() == Code::damaged)
          error.hint(
              "run 'shale verify' to find out whether the shard changed after it was written");
        throw;
      }
    }
    list.append(std::move(made));
  }
  return list;
}

nb::object SampleObjects::value_of(const LocatedSample& sample, const OutputField& field,
                                   Cell& cell, const Format& format, bool has_keys) const {
  if (!field.field) {
    return has_keys ? text_object(cell.bytes, "surrogateescape")
                    : nb::object(nb::str(std::to_string(sample.row).c_str()));
  }
  const IndexCell& row = sample.place.cells[*field.field];
  switch (field.kind) {
    case Kind::integer:
      return row.lacks_number ? nb::none() : nb::object(nb::int_(row.integer));
    case Kind::real:
      return row.lacks_number ? nb::none() : nb::object(nb::float_(row.real));
    case Kind::text:
      return is_missing(sample, field) ? nb::none() : text_object(cell.bytes, "strict");
    case Kind::list: {
      if (is_missing(sample, field)) return nb::none();
      nb::list list;
      const std::span<const FieldPlace> elements = elements_of_field(
          sample.place.elements, sample.place.cells, loader_.manifest().schema, *field.field);
      for (const Bytes element : split_list(format, cell.bytes, row.place, elements))
        list.append(field.holds_texts ? text_object(element, "strict") : bytes_object(element));
      return list;
    }
    case Kind::bytes:
    case Kind::tensor:
      break;
  }
  if (is_missing(sample, field)) return nb::none();
  if (field.as_numbers.is_valid()) return call_python(field.as_numbers, cell.object);
  return cell.object.is_valid() ? std::move(cell.object) : bytes_object(cell.bytes);
}

}  // namespace shale::python
