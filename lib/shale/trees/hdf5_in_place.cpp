#include "shale/trees/hdf5_in_place.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/natural_order.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/value_checksum.hpp"
#include "shale/trees/hdf5_elements.hpp"
#include "shale/trees/hdf5_old_file.hpp"
#include "shale/trees/hdf5_sample_fields.hpp"
#include "shale/trees/hdf5_values.hpp"
#include "shale/wire/hdf5_types.hpp"

namespace shale {
namespace {

using Form = Hdf5SampleValue::Form;
using Object = Hdf5OldFile::Object;
using Link = Hdf5OldFile::Link;

constexpr int kMostDepth = 8;
constexpr std::uint64_t kMostTextBytes = 1 << 20;

Error has_to_be_unpacked(const std::string& path) {
  return Error(Code::unsupported, "'{}' does not lie in the file as it is", printable(path));
}

// The samples of a file in the natural order of their names, with the places of their values.
class SamplesInPlace {
 public:
  SamplesInPlace(const InputFile& file, const std::string& parent)
      : file_(file), objects_(file), heap_(file) {
    Object group = objects_.object_at(objects_.root());
    for (std::size_t begin = 0; parent != "/" && begin < parent.size();) {
      const std::size_t end = std::min(parent.find('/', begin), parent.size());
      const std::string name = parent.substr(begin, end - begin);
      begin = end + 1;
      const std::vector<Link> links = links_of(group);
      const auto found = std::ranges::find(links, name, &Link::name);
      if (found == links.end() || !found->is_hard) throw has_to_be_unpacked(parent);
      group = objects_.object_at(found->header);
    }
    links_ = links_of(group);
    std::ranges::sort(links_, [](const Link& left, const Link& right) {
      return is_naturally_less(left.name, right.name);
    });
  }

  [[nodiscard]] std::size_t count() const { return links_.size(); }
  [[nodiscard]] const FieldPlace& key(std::size_t number) const { return links_[number].place; }

  // Nullopt for anything but a sample; `others` is told.
  std::optional<Hdf5WalkedSample> at(std::size_t number, Hdf5SampleFields* others) {
    const Link& link = links_[number];
    if (!link.is_hard) {
      if (others != nullptr) others->add_other(fmt::format("link '{}'", printable(link.name)));
      return std::nullopt;
    }
    const Object object = objects_.object_at(link.header);
    others_ = others;
    if (!object.is_group && !object.is_dataset) {
      other("named type", link.name);
      return std::nullopt;
    }
    Hdf5WalkedSample sample{.name = link.name, .values = {}};
    if (object.is_dataset) {
      sample.values.push_back(value_of("", object.data));
      return sample;
    }
    add_group(object, "", kMostDepth, sample);
    for (const Hdf5OldFile::Attribute& attribute : object.attributes) {
      const bool is_dataset = std::ranges::find(sample.values, attribute.name,
                                                &Hdf5SampleValue::path) != sample.values.end();
      if (!is_dataset && !is_hdf5_bookkeeping(attribute.name))
        sample.values.push_back(value_of(attribute.name, attribute.data));
    }
    return sample;
  }

 private:
  [[nodiscard]] std::vector<Link> links_of(const Object& group) {
    if (!group.is_group) throw has_to_be_unpacked("a group");
    return objects_.links_of(group);
  }

  void add_group(const Object& group, const std::string& prefix, int depth_left,
                 Hdf5WalkedSample& sample) {
    for (const Link& link : links_of(group)) {
      const std::string path = prefix + link.name;
      if (sample.values.size() >= kMostObjectsOfASample) throw has_to_be_unpacked(path);
      if (!link.is_hard) {
        other("link", path);
        continue;
      }
      const Object object = objects_.object_at(link.header);
      if (object.is_dataset) {
        sample.values.push_back(value_of(path, object.data));
      } else if (object.is_group && depth_left > 0) {
        add_group(object, path + "/", depth_left - 1, sample);
      } else {
        other(object.is_group ? "group" : "named type", path);
      }
    }
  }

