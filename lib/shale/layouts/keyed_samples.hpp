#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/schema.hpp"
#include "shale/format/key_map.hpp"
#include "shale/format/key_pattern.hpp"
#include "shale/layouts/keyed_file.hpp"
#include "shale/layouts/layout_field.hpp"
#include "shale/layouts/value_reader.hpp"

// Samples whose fields are entries of their own, in one database or in several.

namespace shale::layouts {

/// The names in a list with commas.
[[nodiscard]] std::vector<std::string> database_names(std::string_view list);

struct KeyedSample {
  std::string key;                                  ///< what the pattern captures
  std::uint64_t key_offset = 0;                     ///< where that is in the file
  std::vector<std::optional<KeyMapEntry>> entries;  ///< a field each, one of them or more
};

/// Samples in the order of their numbers; by key in the order of the keys of the first field.
/// Memory: 4 MiB of pages for each database. Errors of all: same as Format::open_map.
class KeyedSamples {
 public:
  /// `keys`: as parse_key_pattern takes them; empty: the databases are the fields, joined by key.
  /// The file outlives this. Errors: Code::usage for a pattern that is none; Code::unsupported for
  /// a file without the entry that counts.
  KeyedSamples(KeyedFile file, std::string_view keys, std::string_view database);

  [[nodiscard]] const KeyPattern& pattern() const { return pattern_; }
  /// The databases, each once.
  [[nodiscard]] std::vector<std::string> databases() const;
  /// About how many there are, for progress.
  [[nodiscard]] std::uint64_t expected() const;
  /// Errors: Code::unsupported, with the key, for a sample that is counted and has no entry; what
  /// `use` throws.
  void for_each(const std::function<void(const KeyedSample&)>& use) const;
  /// Whether an entry is one of a sample or the count, where there are so many samples.
  [[nodiscard]] bool takes(std::string_view database, std::string_view key,
                           std::uint64_t samples) const;

 private:
  [[nodiscard]] std::optional<KeyMapEntry> find(const KeyField& field, std::string_view key) const;
  void take_rest(KeyedSample& sample, std::size_t first, const auto& captured_by) const;

  KeyedFile file_;
  KeyPattern pattern_;
  struct OpenDatabase {
    std::string name;
    std::shared_ptr<const KeyMap> map;
  };
  std::vector<OpenDatabase> databases_;
  std::optional<std::uint64_t> count_;
};

/// The fields of a sample, as the pattern has them. `schema`: bytes of it are not looked at; null:
/// every value is. Errors: Code::unsupported for a value that is not of its field's kind.
[[nodiscard]] std::vector<LayoutField> fields_of(const KeyedSample& sample,
                                                 const KeyPattern& pattern, const Schema* schema,
                                                 ValueReader& values, std::string_view where);

/// Whether the keys of all entries are numbers, each once.
class KeyNumbers {
 public:
  void add(std::string_view key);
  /// "value=%d", as parse_key_pattern takes it; empty: they are not.
  [[nodiscard]] std::string pattern() const;

 private:
  std::uint64_t keys_ = 0, least_ = ~std::uint64_t{0}, most_ = 0;
  bool are_numbers_ = true;
};

/// The keys of all entries as a pattern: those of a file that is nothing but samples of one or
/// more entries that end in their numbers, and an entry that counts them. nullopt for any other.
/// Reads no values but that one.
[[nodiscard]] std::optional<KeyPattern> recognize_keys(const KeyedFile& file,
                                                       std::string_view database);
/// What is said of a file that counts its samples, where not all that the count says is there any
/// more, so that recognize_keys() takes it no longer; else empty.
[[nodiscard]] std::string note_on_lost_keys(const KeyedFile& file);

}  // namespace shale::layouts
