#include <algorithm>
#include <memory>
#include <utility>

#include "shale/api/api_request.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/ops/sample_writer.hpp"
#include "shale/writer.hpp"

namespace shale {
namespace {

Field field_of(const FieldInfo& info) {
  Field field{.name = info.name,
              .kind = info.kind,
              .shape = info.shape,
              .is_optional = info.is_optional,
              .elements = info.elements,
              .is_json = info.is_json};
  if (!info.dtype.empty()) field.dtype = DType::parse(info.dtype);
  return field;
}

// What a view is for a field. One of another kind stays as it is: check_sample says so.
Value value_of(const ValueView& view) {
  if (const auto* text = std::get_if<std::string_view>(&view)) return as_bytes(*text);
  if (const auto* integer = std::get_if<std::int64_t>(&view)) return *integer;
  if (const auto* real = std::get_if<double>(&view)) return *real;
  if (const auto* list = std::get_if<std::vector<std::span<const std::byte>>>(&view)) return *list;
  return std::get<std::span<const std::byte>>(view);
}

// The sides of the ragged tensors, as Sample has them. Errors: Code::schema for a tensor without
// its shape; whether that is one of its field, and of its bytes, check_sample says.
std::vector<std::uint64_t> sides_of(const SampleView& view, const Schema& schema) {
  std::vector<std::uint64_t> sides;
  for (std::size_t i = 0; i < std::min(view.values.size(), schema.fields.size()); ++i) {
    const Field& field = schema.fields[i];
    if (!field.is_ragged()) continue;
    std::vector<std::uint64_t> shape(field.shape.size());
    if (view.values[i]) {
      if (i >= view.shapes.size() || view.shapes[i].size() != shape.size()) {
        throw Error(Code::schema, "field '{}' is given without its shape, {}",
                    printable(field.name), shape_text(field.shape))
            .hint("write a SampleView, whose shapes has a side for each of these");
      }
      shape = view.shapes[i];
    }
    sides.insert(sides.end(), shape.begin(), shape.end());
  }
  return sides;
}

}  // namespace

Writer::Writer(const WriterOptions& options)
    : writer_(std::make_unique<SampleWriter>(
          request_to_write(options.to, {.is_append = options.append}, options.resources),
          options.resume)) {
  Schema schema;
  for (const FieldInfo& info : options.fields) schema.fields.push_back(field_of(info));
  schema.has_keys = options.has_keys;
  schema_ = std::make_unique<const Schema>(schema);
  writer_->begin(std::move(schema), options.classes);
}

Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

void Writer::write(std::string_view key, const std::vector<ValueView>& values,
                   const Callbacks& callbacks) {
  write({.key = key, .values = {values.begin(), values.end()}}, callbacks);
}

void Writer::write(const SampleView& view, const Callbacks& callbacks) {
  Sample sample{.key = std::string(view.key), .values = {}};
  sample.values.reserve(view.values.size());
  for (const std::optional<ValueView>& value : view.values)
    sample.values.push_back(value ? value_of(*value) : Value(std::monostate()));
  try {
    sample.sides = sides_of(view, *schema_);
  } catch (Error& error) {
    error.for_sample(sample.key, samples());
    throw;
  }
  check_sample(sample, *schema_);  // the threads would find it too late to leave out one sample
  if (!writer_->try_add(sample)) writer_->add(sample, Events{callbacks});
}

std::uint64_t Writer::samples() const { return writer_->samples(); }

std::uint64_t Writer::resumed_from() const { return writer_->resumed(); }

WrittenSet Writer::finish(const Callbacks& callbacks) {
  return written_set(writer_->finish(Events{callbacks}));
}

}  // namespace shale
