#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <hdf5.h>

#include "shale/base/checksum.hpp"
#include "shale/data/fixed_value.hpp"

#include "formats/hdf5/foreign/hdf5_foreign.hpp"
#include "formats/hdf5/hdf5_library.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale::test {

/// Makes HDF5 files as other tools do, through the library; the file is whole when the maker is
/// gone. The tests that use it have one thread, so the library's lock is theirs.
class ForeignFile {
 public:
  using Sides = std::vector<hsize_t>;

  explicit ForeignFile(const std::string& path, hsize_t user_block = 0, bool is_old = true) {
    (void)lock_hdf5();  // its errors are not printed from here on
    const Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_userblock(creation.id(), user_block);
    if (!is_old) H5Pset_libver_bounds(access.id(), H5F_LIBVER_V18, H5F_LIBVER_V110);
    file_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), access.id());
  }
  ~ForeignFile() { H5Fclose(file_); }
  ForeignFile(const ForeignFile&) = delete;
  ForeignFile& operator=(const ForeignFile&) = delete;

  [[nodiscard]] hid_t id() const { return file_; }

  /// How the next dataset is stored.
  ForeignFile& chunked(const Sides& sides, bool is_compressed = false) {
    H5Pset_chunk(layout(), static_cast<int>(sides.size()), sides.data());
    if (is_compressed) H5Pset_deflate(layout(), 6);
    return *this;
  }
  ForeignFile& growing() {
    may_grow_ = true;
    return *this;
  }
  hid_t layout() {
    if (layout_ < 0) layout_ = H5Pcreate(H5P_DATASET_CREATE);
    return layout_;
  }

  /// A dataset of these sides; `data` (of type `memory`) is written unless it is null.
  void put(const std::string& name, hid_t type, const Sides& sides, hid_t memory,
           const void* data) {
    const Sides most(sides.size(), H5S_UNLIMITED);
    const Hdf5Handle space(sides.empty()
                               ? H5Screate(H5S_SCALAR)
                               : H5Screate_simple(static_cast<int>(sides.size()), sides.data(),
                                                  may_grow_ ? most.data() : nullptr),
                           H5Sclose);
    const hid_t layout = layout_ < 0 ? H5P_DEFAULT : layout_;
    const Hdf5Handle set(
        H5Dcreate2(file_, name.c_str(), type, space.id(), H5P_DEFAULT, layout, H5P_DEFAULT),
        H5Dclose);
    if (data != nullptr) H5Dwrite(set.id(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    if (layout_ >= 0) H5Pclose(layout_);
    layout_ = -1;
    may_grow_ = false;
  }

  /// Numbers 0, 1, 2 ... of this type.
  void count(const std::string& name, hid_t type, const Sides& sides) {
    std::size_t elements = 1;
    for (const hsize_t side : sides) elements *= side;
    std::vector<std::int64_t> numbers(elements);
    for (std::size_t i = 0; i < elements; ++i) numbers[i] = static_cast<std::int64_t>(i);
    put(name, type, sides, H5T_NATIVE_INT64, numbers.data());
  }

  void flat(const std::string& name, std::string_view bytes) {
    put(name, H5T_STD_U8LE, {bytes.size()}, H5T_NATIVE_UINT8, bytes.data());
  }
  void offsets(const std::string& name, const std::vector<std::int64_t>& at,
               hid_t type = H5T_STD_U64LE) {
    put(name, type, {at.size()}, H5T_NATIVE_INT64, at.data());
  }

  void sequences(const std::string& name, std::vector<std::string> values) {
    std::vector<hvl_t> items;
    for (std::string& value : values) items.push_back({value.size(), value.data()});
    const Hdf5Handle type = sequence_of(H5T_STD_U8LE);
    put(name, type.id(), {items.size()}, type.id(), items.data());
  }
  void strings(const std::string& name, const std::vector<std::string>& values) {
    std::vector<const char*> items;
    for (const std::string& value : values) items.push_back(value.c_str());
    const Hdf5Handle type = text_type();
    put(name, type.id(), {items.size()}, type.id(), items.data());
  }

  static Hdf5Handle sequence_of(hid_t base) { return {H5Tvlen_create(base), H5Tclose}; }
  static Hdf5Handle text_type(std::size_t bytes = H5T_VARIABLE) {
    Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.id(), bytes);
    H5Tset_cset(type.id(), H5T_CSET_UTF8);
    H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
    return type;
  }

 private:
  hid_t file_ = -1, layout_ = -1;
  bool may_grow_ = false;
};

