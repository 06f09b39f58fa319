#pragma once

#include <string>
#include <utility>
#include <vector>

#include "formats/hdf5/hdf5_format.hpp"
#include "formats/hdf5/hdf5_library.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale::test {

/// Every element type that HDF5 shards hold.
inline constexpr std::string_view kHdf5Descrs[] = {"|b1", "|i1", "|u1", "<i2", "<u2",
                                                   "<i4", "<u4", "<i8", "<u8", "<f2",
                                                   "<f4", "<f8", "<c8", "<c16"};

/// As they are by default.
inline const OptionSet kHdf5Options(hdf5_format.options);

/// The bytes of numbers as they lie in memory.
template <class T>
std::string raw(const std::vector<T>& numbers) {
  return std::string(as_text(std::as_bytes(std::span(numbers))));
}

inline Field tensor(std::string name, std::string_view descr, std::vector<std::uint64_t> shape) {
  return {std::move(name), Kind::tensor, DType::parse(descr), std::move(shape)};
}

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
                                              const std::vector<Sample>& samples,
                                              const LabelNames& names = {}) {
  std::vector<OutputFile> files;
  files.emplace_back(path, OutputFile::Options{.io = IoMode::buffered});
  const auto writer = hdf5_format.create_shard(files, schema, kHdf5Options);
  writer->name_labels(names);
  std::vector<IndexRow> rows;
  for (const Sample& sample : samples) {
    Record record = hdf5_format.encode(sample, schema, kHdf5Options);
    const std::span<const std::uint64_t> begins = writer->append(record);
    move_places(record.row, begins[0], begins.subspan(1), 0);
    rows.push_back(std::move(record.row));
  }
  const std::vector<std::uint64_t> bases = writer->close().part_bases;
  for (IndexRow& row : rows) move_places(row, bases[0], std::span(bases).subspan(1), 0);
  (void)files[0].finish();
  return rows;
}

/// A shard of fixed rows, of these runs of them; returns where its columns begin.
inline std::vector<std::uint64_t> write_fixed_hdf5(const std::string& path, const Schema& schema,
                                                   const std::vector<Record>& runs,
                                                   const LabelNames& names = {}) {
  std::vector<OutputFile> files;
  files.emplace_back(path, OutputFile::Options{.io = IoMode::buffered});
  const auto writer = hdf5_format.create_shard(files, schema, kHdf5Options);
  writer->name_labels(names);
  for (const Record& run : runs) (void)writer->append(run);
  std::vector<std::uint64_t> bases = writer->close().part_bases;
  (void)files[0].finish();
  return bases;
}

/// One row of it, as the workers encode it.
inline Record fixed_row(const Schema& schema, const Sample& sample) {
  Record record = hdf5_format.encode(sample, schema, kHdf5Options);
  record.digest.samples = 1;
  return record;
}

struct ScannedHdf5 {
  std::vector<IndexRow> rows;
  std::vector<Finding> findings;
};

inline ScannedHdf5 scan_hdf5(const std::string& path, const Schema& schema,
                             bool reads_payload = true, std::uint64_t samples = 0,
                             std::span<const std::uint64_t> bases = {}) {
  ScannedHdf5 scanned;
  std::vector<InputFile> files;
  files.emplace_back(path);
  const ShardLayout layout = hdf5_format.layout(schema, kHdf5Options);
  hdf5_format.scan(
      {files, schema, layout, reads_payload, samples, bases}, {},
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

/// What a type is to NumPy, asked of the library.
inline std::string described_by_library(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("{}{}{}", bytes == 1 ? "|" : "<",
                         H5Tget_sign(type) == H5T_SGN_2 ? 'i' : 'u', bytes);
    case H5T_FLOAT:
      if (bytes == 2) return H5Tget_ebias(type) == 15 ? "<f2" : "?";
      return H5Tequal(type, bytes == 4 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE) > 0
                 ? fmt::format("<f{}", bytes)
                 : "?";
    case H5T_ENUM: {
      std::int8_t value = 0;
      const Hdf5Handle base(H5Tget_super(type), H5Tclose);
      const bool is_bool = H5Tequal(base.id(), H5T_STD_I8LE) > 0 &&
                           H5Tenum_valueof(type, "TRUE", &value) >= 0 && value == 1 &&
                           H5Tenum_valueof(type, "FALSE", &value) >= 0 && value == 0;
      return is_bool && H5Tget_nmembers(type) == 2 ? "|b1" : "?";
    }
    case H5T_COMPOUND: {
      const Hdf5Handle part(H5Tget_member_type(type, 1), H5Tclose);
      const bool is_complex = H5Tget_nmembers(type) == 2 && H5Tget_member_index(type, "r") == 0 &&
                              H5Tget_member_index(type, "i") == 1 &&
                              H5Tget_member_offset(type, 1) == bytes / 2 &&
                              described_by_library(part.id()) == fmt::format("<f{}", bytes / 2);
      return is_complex ? fmt::format("<c{}", bytes) : "?";
    }
    default:
      return "?";
  }
}

}  // namespace shale::test
