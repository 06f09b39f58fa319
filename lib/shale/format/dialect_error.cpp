#include "shale/format/dialect_error.hpp"

#include "shale/base/error.hpp"

namespace shale {

namespace {

Error for_other_files(Dialect dialect, std::string_view owner, std::string_view kind) {
  return Error(Code::usage, "--parse {} is for {} files, but this is {}", name_of(dialect), owner,
               kind);
}

}  // namespace

void refuse_hdf5_dialect(std::optional<Dialect> dialect, const InputFile& file,
                         std::string_view kind) {
  if (dialect == Dialect::robomimic) throw for_other_files(*dialect, "HDF5", kind).at(file.path());
}

void refuse_lmdb_dialect(std::optional<Dialect> dialect, const InputFile& file,
                         std::string_view kind) {
  if (!dialect || *dialect < Dialect::msgpack || *dialect == Dialect::robomimic) return;
  throw for_other_files(*dialect, "LMDB", kind).at(file.path());
}

void refuse_dialect(std::optional<Dialect> dialect, const InputFile& file, std::string_view kind) {
  refuse_hdf5_dialect(dialect, file, kind);
  refuse_lmdb_dialect(dialect, file, kind);
}

}  // namespace shale
