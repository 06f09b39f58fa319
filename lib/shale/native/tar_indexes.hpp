#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "shale/base/checksum.hpp"
#include "shale/io/scratch_file.hpp"
#include "shale/sums/message_digest.hpp"
#include "shale/wire/tar_reader.hpp"

// What programs that read WebDataset tars want to know of each before they start:
//   DALI     X.idx, text: "v1.2 SAMPLES\n", then a line per sample: "EXT OFFSET BYTES NAME" for
//   each
//            member, all with blanks between. X is the name of the tar up to its first dot.
//   Energon  X.tar.idx: u64, little-endian: where the headers of each sample begin, and the end.
//   wids     the MD5 of the tar and its number of samples, for a list of all shards.
// A sample is a run of members with one key; each program has its own rule of what that is.
// Sources: DALI 1.53 tools/wds2idx.py and dali/operators/reader/loader/webdataset_loader.cc;
// megatron-energon 7.4 flavors/webdataset/prepare.py and itar.py; wids 0.1.11 wids.py,
// wids_mmtar.py.

namespace shale {

enum class NativeKind { wids, dali, energon };
[[nodiscard]] std::string_view name_of(NativeKind kind);

/// Lines of DALI's index but the first.
class DaliLines {
 public:
  /// `folder` is for a scratch file.
  explicit DaliLines(const std::string& folder) : lines_(folder) {}
  /// Errors: Code::unsupported, with the member's name, for one that no such line can hold.
  void take(const TarMember& member);
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  [[nodiscard]] std::string head() const;
  /// All that follows head().
  [[nodiscard]] ScratchFile& finish();

 private:
  ScratchFile lines_;
  std::string key_;
  std::uint64_t samples_ = 0;
};

/// Offsets of Energon's index.
class EnergonOffsets {
 public:
  explicit EnergonOffsets(const std::string& folder) : offsets_(folder) {}
  void take(const TarMember& member);
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  /// `end`: of the last member.
  [[nodiscard]] ScratchFile& finish(std::uint64_t end);

 private:
  void append(std::uint64_t offset);

  ScratchFile offsets_;
  std::string key_;
  std::uint64_t samples_ = 0;
};

/// Counts samples as wids does, and sees to it that wids finds them. Memory: about 40 bytes per
/// member.
class WidsSamples {
 public:
  /// `header`: the member's block. Errors: Code::unsupported, with the member's name, for what wids
  /// reads as something else, and for a name that another member has.
  void take(const TarMember& member, Bytes header);
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  void take_bytes(Bytes bytes) { md5_.update(bytes); }
  [[nodiscard]] std::string md5() { return md5_.hex(); }

 private:
  struct HashOfHash {
    std::size_t operator()(const Hash128& hash) const { return hash.low; }
  };

  MessageDigest md5_{DigestKind::md5};
  std::unordered_set<Hash128, HashOfHash> names_;
  std::string key_;
  std::uint64_t samples_ = 0;
};

}  // namespace shale
