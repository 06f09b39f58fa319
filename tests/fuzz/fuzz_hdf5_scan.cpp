#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/hdf5/foreign/hdf5_foreign.hpp"
#include "tests/fuzz/need.hpp"

// What libFuzzer has the sanitizers call when the process dies.
extern "C" void __sanitizer_set_death_callback(void (*callback)());

namespace {

using shale::test::need;

// A death in the child is the HDF5 library's, and handled: it must not be told as ours.
extern "C" int prepare_for_children() {
  return ::pthread_atfork(nullptr, nullptr, [] { __sanitizer_set_death_callback(nullptr); });
}

bool is_in_bytes(const shale::Error& error) {
  return error.code() == shale::Code::damaged || error.code() == shale::Code::unsupported ||
         error.code() == shale::Code::limit;
}

void scan_as(const shale::Survey& survey, const std::vector<shale::InputFile>& files) {
  const std::uint64_t size = files[0].size();
  const auto is_inside = [&](const shale::FieldPlace& place) {
    return place.offset == shale::kMissing ||
           (place.offset <= size && place.length <= size - place.offset);
  };
  for (const bool reads_payload : {false, true}) {
    const auto check_row = [&](const shale::IndexRow& row) {
      need(is_inside(row.key));
      for (const shale::IndexCell& cell : row.cells) need(is_inside(cell.place));
    };
    shale::scan_foreign_hdf5({files, survey.schema, survey.layout, reads_payload}, check_row,
                             [](const shale::Finding&) {});
  }
}

// Any bytes are a file of another tool: it is surveyed and scanned, or refused.
void read_as_foreign(const std::vector<shale::InputFile>& files) {
  shale::Survey survey;
  try {
    survey = shale::survey_hdf5_file(files[0], {});
  } catch (const shale::Error& error) {
    need(is_in_bytes(error));
    // The scan says it too, as a finding.
    survey.layout = {.file_suffixes = {""}, .part_file = {0}, .field_part = {}};
  }
  scan_as(survey, files);
}

}  // namespace

extern "C" int fuzz_hdf5_scan(const std::uint8_t* data, std::size_t size) {
  const int descriptor = ::memfd_create("fuzz", MFD_CLOEXEC);
  need(descriptor >= 0 && ::write(descriptor, data, size) == static_cast<ssize_t>(size));
  std::vector<shale::InputFile> files;
  files.emplace_back("/proc/self/fd/" + std::to_string(descriptor));
  read_as_foreign(files);
  ::close(descriptor);
  return 0;
}
