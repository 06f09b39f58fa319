#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/format/source.hpp"
#include "shale/io/unpacked_stream.hpp"
#include "shale/wire/tar_reader.hpp"

namespace shale {

/// A member of an archive in a stream, and where it would be unpacked.
struct StreamMember {
  TarMember::Type type = TarMember::Type::file;
  std::string path;         ///< in the folder that is read, with slashes
  std::string target;       ///< of a link
  bool is_inner = false;    ///< of an archive in the archive, whose folder `path` begins with
  bool is_archive = false;  ///< such an archive itself: a folder; `path` is without its suffix
  std::uint64_t header = 0, bytes = 0;
};

/// The error for a link, which may lead to a member that comes later, or came before.
[[nodiscard]] Error link_in_stream(const std::string& path, std::string_view target);

/// The members of a tar archive as they come, those of archives in it included, in the stream's
/// order. Errors name the stream, the byte (of the decompressed one), and the member. One thread.
class StreamMembers {
 public:
  /// `folder`: the one that is read; what is not in it is passed over.
  StreamMembers(std::unique_ptr<UnpackedStream> stream, const std::string& folder);

  [[nodiscard]] const std::string& name() const { return stream_->name(); }
  /// The next member of the folder; nullopt at the end. Errors: those of TarReader and
  /// UnpackedStream; Code::bad_content for a name that leads out of the archive; Code::unsupported
  /// for a link on the way to the folder; Code::not_found at the end for a folder that is not
  /// there.
  [[nodiscard]] std::optional<StreamMember> next();
  /// Of the member that next() gave last, all its data. Errors: Code::damaged if the stream ends
  /// before.
  void read_data(std::span<std::byte> into);
  void skip_data();
  /// Where the stream is.
  [[nodiscard]] StreamPoint point() const { return {stream_->position(), stream_->hash()}; }
  /// False if the archive, or one in it, had no mark of its end, so far as it was read.
  [[nodiscard]] bool has_end_marks() const { return has_end_marks_; }

 private:
  [[nodiscard]] std::optional<TarMember> advance();
  [[nodiscard]] std::optional<TarMember> feed(TarReader& reader);
  [[nodiscard]] std::optional<StreamMember> in_folder(TarMember member);
  [[nodiscard]] bool begin_inner(const TarMember& member, const std::string& path);

  std::unique_ptr<UnpackedStream> stream_;
  std::string shown_folder_, folder_;  // as it was given; as a path of the archive
  bool has_folder_;
  TarReader outer_;
  std::optional<TarReader> inner_;
  std::string inner_folder_, inner_name_;
  std::uint64_t data_begin_ = 0, data_end_ = 0;  // of the last member
  std::vector<std::byte> buffer_;
  bool has_end_marks_ = true;
};

}  // namespace shale
