#include "shale/trees/hdf5_sample_values.hpp"

#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"

namespace shale {
namespace {

constexpr std::uint32_t kMostAxes = 32;  // of HDF5

}  // namespace

std::vector<std::byte> encode_sample_value(const Hdf5SampleValue& value) {
  ByteWriter out;
  out.write(static_cast<std::uint8_t>(Hdf5SampleMessage::value));
  out.write(static_cast<std::uint8_t>(value.form));
  out.write(static_cast<std::uint8_t>(value.is_utf8 ? 1 : 0));
  out.write(value.bytes);
  out.write(static_cast<std::uint32_t>(value.shape.size()));
  for (const std::uint64_t side : value.shape) out.write(side);
  for (const std::string* text : {&value.path, &value.descr, &value.type_name}) {
    out.write(static_cast<std::uint32_t>(text->size()));
    out.write_text(*text);
  }
  return out.take();
}

void Hdf5SampleReceiver::take(Bytes message) {
  ByteReader in(message, "the samples of an HDF5 file");
  const auto kind = static_cast<Hdf5SampleMessage>(in.read_u8());
  const Bytes rest = message.subspan(1);
  if (kind == Hdf5SampleMessage::other) return other_(std::string(as_text(rest)));
  if (kind == Hdf5SampleMessage::lost && walk_.lose) {
    std::string name(as_text(in.read_bytes(in.read_u32())));
    // The one at hand, or the next, of which nothing came.
    if (sample_ && sample_->name == name) sample_.reset();
    finish();
    return walk_.lose(std::move(name), std::string(as_text(in.read_bytes(in.remaining()))));
  }
  if (kind == Hdf5SampleMessage::sample) {
    finish();
    sample_.emplace().name = as_text(rest);
    held_bytes_ = 0;
    return;
  }
  if (!sample_) throw Error(Code::damaged, "a value of an HDF5 file that is of no sample");
  if (kind == Hdf5SampleMessage::value) return take_value(in);
  const bool fits =
      kind == Hdf5SampleMessage::bytes && !sample_->values.empty() &&
      rest.size() <= sample_->values.back().bytes - sample_->values.back().data.size();
  if (!fits) throw Error(Code::damaged, "bytes of an HDF5 file that are of no value");
  std::vector<std::byte>& data = sample_->values.back().data;
  data.insert(data.end(), rest.begin(), rest.end());
}

void Hdf5SampleReceiver::take_value(ByteReader& in) {
  Hdf5SampleValue value;
  const std::uint8_t form = in.read_u8();
  value.is_utf8 = in.read_u8() != 0;
  value.bytes = in.read_u64();
  const std::uint32_t sides = in.read_u32();
  if (form > static_cast<std::uint8_t>(Hdf5SampleValue::Form::other) || sides > kMostAxes)
    throw Error(Code::damaged, "a value of an HDF5 file with an invalid description");
  value.form = static_cast<Hdf5SampleValue::Form>(form);
  for (std::uint32_t i = 0; i < sides; ++i) value.shape.push_back(in.read_u64());
  for (std::string* text : {&value.path, &value.descr, &value.type_name})
    *text = as_text(in.read_bytes(in.read_u32()));
  held_bytes_ += walk_.reads_values ? value.bytes : 0;
  if (value.bytes > walk_.most_bytes || held_bytes_ > walk_.most_bytes ||
      sample_->values.size() > 2 * kMostObjectsOfASample) {
    throw Error(Code::limit, "the values of a sample have more than {}",
                format_size(walk_.most_bytes))
        .for_sample(sample_->name)
        .hint("pass a larger --memory");
  }
  sample_->values.push_back(std::move(value));
}

void Hdf5SampleReceiver::finish() {
  if (sample_) take_(std::move(*sample_));
  sample_.reset();
}

}  // namespace shale
