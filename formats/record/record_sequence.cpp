#include "formats/record/record_sequence.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/unpack_errors.hpp"
#include "shale/io/output_file.hpp"
#include "shale/wire/protobuf_cursor.hpp"
#include "shale/wire/tf_example.hpp"

#include "formats/record/record_features.hpp"
#include "formats/record/record_frames.hpp"

// tf.train.SequenceExample on the wire (proto3), with the messages of tf_example.hpp:
//   SequenceExample: 1 Features, the context; 2 FeatureLists
//   FeatureLists:    1, repeated: map entry {1: name string, 2: FeatureList}
//   FeatureList:     1, repeated: Feature, one for each step
// So it is an Example of its context, with something behind it.
// Source: tensorflow/core/example/{example,feature}.proto.

namespace shale {
namespace {

constexpr std::uint64_t kSequenceBufferBytes = 1 << 20;
constexpr std::string_view kLengthsSuffix = "/lengths", kIntegerDType = "<i8";
constexpr std::uint64_t kContext = 1, kLists = 2;
constexpr std::string_view kPlainRecordsHint =
    "pass --parse plain: each record is then one field of bytes, 'value'";

// The values of all steps of a list.
struct FlatList {
  std::string name;
  ParsedFeature::Type type = ParsedFeature::Type::none;
  std::vector<Bytes> strings;
  std::vector<std::byte> numbers;     // floats, or integers of 64 bits
  std::vector<std::int64_t> lengths;  // of each step
};

// Takes a record apart whose bytes are all in memory.
class SequenceParser {
 public:
  SequenceParser(Bytes record, std::string_view where)
      : record_(record),
        where_(where),
        view_([record](std::uint64_t offset, std::uint64_t length) {
          return record.subspan(offset, length);
        }),
        cursor_(view_, record.size(), where) {}

  // Errors: Code::damaged for what is not a SequenceExample.
  std::vector<FlatList> lists() {
    std::vector<FlatList> found;
    cursor_.for_each_field(0, record_.size(), [&](const WireField& lists) {
      if (!lists.is_message(kLists)) return;
      cursor_.for_each_field(lists.begin, lists.end, [&](const WireField& entry) {
        if (entry.is_message(1)) found.push_back(list_of(entry));
      });
    });
    std::ranges::sort(found, {}, &FlatList::name);
    return found;
  }

  // The fields of the context, as they are.
  void for_each_context(const auto& use) {
    cursor_.for_each_field(0, record_.size(), [&](const WireField& field) {
      if (field.is_message(kContext)) use(record_.subspan(field.offset, field.end - field.offset));
    });
  }

  [[nodiscard]] std::set<std::string, std::less<>> context_names() {
    std::vector<std::byte> context;
    for_each_context(
        [&](Bytes field) { context.insert(context.end(), field.begin(), field.end()); });
    const ViewBytes view = [&context](std::uint64_t offset, std::uint64_t length) {
      return Bytes(context).subspan(offset, length);
    };
    std::set<std::string, std::less<>> names;
    for (const ParsedFeature& one : parse_example(view, 0, context.size(), where_))
      names.insert(one.name);
    return names;
  }

 private:
  FlatList list_of(const WireField& entry) {
    FlatList list;
    cursor_.for_each_field(entry.begin, entry.end, [&](const WireField& field) {
      if (field.is_message(1)) list.name = as_text(cursor_.bytes_of(field));
      if (!field.is_message(2)) return;
      cursor_.for_each_field(field.begin, field.end, [&](const WireField& step) {
        if (step.is_message(1)) add_step(step, list);
      });
    });
    return list;
  }

  void add_step(const WireField& step, FlatList& list) {
    using Type = ParsedFeature::Type;
    constexpr Type kTypes[] = {Type::none, Type::bytes, Type::floats, Type::integers};
    list.lengths.push_back(0);
    cursor_.for_each_field(step.begin, step.end, [&](const WireField& values) {
      if (values.number == 0 || values.number > 3 || values.type != WireType::delimited) return;
      const Type type = kTypes[values.number];
      if (list.type != Type::none && list.type != type) {
        throw Error(Code::unsupported, "feature list '{}' has steps of several types",
                    printable(list.name))
            .at(where_)
            .hint(kPlainRecordsHint);
      }
      list.type = type;
      cursor_.for_each_field(values.begin, values.end,
                             [&](const WireField& run) { add_values(run, list); });
    });
  }