/// A file as its survey and its scan tell it, every value read by pread.
struct ForeignRows {
  Survey survey;
  std::vector<IndexRow> rows;
  std::vector<Finding> findings;
  std::vector<std::string> keys;
  /// Values by field and row: bytes as they are, numbers in decimals, "missing".
  std::vector<std::vector<std::string>> values;

  [[nodiscard]] const std::vector<std::string>& of(std::string_view field) const {
    return values.at(survey.schema.find(field).value());
  }
  [[nodiscard]] const Field& field(std::string_view name) const {
    return survey.schema.fields.at(survey.schema.find(name).value());
  }
};

inline std::string bytes_at(const InputFile& file, const FieldPlace& place) {
  if (place.offset == kMissing) return "missing";
  std::string bytes(place.length, '\0');
  file.read_exact(place.offset, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

/// Scans with payload, by a survey that was made before. Where rows are fixed the scan gives none:
/// they are read where the survey says, if nothing is wrong.
inline ForeignRows scan_foreign(const std::string& path, Survey survey) {
  ForeignRows all;
  all.survey = std::move(survey);
  std::vector<InputFile> files;
  files.emplace_back(path);
  const std::vector<Field>& fields = all.survey.schema.fields;
  all.values.resize(fields.size());
  const auto keep = [&](const IndexRow& row) {
    if (all.survey.layout.has_keys) all.keys.push_back(bytes_at(files[0], row.key));
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const IndexCell& cell = row.cells.at(i);
      all.values[i].push_back(fields[i].kind == Kind::integer ? std::to_string(cell.integer)
                              : fields[i].kind == Kind::real  ? std::to_string(cell.real)
                                                              : bytes_at(files[0], cell.place));
    }
    all.rows.push_back(row);
  };
  const bool is_fixed = all.survey.layout.rows.has_strides();
  scan_foreign_hdf5(
      {files, all.survey.schema, all.survey.layout, true, all.survey.samples, all.survey.bases},
      keep, [&](Finding finding) { all.findings.push_back(std::move(finding)); });
  if (!is_fixed || !all.findings.empty()) return all;
  for (std::uint64_t row = 0; row < all.survey.samples; ++row) {
    IndexRow made;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::uint64_t stride = fixed_bytes_of(fields[i]).value();
      const FieldPlace place{.offset = all.survey.bases.at(i) + row * stride, .length = stride};
      IndexCell& cell = made.cells.emplace_back();
      if (!is_located(fields[i].kind))
        cell = read_number(as_bytes(bytes_at(files[0], place)), fields[i]);
      cell.place = place;
    }
    keep(made);
  }
  return all;
}

inline ForeignRows read_foreign(const std::string& path) {
  return scan_foreign(path, survey_hdf5_file(InputFile(path), Dialect::plain));
}

/// Row by row, what the library reads of a dataset of numbers, in the file's own type.
inline std::vector<std::string> rows_by_library(const std::string& path, const std::string& name) {
  const auto lock = lock_hdf5();
  const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  const Hdf5Handle set(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle type(H5Dget_type(set.id()), H5Tclose), space(H5Dget_space(set.id()), H5Sclose);
  std::array<hsize_t, H5S_MAX_RANK> sides{};
  const int rank = H5Sget_simple_extent_dims(space.id(), sides.data(), nullptr);
  const std::size_t row_bytes =
      std::accumulate(sides.begin() + 1, sides.begin() + rank, H5Tget_size(type.id()),
                      [](std::size_t bytes, hsize_t side) { return bytes * side; });
  std::string all(row_bytes * sides[0], '\0');
  if (H5Dread(set.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()) < 0)
    throw Error(Code::bug, "the library cannot read the rows of '{}'", name);
  std::vector<std::string> rows;
  for (hsize_t row = 0; row < sides[0]; ++row)
    rows.push_back(all.substr(row * row_bytes, row_bytes));
  return rows;
}

}  // namespace shale::test
