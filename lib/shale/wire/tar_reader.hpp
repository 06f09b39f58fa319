#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"

// clang-format off
// tar: members one after the other, each a header of 512 bytes and its data, padded with zeros to a multiple of 512.
//   +0    100  name, ends with NUL if shorter      +257   6  magic "ustar\0" (POSIX, with 2 bytes version "00"),
//   +100    8  mode                                          "ustar " (GNU, with " \0"), anything else (V7)
//   +108    8  owner, +116  8  group               +265  32  name of the owner, +297  32  of the group
//   +124   12  size                                +329   8  major, +337  8  minor number of a device
//   +136   12  time of modification                +345 155  POSIX: what stands before the name, with '/' between
//   +148    8  checksum: the sum of all bytes of the header, with these 8 as blanks; some sum signed bytes
//   +156    1  type: '0' NUL '7' file, '1' hard link, '2' symbolic link, '3' '4' devices, '5' folder, '6' FIFO,
//              'x' 'g' PAX headers, 'L' 'K' GNU's long name and long link, 'D' GNU's folder with its contents,
//              'S' GNU's sparse file, 'M' rest of a file from another volume, 'V' name of the volume
//   +157  100  target of a link
// Numbers are octal digits, blanks before and a blank or NUL behind, or (GNU) base 256, big-endian, with the highest bit
// set. Only files, the headers of PAX and GNU's and 'V' and 'D' have data. A PAX header is lines "LENGTH KEY=VALUE\n", LENGTH counting
// all of the line, that replace what the next header says ('x'), or all further ones ('g'). Two blocks of zeros end the
// archive; so does the end of the file. A name that ends in '/' is that of a folder.
// Sources: POSIX.1-2017, pax, https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html ("pax Interchange
// Format", "ustar Interchange Format"); GNU tar 1.34, "Basic Tar Format" and tar.h.
// clang-format on

namespace shale {

inline constexpr std::uint64_t kTarBlockBytes = 512;
/// Of a name or the target of a link, as systems have it (PATH_MAX).
inline constexpr std::uint64_t kMostTarPathBytes = 4095;
/// Of one PAX header, or one of GNU's long names.
inline constexpr std::uint64_t kMostTarExtensionBytes = 1 << 20;

/// More than any stream has.
inline constexpr std::uint64_t kEndOfTarStream = std::uint64_t{1} << 62;

/// True for a block that is the header of a member, by its checksum.
[[nodiscard]] bool is_tar_header(Bytes block);

/// The place of a name that the header has in two pieces.
inline constexpr std::uint64_t kInTwoPieces = ~std::uint64_t{0};

/// A member of a tar archive: where it is, unread.
struct TarMember {
  enum class Type { file, folder, hard_link, symbolic_link, special /**< a device or FIFO */ };
  Type type = Type::file;
  std::string path;    ///< as it stands there: raw bytes, without NUL; maybe "../x", "/x", ""
  std::string target;  ///< of a link
  std::uint64_t path_offset = 0;        ///< of the bytes of `path`, or kInTwoPieces
  std::uint64_t header = 0;             ///< offset of its header
  std::uint64_t offset = 0, bytes = 0;  ///< of its data
};

/// Reads a tar archive from headers that the caller fetches, wherever from. One thread.
class TarReader {
 public:
  /// The archive is the bytes [begin, end) of a file; `where` goes into the errors.
  TarReader(std::uint64_t begin, std::uint64_t end, std::string where);

  /// What has to be read next: `wanted()` bytes at `offset()`. 0: the archive has ended, and
  /// nothing of [begin, end) has been left out; finish() then says whether it ended well.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::uint64_t wanted() const;
  /// Takes them. Returns the member whose header was completed by them, if one was; offset() is
  /// behind its data then. Errors: Code::damaged, with file and offset, for a header that is not
  /// one, data that are longer than the archive, an archive that is truncated; Code::unsupported,
  /// by name, for sparse files, parts of archives of several volumes, and what follows the end;
  /// Code::limit for names and PAX headers that are too long.
  [[nodiscard]] std::optional<TarMember> take(Bytes bytes);
  /// True once two blocks of zeros, or one, have ended the archive: not if the file just ends.
  [[nodiscard]] bool has_end_mark() const {
    return state_ == State::second_zeros || state_ == State::padding;
  }
  /// Of a stream, whose end nobody knows beforehand, so that `end` was kEndOfTarStream: it ends at
  /// `end`, behind what was taken. wanted() then is no more than is left. Errors: Code::damaged for
  /// data that are longer.
  void end_at(std::uint64_t end);
  /// Errors: Code::damaged for an archive that ends between the headers of one member.
  void finish() const;

 private:
  enum class State { header, extension, second_zeros, padding };
  struct Text {
    std::string text;
    std::uint64_t offset = 0;
  };
  using Override = std::optional<Text>;
  struct Overrides {
    Override path, target, size;
    bool is_sparse = false;
  };

  std::optional<TarMember> take_header(Bytes block);
  void take_extension(Bytes data);
  void take_pax(Bytes data, Overrides& into) const;
  void take_padding(Bytes bytes);
  [[nodiscard]] TarMember member_of(Bytes block, char type);
  /// Passes over the data of the header at offset_.
  void pass_data(std::uint64_t bytes, const std::string& path);
  [[nodiscard]] Error data_end_early() const;
  void refuse_odd_type(char type, const std::string& path) const;

  std::uint64_t offset_, end_, padding_bytes_ = 0;
  std::string where_;
  State state_ = State::header;
  char extension_ = 0;                 // type of the extension that is read
  std::uint64_t extension_bytes_ = 0;  // of its data
  std::uint64_t member_begin_;         // first header of the member that is read
  std::uint64_t data_begin_ = 0;       // of the header that was read last
  std::uint64_t data_bytes_ = 0;
  std::string data_path_;  // of the member that they are of; empty: of an extension
  Overrides global_, next_;
  Override long_path_, long_target_;  // GNU's
  bool has_extension_ = false;
};

}  // namespace shale
