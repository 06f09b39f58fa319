#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/data/left_out.hpp"
#include "shale/data/schema.hpp"

namespace shale {

// The list of a folder's files, made once and read as often as it is needed: by the run that
// continues a killed one, which walks nothing again. docs/layout.md has the bytes.

/// A file that belongs to the sample of another.
struct ListedPartner {
  /// What its name has behind the part that both share; nullopt: there is no such file.
  std::optional<std::string> suffix;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t offset = 0;  ///< as ListedFile::offset
  friend bool operator==(const ListedPartner&, const ListedPartner&) = default;
};

/// A partner as a string of its own length, and back. Errors: Code::damaged.
void append_listed_partner(std::string& into, const ListedPartner& partner);
[[nodiscard]] ListedPartner read_listed_partner(ByteReader& from);

/// One file of a list.
struct ListedFile {
  std::string path;  ///< relative to the folder: raw bytes
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  ///< since 1970
  std::int64_t label = 0;
  std::uint64_t offset = 0;  ///< where it begins in the archive that it lies in, if it does
  bool has_label = true;     ///< false: the file of labels has none for it
  std::vector<ListedPartner> partners = {};
  /// Its row of metadata, as folders/metadata_rows has it; without a label what it lacks; in a list
  /// of files the number of its line.
  std::string row = {};
  friend bool operator==(const ListedFile&, const ListedFile&) = default;
};

/// A listed file as one string, and back. Errors: Code::damaged for a string that is too short.
void append_listed_file(std::string& into, const ListedFile& file);
[[nodiscard]] ListedFile parse_listed_file(std::string_view entry);

/// The error of a folder that holds fewer samples than the same run found in it before.
[[nodiscard]] Error fewer_than_listed(const std::string& root);

/// What a listing says before its files.
struct ListingHead {
  /// What it was made of and how, names and values: two listings with equal facts were asked for
  /// alike.
  std::vector<std::pair<std::string, std::string>> facts;
  std::string kind;                  ///< of the input, as the manifest names it
  std::vector<std::string> classes;  ///< by label: raw bytes
  std::vector<std::string> notes;    ///< SourceInfo::notes
  std::int64_t modified_ns = 0;      ///< of the newest file
  /// Suffixes of the partners that its files have, or names of the folders that they were joined
  /// from, with their types.
  std::string pairs = {};
  bool has_labels = true;            ///< the samples have a label
  std::string image_folders = {};    ///< names of the folders whose files are images: "mask,depth"
  std::vector<Field> metadata = {};  ///< what the rows of its files have
  bool has_metadata_labels = false;  ///< the labels are from there
  /// The files with those rows, relative to the folder, and what tells that they are as they were.
  std::vector<std::pair<std::string, std::string>> metadata_files = {};
  /// What was left out, but for ignored entries; kind, name and reason of each.
  LeftOutList left_out = {};
  std::string arrays = {};  ///< that the files themselves hold, with their types
  friend bool operator==(const ListingHead&, const ListingHead&) = default;
};

/// Writes a listing: all files in their order, then all ignored entries. Memory: the head, and a
/// buffer.
class ListingWriter {
 public:
  /// Creates the file. Errors: Code::io, also if it exists.
  ListingWriter(const std::string& path, const ListingHead& head);
  ~ListingWriter();
  ListingWriter(const ListingWriter&) = delete;
  ListingWriter& operator=(const ListingWriter&) = delete;

  void add(const ListedFile& file);
  /// No more add() after it.
  void add_ignored(std::string_view entry, std::string_view reason);
  /// The file is complete and durable. Errors: Code::io.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Whether a file begins like one, as far as it goes. Errors: Code::not_found; Code::io.
[[nodiscard]] bool may_be_listing(const std::string& path);

/// Reads one. One thread. Memory: the head, and a window.
class ListingReader {
 public:
  /// Reads all of it once, and proves it by its checksum: what is read later is as it was written.
  /// `most_bytes`: of the head, in memory. `stop_if_asked` is called again and again, and may
  /// throw. Errors: Code::not_found; Code::damaged, naming the file; Code::unsupported for another
  /// version; Code::limit.
  ListingReader(const std::string& path, std::uint64_t most_bytes,
                const std::function<void()>& stop_if_asked);
  ~ListingReader();
  ListingReader(ListingReader&&) noexcept;
  ListingReader& operator=(ListingReader&&) noexcept;

  [[nodiscard]] const ListingHead& head() const;
  [[nodiscard]] std::uint64_t files() const;
  [[nodiscard]] std::uint64_t ignored() const;
  /// The files in order, then nullopt.
  [[nodiscard]] std::optional<ListedFile> next();
  /// Starts again at the first file.
  void rewind();
  void for_each_ignored(
      const std::function<void(std::string_view entry, std::string_view reason)>& use) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shale
