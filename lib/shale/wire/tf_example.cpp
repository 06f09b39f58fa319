#include "shale/wire/tf_example.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/wire/protobuf_cursor.hpp"

namespace shale {
namespace {

// Tags of length-delimited fields: number << 3 | 2.
constexpr std::uint8_t kField1 = 0x0a, kField2 = 0x12, kField3 = 0x1a;

constexpr std::uint64_t varint_bytes(std::uint64_t value) {
  return (static_cast<std::uint64_t>(std::bit_width(value | 1)) + 6) / 7;
}

// Bytes of a length-delimited field with a one-byte tag.
constexpr std::uint64_t delimited_bytes(std::uint64_t length) {
  return 1 + varint_bytes(length) + length;
}

std::uint64_t packed_bytes(std::span<const std::int64_t> integers) {
  std::uint64_t bytes = 0;
  for (const std::int64_t value : integers)
    bytes += varint_bytes(static_cast<std::uint64_t>(value));
  return bytes;
}

// Bytes of the body of the list message.
std::uint64_t list_bytes(const Feature& feature) {
  if (const auto* one = std::get_if<Bytes>(&feature.value)) return delimited_bytes(one->size());
  if (const auto* one = std::get_if<Unread>(&feature.value)) return delimited_bytes((*one)->size());
  if (const auto* integers = std::get_if<std::span<const std::int64_t>>(&feature.value)) {
    return integers->empty() ? 0 : delimited_bytes(packed_bytes(*integers));
  }
  if (const auto* floats = std::get_if<PackedFloats>(&feature.value))
    return floats->bytes.size() == 0 ? 0 : delimited_bytes(floats->bytes.size());
  std::uint64_t bytes = 0;
  if (const auto* unread = std::get_if<std::span<const Unread>>(&feature.value)) {
    for (const Unread& element : *unread) bytes += delimited_bytes(element->size());
    return bytes;
  }
  for (const Bytes element : std::get<std::span<const Bytes>>(feature.value)) {
    bytes += delimited_bytes(element.size());
  }
  return bytes;
}

std::uint64_t entry_bytes(const Feature& feature, std::uint64_t list_length) {
  return delimited_bytes(feature.name.size()) + delimited_bytes(delimited_bytes(list_length));
}

std::uint64_t features_bytes(std::span<const Feature> features) {
  std::uint64_t bytes = 0;
  for (const Feature& feature : features) {
    bytes += delimited_bytes(entry_bytes(feature, list_bytes(feature)));
  }
  return bytes;
}

// Collects small writes on the stack, so that a tiny sample reaches the blob in one piece and one
// allocation.
class BlobWriter {
 public:
  explicit BlobWriter(Blob& out) : out_(out), begin_(out.size()) {}

  // Bytes written since the start.
  [[nodiscard]] std::uint64_t position() const { return out_.size() - begin_ + filled_; }

  void tag(std::uint8_t tag, std::uint64_t length) {
    make_room();
    put(tag);
    put_varint(length);
  }
  void integer(std::int64_t value) {
    make_room();
    put_varint(static_cast<std::uint64_t>(value));
  }
  void copy(Bytes bytes) {
    if (bytes.size() > buffer_.size() - filled_) flush();
    if (bytes.size() > buffer_.size()) return out_.append_copy(bytes);
    if (bytes.empty()) return;
    std::memcpy(buffer_.data() + filled_, bytes.data(), bytes.size());
    filled_ += bytes.size();
  }
  void borrow(Bytes bytes) {
    flush();
    out_.append_view(bytes);
  }
  void leave(const Unread& bytes) {
    flush();
    out_.append_unread(bytes);
  }
  void flush() {
    out_.append_copy(Bytes(buffer_).first(filled_));
    filled_ = 0;
  }

 private:
  static constexpr std::size_t kLongestTag = 11;  // one byte and a varint of 64 bits

  void make_room() {
    if (buffer_.size() - filled_ < kLongestTag) flush();
  }
  void put(std::uint8_t byte) { buffer_[filled_++] = std::byte{byte}; }
  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) put(static_cast<std::uint8_t>(value | 0x80));
    put(static_cast<std::uint8_t>(value));
  }

  Blob& out_;
  std::uint64_t begin_;
  std::size_t filled_ = 0;
  std::array<std::byte, 1024> buffer_;
};