  void other(std::string_view what, const std::string& path) const {
    if (others_ != nullptr) others_->add_other(fmt::format("{} '{}'", what, printable(path)));
  }

  Hdf5SampleValue value_of(const std::string& path, const Hdf5OldFile::Data& data) {
    constexpr unsigned kVlen = 9, kOfStrings = 1;
    const Bytes type(data.type);
    const bool is_text = type.size() > 1 && (std::to_integer<unsigned>(type[0]) & 15) == kVlen &&
                         (std::to_integer<unsigned>(type[1]) & 15) == kOfStrings;
    if (is_text && data.sides.empty()) return text_of(path, data);
    Hdf5SampleValue value;
    value.path = path;
    value.form = Form::number;
    value.shape = data.sides;
    value.descr = datatype_name(type);
    const bool is_number = value.descr.starts_with('<') || value.descr.starts_with('|');
    if (!is_number) throw has_to_be_unpacked(path);
    value.bytes = DType::parse(value.descr).item_bytes();
    for (const std::uint64_t side : data.sides) {
      if (side != 0 && value.bytes > file_.size() / side) throw has_to_be_unpacked(path);
      value.bytes *= side;
    }
    if (value.bytes > data.bytes || (value.bytes > 0 && data.offset == kMissing))
      throw has_to_be_unpacked(path);
    value.offset = value.bytes == 0 ? 0 : data.offset;
    if (data.sides.empty()) {
      const Bytes number = objects_.view(value.offset, value.bytes);
      value.data.assign(number.begin(), number.end());
    }
    return value;
  }

  Hdf5SampleValue text_of(const std::string& path, const Hdf5OldFile::Data& data) {
    constexpr std::uint64_t kReference = 16;
    if (data.offset == kMissing || data.bytes < kReference) throw has_to_be_unpacked(path);
    ByteReader in(objects_.view(data.offset, kReference), file_.path(), data.offset);
    const std::uint64_t length = in.read_u32(), address = in.read_u64();
    const std::uint32_t object = in.read_u32();
    if (length > kMostTextBytes) throw has_to_be_unpacked(path);
    Hdf5SampleValue value;
    value.path = path;
    value.form = Form::text;
    value.offset = data.offset;
    if (length == 0 || address == 0) return value;
    value.offset = heap_.place_of({length, address, object});
    const std::string_view text = as_text(objects_.view(value.offset, length));
    value.bytes = std::min(text.find('\0'), text.size());
    value.is_utf8 = is_utf8(text.substr(0, value.bytes));
    return value;
  }

  const InputFile& file_;
  Hdf5OldFile objects_;
  Hdf5Heap heap_;
  std::vector<Link> links_;
  Hdf5SampleFields* others_ = nullptr;
};

// Values may be shared, by links; reading all must end.
class SharedBytes {
 public:
  explicit SharedBytes(std::uint64_t file_bytes) : left_(file_bytes) {}
  void add(const Hdf5WalkedSample& sample) {
    for (const Hdf5SampleValue& value : sample.values) {
      if (value.bytes > left_) throw has_to_be_unpacked(value.path);
      left_ -= value.bytes;
    }
  }

