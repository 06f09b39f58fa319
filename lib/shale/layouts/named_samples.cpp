#include "shale/layouts/named_samples.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/format/format.hpp"
#include "shale/layouts/pickled_value.hpp"
#include "shale/layouts/value_layout.hpp"
#include "shale/wire/msgpack_cursor.hpp"

namespace shale::layouts {
namespace {

constexpr std::size_t kMostClasses = 65'536;
constexpr std::uint64_t kMostClassBytes = 4 << 20;  // of all names together

// One of the entries that describe a file.
struct MetaEntry {
  std::string name;
  std::uint64_t offset = 0, bytes = 0;
};

/// Called with each key of a list, and where it is.
using UseName = std::function<void(Bytes name, std::uint64_t offset)>;

std::string_view class_of(std::string_view key) { return key.substr(0, key.find('/')); }

}  // namespace

class NamedSamples::Lists {
 public:
  Lists(const KeyedFile& file, std::string_view database, const LayoutFacts& layout)
      : file_(file.file),
        layout_(layout),
        longest_key_(file.longest_key),
        map_(file.open(database)) {
    const std::span<const std::string_view> described_by = layout.described_by;
    const MetaEntry keys = meta_entry("__keys__");
    const std::uint64_t entries = map_->facts().entries;
    samples_ = count_of(keys);
    if (entries != samples_ + described_by.size()) {
      throw refused(keys, fmt::format("lists {} keys, and {} entries describe the file, but it has "
                                      "{} entries",
                                      samples_, described_by.size(), entries));
    }
    check_length_entry(described_by);
    if (layout.has_videos) check_videos(keys);
  }

  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  [[nodiscard]] const std::vector<std::string>& classes() const { return classes_; }

  void for_each(const std::function<void(const NamedSample&)>& use) const {
    const bool are_videos = layout_.has_videos;
    std::uint64_t row = 0;
    NamedSample sample;
    for_each_name(meta_entry(are_videos ? "__order__" : "__keys__"),
                  [&](Bytes name, std::uint64_t offset) {
                    sample.key = as_text(name);
                    sample.key_offset = offset;
                    sample.entry_key = are_videos ? fmt::format("{:09}", row) : sample.key;
                    if (are_videos) sample.label = label_of(class_of(sample.key));
                    ++row;
                    use(sample);
                  });
  }

  [[nodiscard]] KeyMapEntry entry_of(const NamedSample& sample) const {
    const std::optional<KeyMapEntry> found = map_->find(as_bytes(sample.entry_key));
    if (!found || found->is_database) {
      throw Error(Code::damaged, "the file has no entry '{}', which its list of keys names",
                  printable(sample.entry_key))
          .at(file_.path(), sample.key_offset);
    }
    return *found;
  }

 private:
  [[nodiscard]] MetaEntry meta_entry(std::string_view name) const {
    const std::optional<KeyMapEntry> found = map_->find(as_bytes(name));
    if (!found || found->is_database) {
      throw not_of_layout(layout_, fmt::format("the file has no entry '{}'", name))
          .at(file_.path());
    }
    return {std::string(name), found->value_offset, found->value_bytes};
  }

  [[nodiscard]] Error refused(const MetaEntry& entry, const std::string& fact) const {
    return not_of_layout(layout_, fmt::format("entry '{}' {}", entry.name, fact))
        .at(file_.path(), entry.offset);
  }

  // A msgpack list; `read` gets the cursor and each element's header.
  template <class Read>
  std::uint64_t for_each_element(const MetaEntry& entry, Read read) const {
    WindowReader window(file_);
    const ViewBytes view = window.views();
    MsgpackCursor cursor(view, entry.offset + entry.bytes, file_.path());
    const MsgpackHeader list = cursor.read(entry.offset);
    if (list.type != MsgpackType::array)
      throw refused(entry, fmt::format("is {}, not a list", shale::name_of(list.type)));
    std::uint64_t at = list.contents;
    for (std::uint64_t i = 0; i < list.length; ++i) {
      const MsgpackHeader element = cursor.read(at);
      read(cursor, element);
      at = cursor.end_of(element);
    }
    if (at != cursor.end()) throw refused(entry, "has bytes behind its list");
    return list.length;
  }

  [[nodiscard]] bool is_pickled(const MetaEntry& entry) const {
    if (!layout_.has_pickled_list || !layout_.may_be_packed) return layout_.has_pickled_list;
    WindowReader window(file_);
    return !looks_packed(window.views(), entry.offset, entry.bytes);
  }

