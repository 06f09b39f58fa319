#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shale/base/blob.hpp"
#include "shale/base/bytes.hpp"
#include "shale/data/sample.hpp"
#include "shale/io/scratch_file.hpp"

namespace shale::layouts {

/// Values in the order in which they come, until they are asked for by number. Errors: Code::io.
class ValueSpool {
 public:
  explicit ValueSpool(const std::string& folder) : places_(folder), small_(folder) {}

  struct Place {
    std::uint64_t at = 0;  // the page of a large value, where a small one lies in the spool
    std::uint64_t bytes = 0;
  };
  void add(const Place& place) { places_.append(std::as_bytes(std::span(&place, 1))); }
  // Where it is.
  std::uint64_t add_small(const Blob& value) {
    const std::uint64_t at = small_.size();
    value.for_each_piece([&](Bytes piece) { small_.append(piece); });
    return at;
  }
  [[nodiscard]] Place place(std::uint64_t number) {
    Place place;
    places_.read_exact(number * sizeof place, std::as_writable_bytes(std::span(&place, 1)));
    return place;
  }
  [[nodiscard]] std::vector<std::byte> small(const Place& place) {
    std::vector<std::byte> value(place.bytes);
    small_.read_exact(place.at, value);
    return value;
  }

 private:
  ScratchFile places_, small_;
};

}  // namespace shale::layouts
