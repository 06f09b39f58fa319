#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shale/layouts/keyed_file.hpp"
#include "shale/layouts/value_layout.hpp"

namespace shale::layouts {

/// A sample that the entries which describe a file name.
struct NamedSample {
  std::string key;               ///< what its readers know it by: "Class/video", "7"
  std::uint64_t key_offset = 0;  ///< where that is in the file
  std::string entry_key;         ///< of the entry that holds it
  std::int64_t label = 0;        ///< by the class in front of the key, where there are classes
};

/// The samples of a file whose layout has entries that describe it, in the order in which its
/// readers number them. Memory: a few windows of 256 KiB, and the names of the classes.
class NamedSamples {
 public:
  /// Reads and compares the entries that describe the file, whose file outlives this. Errors:
  /// Code::unsupported with the entry, for those that are absent, of another shape or do not agree;
  /// Code::damaged; Code::limit; Code::io.
  NamedSamples(const KeyedFile& file, std::string_view database, const LayoutFacts& layout);
  ~NamedSamples();
  NamedSamples(const NamedSamples&) = delete;
  NamedSamples& operator=(const NamedSamples&) = delete;

  [[nodiscard]] std::uint64_t samples() const;
  /// By label, sorted; none where labels are in the values.
  [[nodiscard]] const std::vector<std::string>& classes() const;
  /// Errors: as the constructor; what `use` throws.
  void for_each(const std::function<void(const NamedSample&)>& use) const;
  /// The entry of a sample. Errors: Code::damaged, also where there is none.
  [[nodiscard]] KeyMapEntry entry_of(const NamedSample& sample) const;

 private:
  class Lists;
  std::unique_ptr<Lists> lists_;
};

}  // namespace shale::layouts
