#include <memory>
#include <utility>

#include "shale/api/api_request.hpp"
#include "shale/ops/sample_writer.hpp"
#include "shale/writer.hpp"

namespace shale {
namespace {

Field field_of(const FieldInfo& info) {
  Field field{.name = info.name, .kind = info.kind, .shape = info.shape};
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

}  // namespace

Writer::Writer(const WriterOptions& options)
    : writer_(
          std::make_unique<SampleWriter>(request_to_write(options.to, false, options.resources))) {
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
  Sample sample{.key = std::string(key), .values = {}};
  sample.values.reserve(values.size());
  for (const ValueView& view : values) sample.values.push_back(value_of(view));
  check_sample(sample, *schema_);  // the threads would find it too late to leave out one sample
  if (!writer_->try_add(sample)) writer_->add(sample, Events{callbacks});
}

std::uint64_t Writer::samples() const { return writer_->samples(); }

WrittenSet Writer::finish(const Callbacks& callbacks) {
  return written_set(writer_->finish(Events{callbacks}));
}

}  // namespace shale
