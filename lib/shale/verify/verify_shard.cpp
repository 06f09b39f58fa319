#include "shale/verify/verify_shard.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/image/probe.hpp"
#include "shale/io/machine_limits.hpp"
#include "shale/shards/value_comparison.hpp"

namespace shale {
namespace {

// An element that is not where, or what, the list of elements says: `number` is its row there.
Finding wrong_element(const ShardCheck& shard, std::uint64_t row, const std::string& field,
                      std::uint64_t number, const FieldPlace& found, const FieldPlace& expected) {
  const auto text = [](const FieldPlace& place) {
    return fmt::format("{} bytes at {}, crc32c {:08x}", place.length, place.offset, place.crc32c);
  };
  Finding finding = shard.finding("element in the list of elements differs from the container",
                                  shard.reader.shard().elements.name,
                                  shard.reader.columns().elements()->file_bytes(number), row);
  finding.field = field;
  finding.found = text(found);
  finding.expected = text(expected);
  return finding;
}

// Compares rows of the scan with rows of the index as they come.
class RowComparison {
 public:
  // The rows that come begin at `row`.
  RowComparison(const ShardCheck& shard, IndexWindow& index, std::uint64_t row, bool has_crc,
                TaskFindings& findings)
      : shard_(shard), index_(index), has_crc_(has_crc), findings_(findings), rows_(row) {}

  [[nodiscard]] std::uint64_t rows() const { return rows_; }

  void compare(const IndexRow& scanned) {
    const std::uint64_t number = rows_++;
    if (number >= index_.rows()) return;
    const IndexRow indexed = index_.row(number);
    const Schema& schema = shard_.manifest.schema;
    if (shard_.manifest.layout.has_keys) {
      compare_place(number, "key", indexed.key, scanned.key);
      if (scanned.key_hash != indexed.key_hash) {
        add(number, "key", "hash of the key", [&] {
          return Sides{fmt::format("{:016x}", indexed.key_hash),
                       fmt::format("{:016x}", scanned.key_hash)};
        });
      }
    }
    ShapeWalk found_shapes(indexed.sides), expected_shapes(scanned.sides);
    for (std::size_t i = 0; i < schema.fields.size(); ++i) {
      const IndexCell& found = indexed.cells[i];
      const IndexCell& expected = scanned.cells[i];
      compare_shapes(number, schema.fields[i], found_shapes, expected_shapes);
      if (found.lacks_number != expected.lacks_number) {
        add(number, schema.fields[i].name, "presence", [&] {
          return Sides{found.lacks_number ? "absent" : "a number",
                       expected.lacks_number ? "absent" : "a number"};
        });
      } else if (schema.fields[i].kind == Kind::integer && found.integer != expected.integer) {
        add(number, schema.fields[i].name, "number", [&] {
          return Sides{std::to_string(found.integer), std::to_string(expected.integer)};
        });
      } else if (schema.fields[i].kind == Kind::real && bytes_differ(found.real, expected.real)) {
        add(number, schema.fields[i].name, "number", [&] {
          return Sides{fmt::format("{}", found.real), fmt::format("{}", expected.real)};
        });
      } else if (is_located(schema.fields[i].kind)) {
        compare_place(number, schema.fields[i].name, found.place, expected.place);
      }
    }
    if (!scanned.elements.empty()) compare_elements(number, indexed, scanned);
    if (scanned.record_offset != indexed.record_offset ||
        scanned.record_length != indexed.record_length) {
      add(number, "record", "place", [&] {
        return Sides{place_text(indexed.record_offset, indexed.record_length),
                     place_text(scanned.record_offset, scanned.record_length)};
      });
    }
  }

 private:
  // What the index says, and what the container says.
  struct Sides {
    std::string found, expected;
  };

  static bool bytes_differ(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) != std::bit_cast<std::uint64_t>(b);
  }
  static std::string place_text(std::uint64_t offset, std::uint64_t length) {
    return fmt::format("{} bytes at {}", length, offset);
  }

  void compare_shapes(std::uint64_t row, const Field& field, ShapeWalk& indexed,
                      ShapeWalk& scanned) {
    if (!field.is_ragged()) return;
    const auto found = indexed.next(field), expected = scanned.next(field);
    if (std::ranges::equal(found, expected)) return;
    add(row, field.name, "shape", [&] { return Sides{shape_text(found), shape_text(expected)}; });
  }