void write_element(BlobWriter& out, Bytes element, bool is_copied) {
  out.tag(kField1, element.size());
  if (is_copied || element.size() <= kCopiedElementBytes) {
    out.copy(element);
  } else {
    out.borrow(element);
  }
}

void write_element(BlobWriter& out, const Unread& element) {
  out.tag(kField1, element->size());
  out.leave(element);
}

// Writes the body of the list message and says where the value came to lie.
FieldPlace write_list(BlobWriter& out, const Feature& feature) {
  if (const auto* one = std::get_if<Bytes>(&feature.value)) {
    write_element(out, *one, feature.is_copied);
    return {.offset = out.position() - one->size(), .length = one->size(), .count = 1};
  }
  if (const auto* integers = std::get_if<std::span<const std::int64_t>>(&feature.value)) {
    const std::uint64_t packed = packed_bytes(*integers);
    if (!integers->empty()) out.tag(kField1, packed);
    const std::uint64_t begin = out.position();
    for (const std::int64_t value : *integers) out.integer(value);
    return {
        .offset = begin, .length = packed, .count = static_cast<std::uint32_t>(integers->size())};
  }
  if (const auto* one = std::get_if<Unread>(&feature.value)) {
    write_element(out, *one);
    return {.offset = out.position() - (*one)->size(), .length = (*one)->size(), .count = 1};
  }
  if (const auto* floats = std::get_if<PackedFloats>(&feature.value)) {
    const std::uint64_t length = floats->bytes.size();
    if (const Unread* unread = floats->bytes.unread()) {
      write_element(out, *unread);
    } else if (length > 0) {
      write_element(out, floats->bytes.held(), feature.is_copied);
    }
    return {.offset = out.position() - length, .length = length};
  }
  const std::uint64_t begin = out.position();
  std::size_t count = 0;
  if (const auto* unread = std::get_if<std::span<const Unread>>(&feature.value)) {
    for (const Unread& element : *unread) write_element(out, element);
    count = unread->size();
  } else {
    const auto elements = std::get<std::span<const Bytes>>(feature.value);
    for (const Bytes element : elements) write_element(out, element, feature.is_copied);
    count = elements.size();
  }
  return {.offset = begin,
          .length = out.position() - begin,
          .count = static_cast<std::uint32_t>(count)};
}

class ExampleParser {
 public:
  ExampleParser(const ViewBytes& view, std::uint64_t end, std::string_view where)
      : cursor_(view, end, where), end_(end), where_(where) {}

  std::vector<ParsedFeature> parse(std::uint64_t begin) {
    features_.reserve(8);  // what most Examples have
    cursor_.for_each_field(begin, end_, [&](const WireField& features) {
      if (features.is_message(2)) {
        throw Error(Code::unsupported, "holds feature lists, as a tf.train.SequenceExample does")
            .at(where_, features.offset);
      }
      if (!features.is_message(1)) return;
      cursor_.for_each_field(features.begin, features.end, [&](const WireField& entry) {
        if (entry.is_message(1)) parse_entry(entry);
      });
    });
    return std::move(features_);
  }

 private:
  static constexpr std::size_t kIntegersKept = 64;

  void parse_entry(const WireField& entry) {
    if (features_.size() == kMaxFeatures) {
      throw Error(Code::limit, "example has more than {} features", kMaxFeatures)
          .at(where_, entry.offset);
    }
    ParsedFeature feature;
    // The value may come before the name.
    cursor_.for_each_field(entry.begin, entry.end, [&](const WireField& field) {
      if (field.is_message(1)) feature.name = read_name(field);
      if (field.is_message(2)) parse_value(field, feature);
    });
    names_bytes_ += feature.name.size();
    if (names_bytes_ > kMaxFeatureNamesBytes) {
      throw Error(Code::limit, "feature names of an example take more than {} bytes",
                  kMaxFeatureNamesBytes)
          .at(where_, entry.offset);
    }
    features_.push_back(std::move(feature));
  }

  std::string read_name(const WireField& field) {
    const std::uint64_t length = field.bytes();
    if (length > kMaxFeatureNameBytes) {
      throw Error(Code::limit, "feature name of {} bytes, more than the limit of {}", length,
                  kMaxFeatureNameBytes)
          .at(where_, field.offset);
    }
    return std::string(as_text(cursor_.bytes_of(field)));
  }

