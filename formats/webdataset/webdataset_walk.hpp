#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/lost_range.hpp"
#include "shale/format/walk_progress.hpp"
#include "shale/io/input_file.hpp"
#include "shale/wire/tar_reader.hpp"

// A tar archive as webdataset reads it: a sample is a run of members with one key, the part of a
// member's name before the first dot of its last component. What follows the dot, in lower case,
// says which field the member is. Source: webdataset 0.2, tariterators.py (base_plus_ext,
// group_by_keys).

namespace shale {

/// A member that is a value of a sample. Strings are valid until the next one is read.
struct SampleMember {
  std::string_view key, extension;   ///< "dir/0001" and "seg.png" of "dir/0001.seg.png"
  FieldPlace key_place;              ///< missing: the archive has the name in two pieces
  FieldPlace place;                  ///< of the data
  std::uint64_t begin = 0, end = 0;  ///< of all its blocks
  bool is_first = false;             ///< of its sample
};

/// Members of one kind that are not values: how many, and the name of the first.
struct MembersAside {
  std::uint64_t count = 0;
  std::string first;
};

/// Walks the members of an archive by their headers, which it reads with many pages in flight where
/// most of the archive is headers and small members. One thread. Memory: a window of 256 KiB, and a
/// name.
class SampleWalk {
 public:
  /// All are borrowed. `lost` is passed over; null: nothing is.
  SampleWalk(const InputFile& file, WalkPace& pace, const LostRanges* lost = nullptr,
             std::uint64_t begin = 0);

  /// The next value; nullopt at the end, or where the archive is damaged. Errors: Code::io.
  [[nodiscard]] std::optional<SampleMember> next();
  /// Why it ended before the end of the archive.
  [[nodiscard]] const std::optional<Error>& damage() const { return damage_; }
  /// Where the member begins that next() would look at.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  /// Bytes of the file, for a value whose content says something. Errors: same as WindowReader.
  [[nodiscard]] Bytes view(std::uint64_t offset, std::uint64_t length) {
    return window_.view(offset, length);
  }
  /// What was passed over: links; devices and FIFOs; names that begin with a dot, that have no dot,
  /// and webdataset's own ("__x__"); folders other than the root.
  [[nodiscard]] const MembersAside& links() const { return links_; }
  [[nodiscard]] const MembersAside& specials() const { return specials_; }
  [[nodiscard]] const MembersAside& hidden() const { return hidden_; }
  [[nodiscard]] const MembersAside& nameless() const { return nameless_; }
  [[nodiscard]] const MembersAside& folders() const { return folders_; }

 private:
  void pass_lost();
  void read_ahead(std::uint64_t offset);
  [[nodiscard]] std::optional<SampleMember> value_of(std::uint64_t begin);
  MembersAside* aside_of(std::size_t base, std::size_t dot);

  const InputFile& file_;
  WalkPace& pace_;
  const LostRanges* lost_;
  std::size_t next_lost_ = 0;
  TarReader reader_;
  WindowReader window_;
  SparseReading sparse_;
  std::uint64_t position_, fetched_ = 0;
  std::uint64_t usual_step_;
  TarMember member_;
  std::string key_, extension_;
  bool has_key_ = false, is_end_lost_ = false;
  std::optional<Error> damage_;
  MembersAside links_, specials_, hidden_, nameless_, folders_;
};

}  // namespace shale
