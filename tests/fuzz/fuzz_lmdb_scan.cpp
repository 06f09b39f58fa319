#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/layouts/value_layout.hpp"

#include "formats/lmdb/lmdb_scan.hpp"
#include "tests/fuzz/fuzz_scan.hpp"

namespace {

using shale::Dialect;

// A page has no more entries than two bytes each: rows cannot outnumber them.
void scan(const std::vector<shale::InputFile>& files, std::size_t size, const shale::Schema& schema,
          const shale::ShardLayout& layout) {
  for (const bool reads_payload : {false, true}) {
    std::size_t rows = 0;
    const auto check_row = [&](const shale::IndexRow& row) {
      shale::test::need_inside(row.key, size);
      if (row.cells.size() != schema.fields.size() || ++rows > size) __builtin_trap();
      for (const shale::IndexCell& cell : row.cells) shale::test::need_inside(cell.place, size);
    };
    shale::scan_lmdb_shard({files, schema, layout, reads_payload}, shale::OptionSet(), check_row,
                           [](const shale::Finding&) {});
  }
}

void scan_as_surveyed(const std::vector<shale::InputFile>& files, std::size_t size,
                      std::optional<Dialect> dialect) {
  try {
    const shale::Survey survey = shale::survey_lmdb_file(files[0], dialect);
    scan(files, size, survey.schema, survey.layout);
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::io || error.code() == shale::Code::bug) __builtin_trap();
  }
}

}  // namespace

// Any bytes are an LMDB file: scans give rows and findings, surveys a schema or an error, and end.
extern "C" int fuzz_lmdb_scan(const std::uint8_t* data, std::size_t size) {
  const shale::test::FuzzedFile file({reinterpret_cast<const char*>(data), size});
  const std::vector<shale::InputFile>& files = file.files();
  shale::Schema schema;
  schema.fields = {{.name = "image", .kind = shale::Kind::bytes},
                   {.name = "label", .kind = shale::Kind::integer},
                   {.name = "depth",
                    .kind = shale::Kind::tensor,
                    .dtype = shale::DType::parse("<u2"),
                    .shape = {2, 3}},
                   {.name = "frames", .kind = shale::Kind::list}};
  shale::ShardLayout layout;
  layout.has_whole_records = true;
  scan(files, size, schema, layout);
  schema.fields = {{.name = "value", .kind = shale::Kind::bytes}};
  layout.dialect = Dialect::plain;
  scan(files, size, schema, layout);
  scan_as_surveyed(files, size, Dialect::plain);
  scan_as_surveyed(files, size, Dialect::msgpack);
  scan_as_surveyed(files, size, std::nullopt);
  for (const shale::layouts::LayoutFacts& layout : shale::layouts::all_layouts())
    scan_as_surveyed(files, size, layout.dialect);
  return 0;
}
