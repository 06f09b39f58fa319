#include <algorithm>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/wire/tf_example.hpp"

namespace shale {
namespace {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

struct WireField {
  std::uint64_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t offset = 0;          // of the tag
  std::uint64_t begin = 0, end = 0;  // the value without its length
};

class ExampleParser {
 public:
  ExampleParser(const ViewBytes& view, std::uint64_t end, std::string_view where)
      : view_(view), end_(end), where_(where) {}

  std::vector<ParsedFeature> parse(std::uint64_t begin) {
    features_.reserve(8);  // what most Examples have
    for_each_field(begin, end_, [&](const WireField& features) {
      if (is_message(features, 2)) {
        throw Error(Code::unsupported, "holds feature lists, as a tf.train.SequenceExample does")
            .at(where_, features.offset);
      }
      if (!is_message(features, 1)) return;
      for_each_field(features.begin, features.end, [&](const WireField& entry) {
        if (is_message(entry, 1)) parse_entry(entry);
      });
    });
    return std::move(features_);
  }

 private:
  static constexpr std::uint64_t kLookAhead = 64;
  static constexpr std::size_t kIntegersKept = 64;

  static bool is_message(const WireField& field, std::uint64_t number) {
    return field.number == number && field.type == WireType::delimited;
  }

  // Up to 10 bytes, a varint's longest, at `offset`; fewer only before `end`.
  Bytes peek(std::uint64_t offset, std::uint64_t end) {
    const std::uint64_t wanted = std::min<std::uint64_t>(10, end - offset);
    if (offset < seen_begin_ || offset + wanted > seen_begin_ + seen_.size()) {
      seen_ = view_(offset, std::min(kLookAhead, end_ - offset));
      seen_begin_ = offset;
    }
    return seen_.subspan(offset - seen_begin_, wanted);
  }

  struct Varint {
    std::uint64_t value, end;
  };
  Varint read_varint(std::uint64_t offset, std::uint64_t end) {
    ByteReader in(peek(offset, end), where_, offset);
    const std::uint64_t value = in.read_varint();
    return {value, in.offset()};
  }

  WireField read_field(std::uint64_t offset, std::uint64_t end) {
    const Varint tag = read_varint(offset, end);
    WireField field{.number = tag.value >> 3,
                    .type = static_cast<WireType>(tag.value & 7),
                    .offset = offset,
                    .begin = tag.end};
    if (field.number == 0 || tag.value > 0xffff'ffff) {
      throw Error(Code::damaged, "protobuf tag {} has no field number", tag.value)
          .at(where_, offset);
    }
    std::uint64_t length = 0;
    switch (field.type) {
      case WireType::varint:
        field.end = read_varint(tag.end, end).end;
        return field;
      case WireType::fixed64:
        length = 8;
        break;
      case WireType::fixed32:
        length = 4;
        break;
      case WireType::delimited: {
        const Varint prefix = read_varint(tag.end, end);
        length = prefix.value;
        field.begin = prefix.end;
        break;
      }
      default:
        throw Error(Code::damaged, "protobuf wire type {} of field {} is undefined", tag.value & 7,
                    field.number)
            .at(where_, offset);
    }
    if (length > end - field.begin) {
      throw Error(Code::damaged, "protobuf field of {} bytes, {} left in its message", length,
                  end - field.begin)
          .at(where_, offset);
    }
    field.end = field.begin + length;
    return field;
  }

  template <class Use>
  void for_each_field(std::uint64_t begin, std::uint64_t end, Use use) {
    while (begin < end) {
      const WireField field = read_field(begin, end);
      begin = field.end;
      use(field);
    }
  }

  void parse_entry(const WireField& entry) {
    if (features_.size() == kMaxFeatures) {
      throw Error(Code::limit, "example has more than {} features", kMaxFeatures)
          .at(where_, entry.offset);
    }
    ParsedFeature feature;
    // The value may come before the name.
    for_each_field(entry.begin, entry.end, [&](const WireField& field) {
      if (is_message(field, 1)) feature.name = read_name(field);
      if (is_message(field, 2)) parse_value(field, feature);
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
    const std::uint64_t length = field.end - field.begin;
    if (length > kMaxFeatureNameBytes) {
      throw Error(Code::limit, "feature name of {} bytes, more than the limit of {}", length,
                  kMaxFeatureNameBytes)
          .at(where_, field.offset);
    }
    if (length == 0) return {};
    if (field.begin < seen_begin_ || field.end > seen_begin_ + seen_.size()) {
      // Views end with the next one: what peek() holds on to is gone.
      seen_ = view_(field.begin, std::min(std::max(length, kLookAhead), end_ - field.begin));
      seen_begin_ = field.begin;
    }
    return std::string(as_text(seen_.subspan(field.begin - seen_begin_, length)));
  }

  void parse_value(const WireField& value, ParsedFeature& feature) {
    for_each_field(value.begin, value.end, [&](const WireField& list) {
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

  void parse_bytes(const WireField& list, ParsedFeature& feature) {
    feature.type = ParsedFeature::Type::bytes;
    for_each_field(list.begin, list.end, [&](const WireField& element) {
      if (!is_message(element, 1)) refuse_element(element, "BytesList");
      if (feature.count++ > 0) return;
      feature.first_offset = element.begin;
      feature.first_length = element.end - element.begin;
    });
  }

  void parse_floats(const WireField& list, ParsedFeature& feature) {
    feature.type = ParsedFeature::Type::floats;
    for_each_field(list.begin, list.end, [&](const WireField& element) {
      const bool is_packed = is_message(element, 1);
      const std::uint64_t length = element.end - element.begin;
      if (!is_packed && (element.number != 1 || element.type != WireType::fixed32)) {
        refuse_element(element, "FloatList");
      }
      if (length % sizeof(float) != 0) {
        throw Error(Code::damaged, "packed floats take {} bytes, not a multiple of 4", length)
            .at(where_, element.offset);
      }
      feature.count += length / sizeof(float);
      if (feature.first_length > 0) return;
      feature.first_offset = element.begin;
      feature.first_length = length;
    });
  }

  void parse_integers(const WireField& list, ParsedFeature& feature) {
    feature.type = ParsedFeature::Type::integers;
    for_each_field(list.begin, list.end, [&](const WireField& element) {
      if (element.number != 1 ||
          (element.type != WireType::delimited && element.type != WireType::varint)) {
        refuse_element(element, "Int64List");
      }
      for (std::uint64_t offset = element.begin; offset < element.end;) {
        const Varint varint = read_varint(offset, element.end);
        offset = varint.end;
        if (feature.count++ < kIntegersKept) {
          feature.integers.push_back(static_cast<std::int64_t>(varint.value));
        }
      }
    });
  }

  [[noreturn]] void refuse_element(const WireField& element, std::string_view list) {
    throw Error(Code::damaged, "field {} of wire type {} does not belong in a {}", element.number,
                static_cast<int>(element.type), list)
        .at(where_, element.offset);
  }

  const ViewBytes& view_;
  std::uint64_t end_;
  std::string_view where_;
  std::vector<ParsedFeature> features_;
  std::uint64_t names_bytes_ = 0;
  Bytes seen_;  // what view_ gave last
  std::uint64_t seen_begin_ = 0;
};

}  // namespace

std::vector<ParsedFeature> parse_example(const ViewBytes& view, std::uint64_t begin,
                                         std::uint64_t length, std::string_view where) {
  return ExampleParser(view, begin + length, where).parse(begin);
}

}  // namespace shale
