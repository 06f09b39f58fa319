#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shale/io/nameless_file.hpp"

#include "formats/parquet/parquet_foreign.hpp"
#include "tests/fuzz/fuzz_scan.hpp"

namespace {

// A run of levels has 2^30 rows in a few bytes, which is no finding of a fuzzer.
shale::WalkProgress stop_after(std::uint64_t calls) {
  return [calls](std::uint64_t, std::uint64_t) mutable {
    if (calls-- == 0) throw shale::Error(shale::Code::limit, "enough rows");
  };
}
constexpr std::uint64_t kMostCalls = 4096, kMostUnpackedPages = 64;

void scan(const std::vector<shale::InputFile>& files, const shale::Survey& survey,
          bool reads_payload) {
  std::uint64_t values = 0;  // of FILE.values
  const std::uint64_t size = files[0].size();
  shale::ShardInput input{files, survey.schema, survey.layout, reads_payload};
  input.progress = stop_after(kMostCalls);
  input.put_value = [&](shale::Bytes value) { return (values += value.size()) - value.size(); };
  const auto check_row = [&](const shale::IndexRow& row) {
    const auto size_of = [&](std::uint32_t part) { return part == 0 ? size : values; };
    shale::test::need_inside(row.key, size_of(survey.layout.key_part));
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      shale::test::need_inside(row.cells[i].place, size_of(survey.layout.field_part[i]));
    for (const shale::FieldPlace& element : row.elements)
      shale::test::need_inside(element, std::max(size, values));
  };
  shale::scan_foreign_parquet(input, check_row, [](const shale::Finding&) {});
}

template <class Call>
void refuse_or(const Call& call) {
  try {
    call();
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::io || error.code() == shale::Code::bug) __builtin_trap();
  }
}

}  // namespace

// Any bytes are a file of another tool: it is surveyed, scanned and unpacked, or refused. No fuzzer
// guesses both ends of the file.
extern "C" int fuzz_parquet_foreign(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size >= 8) bytes.replace(0, 4, "PAR1").replace(size - 4, 4, "PAR1");
  const shale::test::FuzzedFile file(bytes);
  refuse_or([&] {
    const shale::Survey survey =
        shale::survey_parquet(file.files()[0], shale::Dialect::plain, stop_after(kMostCalls));
    for (const bool reads_payload : {false, true}) scan(file.files(), survey, reads_payload);
  });
  refuse_or([&] {
    const shale::NamelessFile into("/dev/shm");
    (void)shale::unpack_parquet({.file = file.files()[0],
                                 .into = into,
                                 .memory_bytes = 1 << 20,
                                 .progress = stop_after(kMostUnpackedPages)});
  });
  return 0;
}