  void compare_place(std::uint64_t row, const std::string& field, const FieldPlace& found,
                     const FieldPlace& expected) {
    if (found.offset != expected.offset || found.length != expected.length ||
        found.count != expected.count) {
      add(row, field, "place", [&] {
        return Sides{place_text(found.offset, found.length),
                     place_text(expected.offset, expected.length)};
      });
    } else if (has_crc_ && found.crc32c != expected.crc32c) {
      // The bytes are what the walk read; what they must be is the index's to say.
      findings_.add([&] {
        return shard_.wrong_checksum(row, shard_.manifest.schema.find(field), found,
                                     expected.crc32c);
      });
    }
  }

  // Of all lists of the row at once.
  void compare_elements(std::uint64_t row, const IndexRow& indexed, const IndexRow& scanned) {
    auto expected = scanned.elements.begin();
    const Schema& schema = shard_.manifest.schema;
    for (std::size_t i = 0; i < schema.fields.size(); ++i) {
      const FieldPlace& list = indexed.cells[i].place;
      const std::uint32_t count = scanned.cells[i].place.count;
      if (schema.fields[i].kind != Kind::list || count == 0) continue;
      // A count that differs was found above.
      std::vector<FieldPlace> found;
      if (list.count == count) found = shard_.reader.elements()->read(list.first, count);
      for (std::uint32_t k = 0; k < found.size(); ++k)
        compare_element(row, schema.fields[i].name, list.first + k, found[k], expected[k]);
      expected += count;
    }
  }

  void compare_element(std::uint64_t row, const std::string& field, std::uint64_t number,
                       const FieldPlace& found, const FieldPlace& expected) {
    const bool has_place = found.offset == expected.offset && found.length == expected.length;
    if (has_place && (!has_crc_ || found.crc32c == expected.crc32c)) return;
    findings_.add([&] { return wrong_element(shard_, row, field, number, found, expected); });
  }

  template <class MakeSides>
  void add(std::uint64_t row, std::string_view field, std::string_view what,
           const MakeSides& make_sides) {
    findings_.add([&] {
      Finding finding = shard_.finding(
          fmt::format("{} in the index differs from the container", what),
          shard_.reader.shard().index.name, shard_.reader.columns().file_bytes(row), row);
      finding.field = field;
      Sides sides = make_sides();
      finding.found = std::move(sides.found);
      finding.expected = std::move(sides.expected);
      return finding;
    });
  }

