#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/data/left_out.hpp"
#include "shale/format/archive_file.hpp"

namespace shale {

/// The type of a picture that a file begins with: "heic", "avif", "gif" ...; empty: none.
[[nodiscard]] std::string_view picture_type_of(Bytes head);

/// Tells pictures that no sample is made of, since their suffix is not one of those that are taken,
/// from other files that are ignored: by their first bytes. One thread.
class UntakenPictures {
 public:
  /// Reads the first bytes of the file, as many as there are: returns how many. May throw.
  using ReadHead = std::function<std::size_t(std::span<std::byte>)>;
  /// The reason that the list of ignored entries has for the file: "a picture that is not taken:
  /// heic", or `otherwise` for what is not a picture or cannot be read. Of files whose suffix is
  /// not that of a picture only the first 1000 are read.
  [[nodiscard]] std::string reason_for(std::string_view name, std::string_view otherwise,
                                       const ReadHead& read_head);
  /// The same of a file at `path`, or one in an archive.
  [[nodiscard]] std::string reason_for(const std::string& path, std::string_view otherwise,
                                       const ArchivedFile& archived = {});

 private:
  std::uint64_t looked_at_ = 0;
};

/// Whether a file begins like an image that is taken, whatever its name: also those that are only
/// decoded, if `takes_decodable`. False for what cannot be read.
[[nodiscard]] bool begins_like_image(const std::string& path, const ArchivedFile& archived,
                                     bool takes_decodable);

/// The reason for a file that has the name of a sample, and that no field takes, since not all
/// samples have one with its suffix.
[[nodiscard]] std::string reason_of_partner(std::string_view suffix);

/// The reason for a file with the name of a sample that lies beside the folders of the classes.
[[nodiscard]] std::string reason_of_loose(std::string_view name);
/// And for one that is not a file but a FIFO, a device, a socket.
[[nodiscard]] std::string reason_of_special(std::string_view name);

/// Archives beside class folders, which nobody reads: of a class that was not unpacked, perhaps.
class LooseArchives {
 public:
  /// False: the file is not called like an archive; nor is it kept behind the first 1000.
  bool add(std::string_view name);
  /// `ignore` is told of each, with the reason, and a note says which may be classes that are
  /// missing: in an archive (`is_inside`) they are left out. One that is called like a class was
  /// unpacked.
  void settle(const std::vector<std::string>& classes, bool is_inside,
              const std::function<void(std::string_view name, std::string_view reason)>& ignore,
              std::vector<std::string>& notes) const;

 private:
  std::vector<std::string> names_;
};

/// What takes pictures that are left out, if anything does.
[[nodiscard]] std::vector<std::string> notes_on_untaken(const LeftOutList& left_out);

/// Adds an ignored entry, by its reason, to what is left out, if the reason is one of these.
void add_untaken(LeftOutList& left_out, std::string_view reason);
[[nodiscard]] bool is_untaken(std::string_view reason);

}  // namespace shale
