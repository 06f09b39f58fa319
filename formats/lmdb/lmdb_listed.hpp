#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shale/data/shard_index.hpp"
#include "shale/io/input_file.hpp"

#include "formats/lmdb/lmdb_layout.hpp"
#include "formats/lmdb/lmdb_tree.hpp"

namespace shale::lmdb {

/// A sample that the entries which describe a file name.
struct NamedSample {
  std::string key;               ///< what its readers know it by: "Class/video", "7"
  std::uint64_t key_offset = 0;  ///< where that is in the file
  std::string entry_key;         ///< of the entry that holds it
  std::int64_t label = 0;        ///< by the class in front of the key, where there are classes
};

/// The entry of a sample; its views end with `owner`.
struct ListedEntry {
  TreeEntry entry;
  std::shared_ptr<const void> owner;
};

/// The samples of a file whose layout has entries that describe it, in the order in which its
/// readers number them. Memory: a few windows of 256 KiB, and the names of the classes.
class NamedSamples {
 public:
  /// Reads and compares the entries that describe the file, which outlives this. Errors:
  /// Code::unsupported with the entry, for those that are absent, of another shape or do not agree;
  /// Code::damaged; Code::limit; Code::io.
  NamedSamples(const InputFile& file, std::string_view database, const LayoutFacts& layout);
  ~NamedSamples();
  NamedSamples(const NamedSamples&) = delete;
  NamedSamples& operator=(const NamedSamples&) = delete;

  [[nodiscard]] std::uint64_t samples() const;
  /// By label, sorted; none where labels are in the values.
  [[nodiscard]] const std::vector<std::string>& classes() const;
  /// Errors: as the constructor; what `use` throws.
  void for_each(const std::function<void(const NamedSample&)>& use) const;
  /// The entry of a sample. Errors: Code::damaged, also where there is none.
  [[nodiscard]] ListedEntry entry_of(const NamedSample& sample) const;

 private:
  class Lists;
  std::unique_ptr<Lists> lists_;
};

}  // namespace shale::lmdb
