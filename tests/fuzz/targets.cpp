#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

// All targets are one executable, linked once: it is the target that it is called as. fuzz_X.cpp
// has a function fuzz_X, and CMake makes a link of that name for each.

using Target = int (*)(const std::uint8_t* data, std::size_t size);

extern "C" {
int fuzz_coco(const std::uint8_t*, std::size_t);
int fuzz_csv(const std::uint8_t*, std::size_t);
int fuzz_features_json(const std::uint8_t*, std::size_t);
int fuzz_hdf5_describe(const std::uint8_t*, std::size_t);
int fuzz_hdf5_own(const std::uint8_t*, std::size_t);
int fuzz_hdf5_scan(const std::uint8_t*, std::size_t);
int fuzz_idx(const std::uint8_t*, std::size_t);
int fuzz_image_probe(const std::uint8_t*, std::size_t);
int fuzz_inflate(const std::uint8_t*, std::size_t);
int fuzz_journal(const std::uint8_t*, std::size_t);
int fuzz_image_view(const std::uint8_t*, std::size_t);
int fuzz_image_work(const std::uint8_t*, std::size_t);
int fuzz_jpeg_rgb(const std::uint8_t*, std::size_t);
int fuzz_key_pattern(const std::uint8_t*, std::size_t);
int fuzz_list_elements(const std::uint8_t*, std::size_t);
int fuzz_lmdb_cursor(const std::uint8_t*, std::size_t);
int fuzz_lmdb_layout(const std::uint8_t*, std::size_t);
int fuzz_lmdb_scan(const std::uint8_t*, std::size_t);
int fuzz_manifest(const std::uint8_t*, std::size_t);
int fuzz_msgpack_map(const std::uint8_t*, std::size_t);
int fuzz_npy_header(const std::uint8_t*, std::size_t);
int fuzz_npz(const std::uint8_t*, std::size_t);
int fuzz_packed_value(const std::uint8_t*, std::size_t);
int fuzz_parquet_foreign(const std::uint8_t*, std::size_t);
int fuzz_parquet_own(const std::uint8_t*, std::size_t);
int fuzz_pickle_reader(const std::uint8_t*, std::size_t);
int fuzz_pt_archive(const std::uint8_t*, std::size_t);
int fuzz_python_literal(const std::uint8_t*, std::size_t);
int fuzz_record_scan(const std::uint8_t*, std::size_t);
int fuzz_report(const std::uint8_t*, std::size_t);
int fuzz_safetensors_header(const std::uint8_t*, std::size_t);
int fuzz_tar(const std::uint8_t*, std::size_t);
int fuzz_tar_stream(const std::uint8_t*, std::size_t);
int fuzz_tf_example(const std::uint8_t*, std::size_t);
int fuzz_view_work(const std::uint8_t*, std::size_t);
int fuzz_voc(const std::uint8_t*, std::size_t);
int fuzz_webdataset_foreign(const std::uint8_t*, std::size_t);
int fuzz_webdataset_scan(const std::uint8_t*, std::size_t);
int fuzz_zip(const std::uint8_t*, std::size_t);
/// Of fuzz_hdf5_scan, which asks the HDF5 library in a child.
int prepare_for_children();
}

namespace {

struct NamedTarget {
  std::string_view name;
  Target run;
};

constexpr NamedTarget kTargets[] = {
    {"fuzz_coco", fuzz_coco},
    {"fuzz_csv", fuzz_csv},
    {"fuzz_features_json", fuzz_features_json},
    {"fuzz_hdf5_describe", fuzz_hdf5_describe},
    {"fuzz_hdf5_own", fuzz_hdf5_own},
    {"fuzz_hdf5_scan", fuzz_hdf5_scan},
    {"fuzz_idx", fuzz_idx},
    {"fuzz_image_probe", fuzz_image_probe},
    {"fuzz_inflate", fuzz_inflate},
    {"fuzz_journal", fuzz_journal},
    {"fuzz_image_view", fuzz_image_view},
    {"fuzz_image_work", fuzz_image_work},
    {"fuzz_jpeg_rgb", fuzz_jpeg_rgb},
    {"fuzz_key_pattern", fuzz_key_pattern},
    {"fuzz_list_elements", fuzz_list_elements},
    {"fuzz_lmdb_cursor", fuzz_lmdb_cursor},
    {"fuzz_lmdb_layout", fuzz_lmdb_layout},
    {"fuzz_lmdb_scan", fuzz_lmdb_scan},
    {"fuzz_manifest", fuzz_manifest},
    {"fuzz_msgpack_map", fuzz_msgpack_map},
    {"fuzz_npy_header", fuzz_npy_header},
    {"fuzz_npz", fuzz_npz},
    {"fuzz_packed_value", fuzz_packed_value},
    {"fuzz_parquet_foreign", fuzz_parquet_foreign},
    {"fuzz_parquet_own", fuzz_parquet_own},
    {"fuzz_pickle_reader", fuzz_pickle_reader},
    {"fuzz_pt_archive", fuzz_pt_archive},
    {"fuzz_python_literal", fuzz_python_literal},
    {"fuzz_record_scan", fuzz_record_scan},
    {"fuzz_report", fuzz_report},
    {"fuzz_safetensors_header", fuzz_safetensors_header},
    {"fuzz_tar", fuzz_tar},
    {"fuzz_tar_stream", fuzz_tar_stream},
    {"fuzz_tf_example", fuzz_tf_example},
    {"fuzz_view_work", fuzz_view_work},
    {"fuzz_voc", fuzz_voc},
    {"fuzz_webdataset_foreign", fuzz_webdataset_foreign},
    {"fuzz_webdataset_scan", fuzz_webdataset_scan},
    {"fuzz_zip", fuzz_zip},
};

Target chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char*** arguments) {
  std::string_view name = **arguments;
  name = name.substr(name.rfind('/') + 1);
  const auto found = std::find_if(std::begin(kTargets), std::end(kTargets),
                                  [&](const NamedTarget& target) { return target.name == name; });
  if (found == std::end(kTargets)) {
    std::fputs("no fuzz target has this name: call it by one of its links, fuzz_X\n", stderr);
    std::exit(2);
  }
  chosen = found->run;
  return prepare_for_children();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return chosen(data, size);
}