  void add_values(const WireField& run, FlatList& list) {
    using Type = ParsedFeature::Type;
    std::int64_t& length = list.lengths.back();
    const Bytes bytes = record_.subspan(run.begin, run.end - run.begin);
    if (list.type == Type::bytes) {
      list.strings.push_back(bytes);
      ++length;
      return;
    }
    if (list.type == Type::floats) {
      check_packed_floats(bytes.size(), where_, run.begin);
      list.numbers.insert(list.numbers.end(), bytes.begin(), bytes.end());
      length += static_cast<std::int64_t>(bytes.size() / sizeof(float));
      return;
    }
    for (std::uint64_t at = run.begin; at < run.end;) {
      const ProtobufCursor::Varint varint = cursor_.read_varint(at, run.end);
      const auto stored = bytes_of(varint.value);
      list.numbers.insert(list.numbers.end(), stored.begin(), stored.end());
      at = varint.end;
      ++length;
    }
  }

  Bytes record_;
  std::string_view where_;
  ViewBytes view_;
  ProtobufCursor cursor_;
};

// What the lists of one name have in common.
struct ListFacts {
  ParsedFeature::Type type = ParsedFeature::Type::none;
  bool has_lengths = false;  // steps have other than one value each
};

class Flattening {
 public:
  Flattening(const UnpackRequest& request, const InputFile& file, const NamelessFile& into)
      : request_(request),
        file_(file),
        out_(into.duplicate(), into.path(),
             {.io = IoMode::buffered, .buffer_bytes = kSequenceBufferBytes, .buffers = 1}) {}

  bool run() {
    if (!learn()) return false;
    for_each_record(request_, file_, [&](Bytes record) {
      write(record);
      return true;
    });
    (void)out_.finish();
    return true;
  }

 private:
  // What the lists hold. False: a record is of another kind.
  bool learn() {
    bool are_all = true;
    for_each_record(request_, file_, [&](Bytes record) {
      try {
        SequenceParser parser(record, request_.file.path());
        (void)parser.context_names();
        for (const FlatList& list : parser.lists()) {
          if (facts_.size() == kMaxFeatures && !facts_.contains(list.name)) {
            throw Error(Code::limit, "has more than {} different feature lists", kMaxFeatures)
                .at(request_.file.path())
                .hint(kPlainRecordsHint);
          }
          ListFacts& facts = facts_[list.name];
          if (facts.type == ParsedFeature::Type::none) facts.type = list.type;
          facts.has_lengths =
              facts.has_lengths ||
              std::ranges::any_of(list.lengths, [](std::int64_t one) { return one != 1; });
        }
      } catch (const Error& error) {
        if (error.code() != Code::damaged) throw;
        are_all = false;
      }
      return are_all;
    });
    return are_all;
  }

  void write(Bytes record) {
    SequenceParser parser(record, request_.file.path());
    std::vector<FlatList> lists = parser.lists();
    const auto context = parser.context_names();
    std::vector<std::string> names;
    names.reserve(4 * lists.size());  // views of them are taken
    std::vector<Feature> features;
    for (FlatList& list : lists) {
      const ListFacts& facts = facts_.at(list.name);
      if (list.type == ParsedFeature::Type::none) list.type = facts.type;  // one without steps
      if (context.contains(list.name)) {
        throw Error(Code::unsupported,
                    "feature '{}' of the context and a feature list have one name",
                    printable(list.name))
            .at(request_.file.path())
            .hint(kPlainRecordsHint);
      }
      if (list.type != ParsedFeature::Type::none) add_list(features, names, list);
      if (!facts.has_lengths) continue;
      add_integers(features, names, list.name + std::string(kLengthsSuffix),
                   std::as_bytes(std::span(list.lengths)));
    }
    std::ranges::sort(features, {}, &Feature::name);
    Blob blob;
    parser.for_each_context([&](Bytes field) { blob.append_view(field); });
    if (!features.empty()) (void)append_example(features, blob);
    append_frame(out_, blob);
  }