 private:
  std::uint64_t left_;
};

struct SurveyedSamples {
  Hdf5SampleFields fields;
  Schema schema;
};

SurveyedSamples surveyed(SamplesInPlace& samples, const InputFile& file,
                         const Hdf5SamplePlace& place, bool is_asked_for, WalkPace& pace) {
  SurveyedSamples found{Hdf5SampleFields(false, place.parent), {}};
  SharedBytes shared(file.size());
  for (std::size_t i = 0; i < samples.count(); ++i) {
    pace.step_to_row(i, samples.count());
    const std::optional<Hdf5WalkedSample> sample = samples.at(i, &found.fields);
    if (!sample) continue;
    shared.add(*sample);
    found.fields.add(*sample);
  }
  found.schema = found.fields.finish(is_asked_for);
  return found;
}

IndexRow row_of(const Hdf5WalkedSample& sample, const Hdf5SampleFields& fields,
                const Schema& schema) {
  IndexRow row;
  row.cells.resize(schema.fields.size());
  std::vector<std::vector<std::uint64_t>> shapes(schema.fields.size());
  for (std::size_t i = 0; i < schema.fields.size(); ++i)
    row.cells[i].lacks_number = !is_located(schema.fields[i].kind);
  for (const Hdf5SampleValue& value : sample.values) {
    const std::optional<std::size_t> place = fields.place_of(value);
    if (!place) continue;
    (void)fields.field_of(value);
    if (is_located(schema.fields[*place].kind)) {
      row.cells[*place].place = {.offset = value.offset, .length = value.bytes};
    } else {
      row.cells[*place] = read_number(value.data, schema.fields[*place]);
    }
    shapes[*place] = value.shape;
  }
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    if (!field.is_ragged()) continue;
    shapes[i].resize(field.shape.size(), 0);
    row.sides.insert(row.sides.end(), shapes[i].begin(), shapes[i].end());
  }
  return row;
}

std::string words_of(const Schema& schema) {
  std::string text;
  for (const Field& field : schema.fields)
    text += (text.empty() ? "" : ", ") + printable(field_text(field));
  return text;
}

}  // namespace

Survey survey_hdf5_samples(const InputFile& file, const Hdf5SamplePlace& place, bool is_asked_for,
                           const WalkProgress& progress) {
  WalkPace pace(progress, file.size());
  SamplesInPlace samples(file, place.parent);
  SurveyedSamples found = surveyed(samples, file, place, is_asked_for, pace);
  Survey survey = Survey::of_one_file(std::move(found.schema), Dialect::samples);
  survey.layout.has_keys = true;
  survey.notes = std::move(found.fields.report().notes);
  survey.left_out = std::move(found.fields.report().left_out);
  return survey;
}

void scan_hdf5_samples(const ShardInput& input, const std::function<Hdf5SamplePlace()>& find,
                       const RowSink& rows, const FindingSink& findings) {
  constexpr std::uint64_t kWindowBytes = 256 * 1024;
  const InputFile& file = input.files[0];
  FindingDraft draft(file, findings);
  bool has_begun = false;
  try {
    WalkPace pace(input.progress, file.size());
    const Hdf5SamplePlace place = find();
    const auto survey = [&](bool is_asked_for) {
      SamplesInPlace samples(file, place.parent);
      return surveyed(samples, file, place, is_asked_for, pace);
    };
    SurveyedSamples found = survey(false);
    if (found.schema.fields != input.schema.fields) found = survey(true);  // --parse samples
    if (found.schema.fields != input.schema.fields) {
      draft.begin("the datasets of this file are not those that were indexed");
      return draft.send(words_of(found.schema), words_of(input.schema));
    }
    has_begun = true;
    SamplesInPlace samples(file, place.parent);
    WindowReader window(file, kWindowBytes);
    const auto checked = [&](FieldPlace& of) {
      if (input.reads_payload && of.offset != kMissing)
        of.crc32c = crc32c_of_place(of, kWindowBytes, pace, window.views());
    };
    for (std::size_t i = 0; i < samples.count(); ++i) {
      pace.step_to_row(i, samples.count());
      const std::optional<Hdf5WalkedSample> sample = samples.at(i, nullptr);
      if (!sample || found.fields.is_left_out(*sample)) continue;
      IndexRow row = row_of(*sample, found.fields, found.schema);
      row.key = samples.key(i);
      row.key_hash = xxh3_64(as_bytes(sample->name));
      checked(row.key);
      for (IndexCell& cell : row.cells) checked(cell.place);
      rows(row);
    }
  } catch (const Error& error) {
    if (has_begun || !is_about_bytes(error)) throw;
    draft.report(error, {});
  }
}

}  // namespace shale
