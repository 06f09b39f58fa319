#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/wire/protobuf_cursor.hpp"
#include "shale/wire/tf_example.hpp"

namespace shale {
namespace {

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

  void parse_bytes(const WireField& list, ParsedFeature& feature) {
    feature.type = ParsedFeature::Type::bytes;
    cursor_.for_each_field(list.begin, list.end, [&](const WireField& element) {
      if (!element.is_message(1)) refuse_element(element, "BytesList");
      if (feature.count++ > 0) return;
      feature.first_offset = element.begin;
      feature.first_length = element.end - element.begin;
    });
  }

  void parse_floats(const WireField& list, ParsedFeature& feature) {
    feature.type = ParsedFeature::Type::floats;
    cursor_.for_each_field(list.begin, list.end, [&](const WireField& element) {
      const bool is_packed = element.is_message(1);
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
    cursor_.for_each_field(list.begin, list.end, [&](const WireField& element) {
      if (element.number != 1 ||
          (element.type != WireType::delimited && element.type != WireType::varint)) {
        refuse_element(element, "Int64List");
      }
      for (std::uint64_t offset = element.begin; offset < element.end;) {
        const ProtobufCursor::Varint varint = cursor_.read_varint(offset, element.end);
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

  ProtobufCursor cursor_;
  std::uint64_t end_;
  std::string_view where_;
  std::vector<ParsedFeature> features_;
  std::uint64_t names_bytes_ = 0;
};

}  // namespace

std::vector<ParsedFeature> parse_example(const ViewBytes& view, std::uint64_t begin,
                                         std::uint64_t length, std::string_view where) {
  return ExampleParser(view, begin + length, where).parse(begin);
}

}  // namespace shale
