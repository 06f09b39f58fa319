#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shale/base/bytes.hpp"
#include "shale/data/left_out.hpp"

namespace shale {

/// The type of a picture that a file begins with: "heic", "avif", "gif" ...; empty: none.
[[nodiscard]] std::string_view picture_type_of(Bytes head);

/// Tells pictures that no sample is made of, since their suffix is not one of those that are taken,
/// from other files that are ignored: by their first bytes. One thread.
class UntakenPictures {
 public:
  /// The reason that the list of ignored entries has for the file: "a picture that is not taken:
  /// heic", or `otherwise` for what is not a picture or cannot be read. Of files whose suffix is
  /// not that of a picture only the first 1000 are read.
  [[nodiscard]] std::string reason_for(const std::string& path, std::string_view otherwise);

 private:
  std::uint64_t looked_at_ = 0;
};

/// Adds an ignored entry, by its reason, to what is left out, if it is such a picture.
void add_untaken(LeftOutList& left_out, std::string_view reason);

}  // namespace shale
