#include "shale/format/dialect_error.hpp"

namespace shale {

Error msgpack_needs_lmdb(const InputFile& file, std::string_view kind) {
  return Error(Code::usage, "--parse msgpack is for LMDB files, but this is {}", kind)
      .at(file.path());
}

}  // namespace shale
