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
  if (bytes > most_held_ - held_) {
    wanted_ = held_ + bytes;
    throw Error(Code::limit, "page of {} bytes beside {} of others, at most {} are held", bytes,
                held_, most_held_);
  }
  held_ += held = bytes;
}

}  // namespace shale