  const ShardCheck& shard_;
  IndexWindow& index_;
  bool has_crc_;
  TaskFindings& findings_;
  std::uint64_t rows_;
};

// The lists of a sample that was read, with what the list of elements says.
void check_elements(const ShardCheck& shard, std::uint64_t row, const IndexRow& places,
                    const Sample& sample, TaskFindings& findings) {
  const ElementReader* listed = shard.reader.elements();
  for (std::size_t i = 0; listed != nullptr && i < sample.values.size(); ++i) {
    const Value& list = sample.values[i];
    if (!is_list(list)) continue;
    const std::uint64_t first = places.cells[i].place.first;
    const std::vector<FieldPlace> found = listed->read(first, count_elements(list));
    for (std::size_t k = 0; k < found.size(); ++k) {
      FieldPlace expected = found[k];
      const AnyBytes element = element_of(list, k);
      expected.length = element.size();
      if (shard.reader.has_checksums()) expected.crc32c = element.crc32c();
      if (found[k] == expected) continue;
      findings.add([&] {
        return wrong_element(shard, row, shard.manifest.schema.fields[i].name, first + k, found[k],
                             expected);
      });
    }
  }
}

// Bytes that a sample takes in memory. A place that lies about its length is met by load_sample.
std::uint64_t stored_bytes(const IndexRow& row) {
  std::uint64_t bytes = row.key.length;
  for (const IndexCell& cell : row.cells) bytes += cell.place.length;
  return bytes;
}

// Where a field of a sample is.
struct FieldOfRow {
  std::uint64_t row;
  std::size_t field;
  const FieldPlace& place;
};

// Bytes that have to be in memory.
class HeldBytes {
 public:
  HeldBytes(const AnyBytes& bytes, std::uint64_t limit) : bytes_(bytes.held()) {
    if (bytes.unread() == nullptr) return;
    if (bytes.size() > limit)
      throw sample_over_limit(bytes.size(), limit).hint(enough_memory_hint(2 * bytes.size()));
    own_.reserve(bytes.size());
    bytes.for_each_piece(
        [this](Bytes piece) { own_.insert(own_.end(), piece.begin(), piece.end()); });
    bytes_ = own_;
  }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  std::vector<std::byte> own_;
  Bytes bytes_;
};

// One image of a sample: the value of a field, or an element of a list.
void decode_image(const ShardCheck& shard, const FieldOfRow& at, const AnyBytes& image,
                  std::string_view name, const std::string& what, DeepResult& result) {
  const HeldBytes held(image, shard.limits.large_bytes);
  const Bytes bytes = held.bytes();
  const ImageInfo info = probe_image(bytes, name);
  std::string fault = info.fault.text;
  if (fault.empty()) {
    const DecodeResult decoded = decode_and_discard(bytes, info.type);
    result.undecodable_types += decoded.was_decoded ? 0 : 1;
    fault = decoded.fault;
  }
  if (fault.empty()) return;
  // It was loaded, so it has the checksum that was taken when it was written, if there is one.
  const bool was_bad = shard.reader.has_checksums();
  result.bad_when_written += was_bad ? 1 : 0;
  result.findings.add([&] {
    Finding finding = shard.finding(fmt::format("{} {} bad{}: it {}", what, was_bad ? "was" : "is",
                                                was_bad ? " when it was written" : "", fault),
                                    shard.reader.listed_name(at.field), at.place.offset, at.row);
    finding.length = at.place.length;
    finding.field = shard.manifest.schema.fields[at.field].name;
    return finding;
  });
}

// A manifest may claim images and have none.
void decode_images(const ShardCheck& shard, const FieldOfRow& at, const Sample& sample,
                   DeepResult& result) {
  const Value& value = sample.values[at.field];
  if (std::holds_alternative<Bytes>(value) || std::holds_alternative<Unread>(value)) {
    // The key is the name of the first field's file.
    const std::string_view name = at.field == 0 ? std::string_view(sample.key) : "";
    return decode_image(shard, at, run_of(value), name, "the image", result);
  }
  if (!is_list(value)) return;
  for (std::uint64_t i = 0; i < count_elements(value); ++i)
    decode_image(shard, at, element_of(value, i), "", fmt::format("image {} of the list", i),
                 result);
}

// A list that is damaged is a finding, and its elements are not compared.
void locate_if_sound(ElementScan& elements, IndexRow& row, const ShardCheck& shard,
                     std::uint64_t number, TaskFindings& findings) {
  try {
    elements.locate(row);
  } catch (const Error& error) {
    if (error.code() != Code::damaged && error.code() != Code::limit) throw;
    row.elements.clear();
    findings.add([&] {
      return shard.finding(error.message(), shard.reader.shard().files[0].name, error.offset(),
                           number);
    });
  }
}

// A scan, each of whose rows is compared with the index.
class StructureWalk {
 public:
  StructureWalk(const ShardCheck& shard, const Format& format, bool reads_payload,
                const WalkProgress& progress)
      : shard_(shard),
        format_(format),
        input_{shard.reader.files().first(shard.reader.shard().files.size()),
               shard.manifest.schema,
               shard.manifest.layout,
               reads_payload,
               shard.reader.shard().digest.samples,
               shard.reader.shard().bases,
               progress} {}

  // From a row on; returns the one behind the last. `index` is null where there is none; `view`
  // where the scan reads the file itself.
  template <class Scan>
  [[nodiscard]] std::uint64_t run(IndexWindow* index, std::uint64_t row, const ViewBytes& view,
                                  TaskFindings& findings, const Scan& scan) const {
    // Ordered places are proved range by range; the others here.
    const bool compares_crc =
        input_.reads_payload && shard_.reader.has_checksums() && !shard_.has_ordered_places;
    std::optional<RowComparison> comparison;
    if (index != nullptr) comparison.emplace(shard_, *index, row, compares_crc, findings);
    ElementScan elements(format_, input_, view);
    ValueComparison values(shard_.reader);
    ShardInput input = input_;
    input.put_value = [&values](Bytes value) { return values.put(value); };
    scan(
        input,
        [&](const IndexRow& scanned) {
          if (!comparison) return;
          if (!input_.layout.has_elements) return comparison->compare(scanned);
          IndexRow located = scanned;
          locate_if_sound(elements, located, shard_, comparison->rows(), findings);
          comparison->compare(located);
        },
        [&](Finding finding) {
          findings.add([&] {
            finding.shard = shard_.reader.shard().name;
            return std::move(finding);
          });
        });
    if (const auto wrong = values.first_wrong(findings.count() == 0))
      findings.add([&] {
        return shard_.finding("the values are not those of the file: index it again",
                              shard_.reader.shard().values.name, wrong->offset);
      });
    return comparison ? comparison->rows() : 0;
  }

