#include "shale/format/dialect_error.hpp"

#include "shale/base/error.hpp"

namespace shale {

void refuse_lmdb_dialect(std::optional<Dialect> dialect, const InputFile& file,
                         std::string_view kind) {
  if (!dialect || *dialect < Dialect::msgpack) return;
  throw Error(Code::usage, "--parse {} is for LMDB files, but this is {}", name_of(*dialect), kind)
      .at(file.path());
}

}  // namespace shale
