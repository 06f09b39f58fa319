#pragma once

#include <string>
#include <utility>
#include <vector>

#include "formats/hdf5/hdf5_format.hpp"
#include "formats/hdf5/hdf5_library.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale::test {

/// One field of every kind that HDF5 shards hold.
inline Schema hdf5_schema() {
  return {.fields = {{"image", Kind::bytes, {}, {}},
                     {"caption", Kind::text, {}, {}},
                     {"label", Kind::integer, {}, {}},
                     {"score", Kind::real, {}, {}},
                     {"depth", Kind::tensor, DType::parse("<u2"), {2, 3}}}};
}

inline Sample hdf5_sample(std::string key = "cat/7.jpg") {
  return {.key = std::move(key),
          .values = {as_bytes("JPEG"), as_bytes("a cat"), std::int64_t{-3}, 0.1,
                     as_bytes("AABBCCDDEEFF")}};
}

/// A shard of `samples`; returns its rows, with places in the file.
inline std::vector<IndexRow> write_hdf5_shard(const std::string& path, const Schema& schema,
                                              const std::vector<Sample>& samples) {
  std::vector<OutputFile> files;
  files.emplace_back(path, OutputFile::Options{.io = IoMode::buffered});
  const auto writer = hdf5_format.create_shard(files, schema, {}, nullptr);
  std::vector<IndexRow> rows;
  for (const Sample& sample : samples) {
    Record record = hdf5_format.encode(sample, schema, {});
    const std::span<const std::uint64_t> begins = writer->append(record);
    move_places(record.row, begins[0], begins.subspan(1), 0);
    rows.push_back(std::move(record.row));
  }
  const std::vector<std::uint64_t> bases = writer->close().part_bases;
  for (IndexRow& row : rows) move_places(row, bases[0], std::span(bases).subspan(1), 0);
  (void)files[0].finish();
  return rows;
}

struct ScannedHdf5 {
  std::vector<IndexRow> rows;
  std::vector<Finding> findings;
};

inline ScannedHdf5 scan_hdf5(const std::string& path, const Schema& schema,
                             bool reads_payload = true) {
  ScannedHdf5 scanned;
  std::vector<InputFile> files;
  files.emplace_back(path);
  const ShardLayout layout = hdf5_format.layout(schema, {});
  hdf5_format.scan(
      {files, schema, layout, reads_payload}, {},
      [&](const IndexRow& row) { scanned.rows.push_back(row); },
      [&](Finding finding) { scanned.findings.push_back(std::move(finding)); });
  return scanned;
}

/// A file open in the HDF5 library, the judge of what we write. Under lock_hdf5().
inline Hdf5Handle open_in_library(const std::string& path, unsigned mode = H5F_ACC_RDONLY) {
  return {H5Fopen(path.c_str(), mode, H5P_DEFAULT), H5Fclose};
}
inline Hdf5Handle dataset_in_library(const Hdf5Handle& file, const std::string& name) {
  return {H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose};
}

/// All elements of a dataset as the library reads them, in the type that the file gives them.
inline std::string values_in_library(const Hdf5Handle& file, const std::string& name) {
  const Hdf5Handle dataset = dataset_in_library(file, name);
  const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose);
  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose);
  const auto elements = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.id()));
  std::string values(elements * H5Tget_size(type.id()), '?');
  if (H5Dread(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    throw Error(Code::bug, "the library cannot read '{}'", name);
  return values;
}

}  // namespace shale::test
