#include "tests/support/cut_format.hpp"

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/io/input_file.hpp"

// Little-endian.
//
//  +0   "CUTNAMES"
//  then each sample: u64 bytes of the folder, of the name, of the image; the three

namespace shale::test {
namespace {

constexpr std::string_view kCutMagic = "CUTNAMES";
constexpr std::string_view kCutSuffixes[] = {".cut"};
constexpr Kind kCutKinds[] = {Kind::bytes};
constexpr std::uint64_t kHeadBytes = 24, kWindow = 4096;

struct CutRecord {
  std::uint64_t begin, folder, name, image;  // where it begins, and lengths
  [[nodiscard]] std::uint64_t end() const { return begin + kHeadBytes + folder + name + image; }
};

template <class Use>
void for_each_record(const InputFile& file, const Use& use) {
  WindowReader window(file, kWindow);
  for (std::uint64_t begin = kCutMagic.size(); begin < file.size();) {
    ByteReader head(window.view(begin, kHeadBytes), file.path());
    CutRecord record{begin, 0, 0, 0};
    record.folder = head.read_u64();
    record.name = head.read_u64();
    record.image = head.read_u64();
    use(record, window);
    begin = record.end();
  }
}

int bid_for_cut(const Probe& probe) { return as_text(probe.head).starts_with(kCutMagic) ? 64 : 0; }

Survey survey_cut(const InputFile& file, const Parsing&, const WalkProgress&) {
  Schema schema;
  schema.fields = {{.name = "image", .kind = Kind::bytes}};
  Survey survey = Survey::of_one_file(std::move(schema), Dialect::plain);
  for_each_record(file, [&](const CutRecord& record, WindowReader&) {
    survey.layout.has_values = survey.layout.has_values || record.folder > 0;
  });
  if (survey.layout.has_values) {
    survey.layout.part_file = {0, 1};
    survey.layout.key_part = 1;
  }
  return survey;
}

void scan_cut(const ShardInput& input, const OptionSet&, const RowSink& rows, const FindingSink&) {
  const bool is_beside = input.layout.part_file[input.layout.key_part] == 1;
  for_each_record(input.files[0], [&](const CutRecord& record, WindowReader& window) {
    const std::uint64_t names = record.begin + kHeadBytes, name = names + record.folder,
                        image = name + record.name;
    std::string key(as_text(window.view(names, record.folder)));
    if (!key.empty()) key += '/';
    key += as_text(window.view(name, record.name));
    IndexRow row;
    row.key = {.offset = is_beside ? input.put_value(as_bytes(key)) : name, .length = key.size()};
    row.key_hash = xxh3_64(as_bytes(key));
    row.cells.resize(1);
    row.cells[0].place = {.offset = image, .length = record.image};
    if (input.reads_payload) {
      row.key.crc32c = crc32c(as_bytes(key));
      row.cells[0].place.crc32c = crc32c(window.view(image, record.image));
    }
    rows(row);
  });
}

}  // namespace

const Format cut_format = {
    .name = "cut",
    .summary = "keys in two pieces",
    .suffixes = kCutSuffixes,
    .options = {},
    .reserved_fields = {},
    .can = {.kinds = kCutKinds},
    .a_file = "a cut file",
    .bid = bid_for_cut,
    .survey = survey_cut,
    .scan = scan_cut,
};

std::string cut_bytes(const std::vector<CutSample>& samples) {
  ByteWriter bytes;
  bytes.write_bytes(as_bytes(kCutMagic));
  for (const CutSample& sample : samples) {
    for (const std::string* part : {&sample.folder, &sample.name, &sample.image})
      bytes.write(std::uint64_t{part->size()});
    for (const std::string* part : {&sample.folder, &sample.name, &sample.image})
      bytes.write_bytes(as_bytes(*part));
  }
  return std::string(as_text(bytes.bytes()));
}

}  // namespace shale::test
