#include "shale/parquet/parquet_expansion.hpp"

#include <utility>

#include "shale/base/error.hpp"

namespace shale {

void ParquetExpansion::give(std::uint64_t bytes) {
  if (bytes > most_bytes() - given_)
    throw Error(Code::limit,
                "values of {} bytes are read already and this one has {}, at most {} are read of a "
                "file of {}",
                given_, bytes, most_bytes(), file_bytes_);
  given_ += bytes;
}

void ParquetExpansion::exchange(std::uint64_t& held, std::uint64_t bytes) {
  held_ -= std::exchange(held, 0);
  if (bytes > kMostHeld - held_)
    throw Error(Code::limit, "page of {} bytes beside {} of other columns, at most {} are held",
                bytes, held_, kMostHeld);
  held_ += held = bytes;
}

}  // namespace shale