 private:
  const ShardCheck& shard_;
  const Format& format_;
  ShardInput input_;
};

constexpr std::uint64_t kBytesAtOnce = 4 << 20;

// Only a bool can be an invalid number. One finding per field: a damaged block would make a
// million.
void find_wrong_numbers(const ShardCheck& shard, std::size_t field, Bytes stored,
                        std::uint64_t begin, std::vector<bool>& is_wrong, DeepResult& result) {
  const FixedColumn column = shard.reader.fixed_column(field);
  if (is_located(column.field->kind) || dtype_of_column(*column.field).descr() != "|b1") return;
  std::optional<Finding> finding;
  std::uint64_t more = 0, last = 0;
  for (std::uint64_t i = 0; i < is_wrong.size(); ++i) {
    if (stored[i] <= std::byte{1}) continue;
    is_wrong[i] = true;
    last = i;
    if (finding) {
      ++more;
      continue;
    }
    try {
      (void)read_number(stored.subspan(i, 1), *column.field);
    } catch (const Error& error) {
      finding = shard.finding(error.message(), shard.reader.listed_name(field),
                              column.place(begin + i).offset, begin + i);
      finding->field = column.field->name;
    }
  }
  if (!finding) return;
  if (more > 0) {
    finding->message += fmt::format(", and so are {} more, the last in row {}", more,
                                    shard.first_sample + begin + last);
  }
  result.findings.add([&] { return std::move(*finding); });
}

// The digest of the rows that are not wrong.
DatasetDigest digest_of_sound(std::span<const Bytes> columns, const std::vector<bool>& is_wrong,
                              const Schema& schema) {
  const std::uint64_t rows = is_wrong.size();
  DatasetDigest digest;
  std::vector<Bytes> run(columns.size());
  for (std::uint64_t begin = 0, end = 0; begin < rows; begin = end) {
    while (begin < rows && is_wrong[begin]) ++begin;
    for (end = begin; end < rows && !is_wrong[end];) ++end;
    if (begin == end) break;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::uint64_t stride = columns[i].size() / rows;
      run[i] = columns[i].subspan(begin * stride, (end - begin) * stride);
    }
    digest.append(digest_of_rows(run, end - begin, schema));
  }
  return digest;
}

// The finding for a container of so many samples, if the index has another number of rows.
void add_wrong_count(const ShardCheck& shard, std::uint64_t samples, TaskFindings& findings) {
  const ManifestShard& expected = shard.reader.shard();
  if (samples == expected.digest.samples) return;
  findings.add([&] {
    Finding finding = shard.finding("number of samples in the container is wrong",
                                    expected.files[0].name, std::nullopt);
    finding.found = std::to_string(samples);
    finding.expected = std::to_string(expected.digest.samples);
    return finding;
  });
}

}  // namespace

bool has_class_names(const ShardCheck& shard, const Format& format) try {
  const Manifest& manifest = shard.manifest;
  const std::optional<std::size_t> label = label_of(manifest);
  const bool must_have = manifest.layout.has_classes && format.classes != nullptr && label &&
                         format.classes->bytes(manifest.classes) > 0;
  if (!must_have) return true;
  const std::vector<std::string> names =
      format.classes->read(shard.reader.files()[0], manifest.schema.fields[*label].name);
  return !names.empty() && names.size() <= manifest.classes.size() &&
         std::equal(names.begin(), names.end(), manifest.classes.begin());
} catch (const Error& error) {
  if (!is_about_bytes(error)) throw;
  return false;
}

TaskFindings verify_structure(const ShardCheck& shard, const Format& format, bool reads_payload,
                              const WalkProgress& progress) {
  TaskFindings findings(shard.kept_findings);
  // Fixed rows have no index: there are none to compare.
  std::optional<IndexWindow> index;
  if (shard.reader.index_file() != nullptr) index.emplace(shard.reader);
  const StructureWalk walk(shard, format, reads_payload, progress);
  const std::uint64_t samples =
      walk.run(index ? &*index : nullptr, 0, {}, findings,
               [&](const ShardInput& input, const RowSink& rows, const FindingSink& sink) {
                 format.scan(input, OptionSet(format.options), rows, sink);
               });
  if (index) add_wrong_count(shard, samples, findings);
  // Of a container that is damaged the scan has told.
  if (findings.count() == 0 && !has_class_names(shard, format)) {
    findings.add([&] {
      return shard.finding("the class names in the file are not those of the manifest",
                           shard.reader.shard().files[0].name, std::nullopt);
    });
  }
  return findings;
}

