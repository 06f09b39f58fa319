#include "tests/support/grid_format.hpp"

#include <utility>

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/layout.hpp"

// Little-endian.
//
//  +0   "GRIDFILE"
//  +8   u64 samples, u64 columns
//  then each column: u64 bytes and text of its name, the same of its dtype,
//       u64 number of its sides, u64 each, u64 where its values begin
//  then the values of the columns, each one after the other

namespace shale::test {
namespace {

constexpr std::string_view kMagic = "GRIDFILE";
constexpr std::string_view kSuffixes[] = {".grid"};
constexpr Kind kKinds[] = {Kind::integer, Kind::real, Kind::tensor};

void put_text(ByteWriter& into, std::string_view text) {
  into.write(std::uint64_t{text.size()});
  into.write_bytes(as_bytes(text));
}

std::vector<std::byte> head_bytes(const std::vector<GridColumn>& columns, std::uint64_t samples,
                                  const std::vector<std::uint64_t>& bases) {
  ByteWriter head;
  head.write_bytes(as_bytes(kMagic));
  head.write(samples);
  head.write(std::uint64_t{columns.size()});
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Field& field = columns[i].field;
    put_text(head, field.name);
    put_text(head, dtype_of_column(field).descr());
    head.write(std::uint64_t{field.shape.size()});
    for (const std::uint64_t side : field.shape) head.write(side);
    head.write(bases[i]);
  }
  return head.take();
}

std::string read_name(ByteReader& in) { return std::string(as_text(in.read_bytes(in.read_u64()))); }

int bid_for_grid(const Probe& probe) { return as_text(probe.head).starts_with(kMagic) ? 64 : 0; }

Survey survey_grid(const InputFile& file, const Parsing& parsing, const WalkProgress&) {
  std::vector<std::byte> bytes(std::min<std::uint64_t>(file.size(), 4096));
  file.read_exact(0, bytes);
  ByteReader in(bytes, file.path());
  in.skip(kMagic.size());
  Schema schema;
  std::vector<std::uint64_t> bases;
  const std::uint64_t samples = in.read_u64(), columns = in.read_u64();
  for (std::uint64_t i = 0; i < columns; ++i) {
    std::string name = read_name(in);
    const DType dtype = DType::parse(read_name(in));
    std::vector<std::uint64_t> shape;
    for (std::uint64_t sides = in.read_u64(); sides > 0; --sides) shape.push_back(in.read_u64());
    schema.fields.push_back(field_of_column(std::move(name), dtype, std::move(shape)));
    bases.push_back(in.read_u64());
  }
  Survey survey = Survey::of_columns(std::move(schema), samples, std::move(bases));
  survey.layout.dialect = parsing.dialect.value_or(Dialect::plain);
  return survey;
}

// Only what the bounds of the rows do not show: another number of samples.
void scan_grid(const ShardInput& input, const OptionSet&, const RowSink&,
               const FindingSink& findings) {
  if (survey_grid(input.files[0], Dialect::plain, {}).samples == input.samples) return;
  Finding finding;
  finding.message = "the grid has another number of samples";
  finding.file = input.files[0].name();
  findings(std::move(finding));
}

constexpr ReaderLists kLists{.program = "Grids",
                             .classes_name = "classes.txt",
                             .train_name = "train.csv",
                             .other_name = "test.csv",
                             .behind_key = ""};
constexpr Layout kPlain{.name = "plain-grid",
                        .summary = "a grid",
                        .option = "",
                        .writes = Layout::Writes::anything,
                        .container = "grid",
                        .suffix_hint = "choose an output that ends in .grid"};
constexpr Layout kListed{.name = "listed-grid",
                         .summary = "a grid",
                         .option = "listed",
                         .container = "grid",
                         .suffix_hint = "choose an output that ends in .grid",
                         .lists = &kLists};
constexpr Layout kOther{.name = "other-grid",
                        .summary = "a grid",
                        .option = "other",
                        .container = "grid",
                        .suffix_hint = "choose an output that ends in .grid"};
constexpr Layout kByClass{.name = "grid-per-class",
                          .summary = "a grid",
                          .option = "other",
                          .writes = Layout::Writes::class_files,
                          .container = "grid",
                          .suffix_hint = "choose an output that ends in .grid"};
constexpr Layout kByList{.name = "grid-per-list",
                         .summary = "a grid",
                         .option = "listed",
                         .writes = Layout::Writes::list_files,
                         .container = "grid",
                         .suffix_hint = "choose an output that ends in .grid",
                         .lists = &kLists};
constexpr const Layout* kLayouts[] = {&kPlain, &kListed, &kOther, &kByClass, &kByList};

}  // namespace

const Format grid_format = {
    .name = "grid",
    .summary = "columns of one file; nothing is written",
    .suffixes = kSuffixes,
    .options = {},
    .reserved_fields = {},
    .can = {.kinds = kKinds},
    .bid = bid_for_grid,
    .survey = survey_grid,
    .scan = scan_grid,
    .layouts = kLayouts,
};

std::string grid_bytes(const std::vector<GridColumn>& columns, std::uint64_t samples,
                       std::uint64_t gap) {
  std::vector<std::uint64_t> bases(columns.size());
  std::uint64_t end = head_bytes(columns, samples, bases).size();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    bases[i] = end + gap;
    end = bases[i] + columns[i].values.size();
  }
  const std::vector<std::byte> head = head_bytes(columns, samples, bases);
  std::string file(as_text(head));
  for (const GridColumn& column : columns) file += std::string(gap, '\xee') + column.values;
  return file;
}

}  // namespace shale::test