  void parse_value(const WireField& value, ParsedFeature& feature) {
    cursor_.for_each_field(value.begin, value.end, [&](const WireField& list) {
      if (list.number > 3 || list.type != WireType::delimited) return;
      if (feature.type != ParsedFeature::Type::none) {
        throw Error(Code::unsupported, "feature '{}' is written in several pieces",
                    printable(feature.name))
            .at(where_, list.offset);
      }
      feature.list_offset = list.begin;
      feature.list_length = list.end - list.begin;
      if (list.number == 1) parse_bytes(list, feature);
      if (list.number == 2) parse_floats(list, feature);
      if (list.number == 3) parse_integers(list, feature);
    });
  }

  // Elements are packed, or lie one by one with the wire type of one.
  template <class Take>
  void for_each_element(const WireField& list, WireType of_one, std::string_view list_name,
                        const Take& take) {
    cursor_.for_each_field(list.begin, list.end, [&](const WireField& element) {
      if (!element.is_message(1) && (element.number != 1 || element.type != of_one)) {
        throw Error(Code::damaged, "field {} of wire type {} does not belong in a {}",
                    element.number, static_cast<int>(element.type), list_name)
            .at(where_, element.offset);
      }
      take(element);
    });
  }

  void parse_bytes(const WireField& list, ParsedFeature& feature) {
    feature.type = ParsedFeature::Type::bytes;
    for_each_element(list, WireType::delimited, "BytesList", [&](const WireField& element) {
      if (feature.count++ > 0) return;
      feature.first_offset = element.begin;
      feature.first_length = element.end - element.begin;
    });
  }

  void parse_floats(const WireField& list, ParsedFeature& feature) {
    feature.type = ParsedFeature::Type::floats;
    for_each_element(list, WireType::fixed32, "FloatList", [&](const WireField& element) {
      const std::uint64_t length = element.end - element.begin;
      check_packed_floats(length, where_, element.offset);
      feature.count += length / sizeof(float);
      if (feature.first_length > 0) return;
      feature.first_offset = element.begin;
      feature.first_length = length;
    });
  }

  void parse_integers(const WireField& list, ParsedFeature& feature) {
    feature.type = ParsedFeature::Type::integers;
    for_each_element(list, WireType::varint, "Int64List", [&](const WireField& element) {
      for (std::uint64_t offset = element.begin; offset < element.end;) {
        const ProtobufCursor::Varint varint = cursor_.read_varint(offset, element.end);
        offset = varint.end;
        if (feature.count++ < kIntegersKept) {
          feature.integers.push_back(static_cast<std::int64_t>(varint.value));
        }
      }
    });
  }

  ProtobufCursor cursor_;
  std::uint64_t end_;
  std::string_view where_;
  std::vector<ParsedFeature> features_;
  std::uint64_t names_bytes_ = 0;
};

}  // namespace

void check_packed_floats(std::uint64_t bytes, std::string_view where, std::uint64_t offset) {
  if (bytes % sizeof(float) == 0) return;
  throw Error(Code::damaged, "packed floats take {} bytes, not a multiple of 4", bytes)
      .at(where, offset);
}

std::uint64_t example_bytes(std::span<const Feature> features) {
  return delimited_bytes(features_bytes(features));
}

std::vector<FieldPlace> append_example(std::span<const Feature> features, Blob& out,
                                       std::vector<FieldPlace> reused) {
  std::vector<FieldPlace> places = std::move(reused);
  places.clear();
  places.reserve(features.size());
  BlobWriter writer(out);
  writer.tag(kField1, features_bytes(features));
  for (const Feature& feature : features) {
    const std::uint64_t list_length = list_bytes(feature);
    const bool is_integers = std::holds_alternative<std::span<const std::int64_t>>(feature.value);
    const bool is_floats = std::holds_alternative<PackedFloats>(feature.value);
    writer.tag(kField1, entry_bytes(feature, list_length));
    writer.tag(kField1, feature.name.size());
    writer.copy(as_bytes(feature.name));
    writer.tag(kField2, delimited_bytes(list_length));
    writer.tag(is_integers ? kField3 : is_floats ? kField2 : kField1, list_length);
    places.push_back(write_list(writer, feature));
  }
  writer.flush();
  return places;
}

std::vector<ParsedFeature> parse_example(const ViewBytes& view, std::uint64_t begin,
                                         std::uint64_t length, std::string_view where) {
  return ExampleParser(view, begin + length, where).parse(begin);
}

}  // namespace shale
