#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/partners/file_pairs.hpp"

namespace shale {

/// Which files of a folder are the fields of one sample, by patterns with one star each. Without a
/// slash they are of names, in one folder: "*_mask.png"; with slashes they are of paths, and the
/// star stands for folders, too: "gtFine/*_gtFine_labelIds.png".
struct PairPattern {
  std::string field, before, after;  ///< of the star
};

/// The patterns of --pairs, of which the first one is that of the samples. Immutable.
class PairPatterns {
 public:
  /// No patterns.
  PairPatterns() = default;
  /// Those of "image=*.jpg,mask=*_mask.png:bytes"; words without '=' are passed over. Errors:
  /// Code::damaged for a pattern that pairs_option() does not let through.
  explicit PairPatterns(std::string_view text);

  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] const std::vector<PairPattern>& all() const { return all_; }
  /// They are of paths: folders are then not classes.
  [[nodiscard]] bool have_folders() const { return have_folders_; }
  /// The one that a file is of: of several, the one with the longest text beside its star.
  [[nodiscard]] std::optional<std::size_t> which(std::string_view folder,
                                                 std::string_view name) const;
  /// What the files of one sample share: the star, behind the folder where patterns are of names.
  [[nodiscard]] std::string star_of(std::size_t pattern, std::string_view folder,
                                    std::string_view name) const;
  /// The file of another pattern that has the star of the sample at `path`.
  [[nodiscard]] std::string partner_of(std::size_t pattern, std::string_view path) const;
  /// That of the samples as the option has it, and a comma: "image=*.jpg,"; empty: no patterns.
  [[nodiscard]] std::string sample_word() const;
  /// What the user is told of samples without partner.
  [[nodiscard]] std::string note_on_incomplete(std::uint64_t samples) const;

 private:
  std::vector<PairPattern> all_;
  bool have_folders_ = false;
};

/// What --pairs says, checked. Errors: Code::usage.
[[nodiscard]] std::string pairs_option(std::string_view text);

}  // namespace shale