  std::uint64_t for_each_name(const MetaEntry& entry, const UseName& use) const {
    if (is_pickled(entry)) {
      WindowReader window(file_);
      return for_each_pickled_key(window.views(), entry.offset, entry.bytes, file_.path(),
                                  [&](std::uint64_t offset, std::uint64_t length) {
                                    check_length(entry, length);
                                    use(window.view(offset, length), offset);
                                  });
    }
    return for_each_element(entry, [&](MsgpackCursor& cursor, const MsgpackHeader& element) {
      if (!element.is_run())
        throw refused(entry, fmt::format("lists {}, not a key", shale::name_of(element.type)));
      check_length(entry, element.length);
      use(cursor.peek(element.contents, element.length), element.contents);
    });
  }

  void check_length(const MetaEntry& entry, std::uint64_t length) const {
    if (length > 0 && length <= longest_key_) return;
    throw refused(entry,
                  fmt::format("lists a key of {} bytes, expected 1 to {}", length, longest_key_));
  }

  [[nodiscard]] std::uint64_t count_of(const MetaEntry& names) const {
    return for_each_name(names, [](Bytes, std::uint64_t) {});
  }

  [[nodiscard]] std::int64_t number_in(const MetaEntry& entry) const {
    WindowReader window(file_);
    const ViewBytes view = window.views();
    if (is_pickled(entry))
      return parse_pickled_integer(view, entry.offset, entry.bytes, file_.path());
    MsgpackCursor cursor(view, entry.offset + entry.bytes, file_.path());
    const MsgpackHeader header = cursor.read(entry.offset);
    if (header.type != MsgpackType::integer || header.contents != cursor.end())
      throw refused(entry, "is not a number");
    return header.integer;
  }

  void check_length_entry(std::span<const std::string_view> described_by) const {
    constexpr std::string_view kLength = "__len__";
    if (std::find(described_by.begin(), described_by.end(), kLength) == described_by.end()) return;
    const MetaEntry length = meta_entry(kLength);
    const std::int64_t stored = number_in(length);
    if (stored >= 0 && static_cast<std::uint64_t>(stored) == samples_) return;
    throw refused(length, fmt::format("is {}, but '__keys__' lists {}", stored, samples_));
  }

  // What CoCLR's readers take for granted.
  void check_videos(const MetaEntry& keys) {
    const MetaEntry order = meta_entry("__order__"), frames = meta_entry("__vlen__");
    for_each_name(keys, [&](Bytes key, std::uint64_t) {
      const std::string_view digits = as_text(key);
      if (digits.size() != 9 || digits.find_first_not_of("0123456789") != std::string_view::npos)
        throw refused(keys, fmt::format("lists '{}', which has not 9 digits", printable(digits)));
    });
    const std::uint64_t counts =
        for_each_element(frames, [&](MsgpackCursor&, const MsgpackHeader& element) {
          if (element.type != MsgpackType::integer)
            throw refused(frames, "lists more than numbers of frames");
        });
    if (counts != samples_)
      throw refused(frames, fmt::format("lists {}, but '__keys__' {}", counts, samples_));
    learn_classes(order);
  }

  void learn_classes(const MetaEntry& order) {
    std::set<std::string, std::less<>> classes;
    std::uint64_t bytes = 0;
    const std::uint64_t names = for_each_name(order, [&](Bytes name, std::uint64_t) {
      const std::string_view key = as_text(name), folder = class_of(key);
      if (folder.empty() || folder.size() == key.size())
        throw refused(order, fmt::format("lists '{}', expected Class/video", printable(key)));
      if (classes.contains(folder)) return;
      bytes += folder.size();
      if (classes.size() == kMostClasses || bytes > kMostClassBytes) {
        throw Error(Code::limit, "more than {} classes, or {} bytes of their names", kMostClasses,
                    kMostClassBytes)
            .at(file_.path(), order.offset);
      }
      classes.emplace(folder);
    });
    if (names != samples_)
      throw refused(order, fmt::format("lists {} videos, but '__keys__' {}", names, samples_));
    classes_.assign(classes.begin(), classes.end());
  }

  [[nodiscard]] std::int64_t label_of(std::string_view folder) const {
    const auto found = std::lower_bound(classes_.begin(), classes_.end(), folder);
    return found - classes_.begin();
  }

  const InputFile& file_;
  const LayoutFacts& layout_;
  std::uint64_t longest_key_;
  std::shared_ptr<const KeyMap> map_;
  std::uint64_t samples_ = 0;
  std::vector<std::string> classes_;
};

NamedSamples::NamedSamples(const KeyedFile& file, std::string_view database,
                           const LayoutFacts& layout)
    : lists_(std::make_unique<Lists>(file, database, layout)) {}
NamedSamples::~NamedSamples() = default;
std::uint64_t NamedSamples::samples() const { return lists_->samples(); }
const std::vector<std::string>& NamedSamples::classes() const { return lists_->classes(); }
void NamedSamples::for_each(const std::function<void(const NamedSample&)>& use) const {
  lists_->for_each(use);
}
KeyMapEntry NamedSamples::entry_of(const NamedSample& sample) const {
  return lists_->entry_of(sample);
}

}  // namespace shale::layouts
