#include "shale/layouts/layout_values.hpp"

#include <variant>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/wire/pickle_writer.hpp"

namespace shale {
namespace {

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}

Record record_of(const Sample& sample, const Schema& schema) {
  Record record;
  record.key = sample.key;
  record.parts.resize(1);
  record.row.cells.resize(schema.fields.size());
  if (schema.fields.size() == 1) return record;
  record.row.cells[places_in(schema).label].integer =
      std::get<std::int64_t>(sample.values[places_in(schema).label]);
  return record;
}

void append_text(Blob& blob, std::string_view text) { blob.append_copy(as_bytes(text)); }

// The image's place, behind what has been written.
void append_image(Record& record, std::size_t field, Bytes image) {
  record.row.cells[field].place = {
      .offset = record.parts[0].size(), .length = image.size(), .crc32c = crc32c(image)};
  record.parts[0].append_view(image);
}

}  // namespace

ImageAndLabel places_in(const Schema& schema) {
  if (schema.fields.size() == 1) return {};
  const bool label_first = schema.fields[0].kind == Kind::integer;
  return {label_first ? 1U : 0U, label_first ? 0U : 1U};
}

std::string msgpack_number(std::uint8_t tag, std::uint64_t number, int bytes) {
  std::string text(1, static_cast<char>(tag));
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(number >> (8 * i));
  return text;
}
std::string msgpack_array_header(std::uint64_t count) { return msgpack_number(0xdd, count, 4); }
std::string msgpack_bin_header(std::uint64_t bytes) { return msgpack_number(0xc6, bytes, 4); }

Record encode_pickled_pair(const Sample& sample, const Schema& schema) {
  const ImageAndLabel at = places_in(schema);
  Record record = record_of(sample, schema);
  const Bytes image = std::get<Bytes>(sample.values[at.image]);
  PickleWriter pickle(3);
  pickle.begin_bytes(image.size());
  record.parts[0].append_copy(pickle.take());
  append_image(record, at.image, image);
  pickle.write_integer(record.row.cells[at.label].integer);
  pickle.end_tuple_of_2();
  pickle.stop();
  record.parts[0].append_copy(pickle.take());
  return record;
}

Record encode_datum(const Sample& sample, const Schema& schema) {
  const ImageAndLabel at = places_in(schema);
  Record record = record_of(sample, schema);
  const Bytes image = std::get<Bytes>(sample.values[at.image]);
  const std::int64_t label = record.row.cells[at.label].integer;
  if (label != static_cast<std::int32_t>(label)) {
    throw Error(Code::limit, "label {} does not fit the 32 bits of a Datum", label)
        .for_sample(sample.key);
  }
  append_text(record.parts[0], "\x22" + varint(image.size()));
  append_image(record, at.image, image);
  append_text(record.parts[0], "\x28" + varint(static_cast<std::uint64_t>(label)) + "\x38\x01");
  return record;
}

Record encode_image(const Sample& sample, const Schema& schema) {
  const ImageAndLabel at = places_in(schema);
  Record record = record_of(sample, schema);
  append_image(record, at.image, std::get<Bytes>(sample.values[at.image]));
  return record;
}

Record encode_video(const Sample& sample, const Schema& schema) {
  const ImageAndLabel at = places_in(schema);
  Record record = record_of(sample, schema);
  if (sample.key.find('/') == std::string::npos || sample.key.front() == '/') {
    throw Error(Code::schema, "layout coclr wants keys such as Class/video").for_sample(sample.key);
  }
  const auto& frames = std::get<std::vector<Bytes>>(sample.values[at.image]);
  append_text(record.parts[0], msgpack_array_header(frames.size()));
  for (const Bytes frame : frames) {
    append_text(record.parts[0], msgpack_bin_header(frame.size()));
    record.parts[0].append_view(frame);
  }
  record.row.cells[at.image].place = {.offset = 0,
                                      .length = record.parts[0].size(),
                                      .count = static_cast<std::uint32_t>(frames.size())};
  return record;
}

}  // namespace shale