bool verify_split_rows(const ShardCheck& shard, const Format& format, const SplitScan& scan,
                       const ScanRows& rows, bool reads_payload, IndexWindow& index,
                       const WalkProgress& progress) {
  TaskFindings findings;
  const StructureWalk walk(shard, format, reads_payload, progress);
  bool is_sound = false;
  const std::uint64_t end =
      walk.run(&index, rows.begin.row, rows.view, findings,
               [&](const ShardInput& input, const RowSink& sink, const FindingSink&) {
                 is_sound = scan.scan(input, rows, sink);
               });
  return is_sound && findings.count() == 0 && end == rows.end.row;
}

std::vector<std::size_t> decoded_fields(const Manifest& manifest) {
  if (manifest.images || manifest.layout.dialect != Dialect::webdataset)
    return image_fields_of(manifest);
  const std::optional<std::size_t> image = manifest.schema.find("image");
  if (!image || manifest.schema.fields[*image].kind != Kind::bytes) return {};
  return {*image};
}

DeepResult verify_rows(const ShardCheck& shard, const Format& format, std::uint64_t begin,
                       std::uint64_t end) {
  DeepResult result;
  result.findings = TaskFindings(shard.kept_findings);
  const SampleLimits& limits = shard.limits;
  IndexReader index = shard.reader.open_index();
  const std::vector<std::size_t> image_fields = decoded_fields(shard.manifest);
  for (std::uint64_t row = begin; row < end; ++row) {
    shard.stop_if_over();
    try {
      const IndexRow place = index.row(row);
      const bool is_large = stored_bytes(place) > limits.small_bytes;
      const std::unique_lock<std::mutex> alone =
          is_large ? std::unique_lock(limits.one_large) : std::unique_lock<std::mutex>();
      LoadedSample loaded =
          load_sample(shard.reader, place, shard.manifest.schema, format,
                      {.bytes = is_large ? limits.large_bytes : limits.small_bytes,
                       .step = [&shard] { shard.stop_if_over(); }});
      if (!shard.manifest.layout.has_keys)
        loaded.sample.key = std::to_string(shard.first_sample + row);
      check_sample(loaded.sample, shard.manifest.schema, shard.reader.may_lack_values());
      check_elements(shard, row, place, loaded.sample, result.findings);
      result.digest.add(digest_of(loaded.sample, shard.manifest.schema));
      result.bytes += loaded.all_bytes;
      for (const std::size_t field : image_fields)
        decode_images(shard, {row, field, place.cells[field].place}, loaded.sample, result);
    } catch (const Error& error) {
      // Of a damaged shard a length that no memory is enough for is one more lie.
      const bool is_damage = error.code() == Code::damaged || error.code() == Code::schema ||
                             (error.code() == Code::limit && shard.is_damaged);
      if (!is_damage) throw;
      // The place of the damage has been found block by block already; here it costs the sample its
      // digest.
      result.findings.add([&] {
        return shard.finding(error.message(), shard.reader.shard().files[0].name, error.offset(),
                             row);
      });
    }
  }
  return result;
}

std::uint64_t fixed_rows_at_once(const ShardCheck& shard) {
  return rows_at_once(row_bytes_of(shard.reader.fixed_columns()),
                      std::min(kBytesAtOnce, shard.limits.small_bytes));
}

DeepResult verify_fixed_rows(const ShardCheck& shard, std::uint64_t begin, std::uint64_t end) {
  const SampleLimits& limits = shard.limits;
  shard.stop_if_over();
  const std::vector<FixedColumn> columns = shard.reader.fixed_columns();
  const std::uint64_t row_bytes = row_bytes_of(columns);
  if (row_bytes > limits.large_bytes) {
    throw sample_over_limit(row_bytes, limits.large_bytes)
        .at(shard.reader.files()[0].path())
        .hint(enough_memory_hint(2 * row_bytes));
  }
  const bool is_large = row_bytes * (end - begin) > limits.small_bytes;
  const std::unique_lock<std::mutex> alone =
      is_large ? std::unique_lock(limits.one_large) : std::unique_lock<std::mutex>();
  DeepResult result;
  result.findings = TaskFindings(shard.kept_findings);
  FixedRun run(begin, end - begin);
  std::vector<bool> is_wrong(end - begin);
  std::size_t field = 0;
  try {
    for (; field < columns.size(); ++field) {
      const Bytes values = run.read(columns[field]);
      result.bytes += values.size();
      find_wrong_numbers(shard, field, values, begin, is_wrong, result);
    }
  } catch (const Error& error) {
    if (error.code() != Code::damaged) throw;
    result.findings.add([&] {
      return shard.finding(error.message(), shard.reader.listed_name(field), error.offset(), begin);
    });
    return result;
  }
  result.digest = digest_of_sound(run.columns(), is_wrong, shard.manifest.schema);
  return result;
}

}  // namespace shale