  static void add_list(std::vector<Feature>& features, std::vector<std::string>& names,
                       const FlatList& list) {
    if (list.type == ParsedFeature::Type::integers)
      return add_integers(features, names, list.name, list.numbers);
    if (list.type == ParsedFeature::Type::floats)
      return features.push_back({.name = list.name, .value = PackedFloats{Bytes(list.numbers)}});
    features.push_back({.name = list.name, .value = std::span<const Bytes>(list.strings)});
  }

  // As an array that lies in the file.
  static void add_integers(std::vector<Feature>& features, std::vector<std::string>& names,
                           std::string name, Bytes numbers) {
    names.push_back(name + std::string(kDTypeSuffix));
    features.push_back({.name = names.back(), .value = as_bytes(kIntegerDType)});
    names.push_back(std::move(name));
    features.push_back({.name = names.back(), .value = numbers});
  }

  const UnpackRequest& request_;
  const InputFile& file_;
  OutputFile out_;
  std::map<std::string, ListFacts> facts_;
};

}  // namespace

void for_each_record(const UnpackRequest& request, const InputFile& file,
                     const std::function<bool(Bytes)>& use) {
  const auto refuse = [&](Finding finding) {
    finding.file = request.file.path();
    throw is_damaged(request.file.path(), finding);
  };
  const WalkProgress ask = [&](std::uint64_t, std::uint64_t) {
    if (request.progress) request.progress(0, 0);
  };
  WindowReader window(file, kPayloadWindow);
  const ViewBytes view = window.views();
  WalkPace pace(ask, file.size());
  FrameWalk frames(file, view, pace);
  std::vector<std::byte> record;
  while (const std::optional<RecordFrame> frame = frames.next()) {
    if (const std::optional<Finding> wrong = check_payload(view, *frame, {}, pace)) refuse(*wrong);
    if (frame->payload_bytes > request.memory_bytes / 4) {
      throw Error(Code::limit, "a record of {} does not fit into a quarter of the {} of memory",
                  format_size(frame->payload_bytes), format_size(request.memory_bytes))
          .at(request.file.path(), frame->begin)
          .hint("pass a larger --memory");
    }
    record.resize(frame->payload_bytes);
    file.read_exact(frame->payload_begin(), record);
    if (!use(Bytes(record))) return;
  }
  if (frames.damage()) refuse(*frames.damage());
}

void append_frame(OutputFile& out, const Blob& payload) {
  out.append(frame_header(payload.size()));
  std::uint32_t crc = 0;
  payload.for_each_piece([&](Bytes piece) {
    crc = crc32c(piece, crc);
    out.append(piece);
  });
  out.append(bytes_of(mask_crc(crc)));
}

bool has_feature_lists(const InputFile& file, const LostRanges& lost) {
  const WalkProgress nobody;
  WalkPace pace(nobody, file.size());
  WindowReader window(file, kStructureWindow);
  const ViewBytes view = window.views();
  FrameWalk frames(file, view, pace, 0, kMissing, &lost);
  while (const std::optional<RecordFrame> frame = frames.next()) {
    bool has_lists = false;
    try {
      const std::uint64_t end = frame->payload_begin() + frame->payload_bytes;
      ProtobufCursor cursor(view, end, file.path());
      cursor.for_each_field(frame->payload_begin(), end, [&](const WireField& field) {
        has_lists = has_lists || field.is_message(kLists);
      });
    } catch (const Error& error) {
      if (!is_about_bytes(error)) throw;
      continue;
    }
    return has_lists;
  }
  return false;
}

bool flatten_sequences(const UnpackRequest& request, const InputFile& file,
                       const NamelessFile& into) {
  return Flattening(request, file, into).run();
}

}  // namespace shale
