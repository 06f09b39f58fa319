#include "shale/labels/class_table.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/natural_order.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/io/input_file.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/shards/place.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kLargestTableBytes = 64 << 20;
// Of a name in a manifest, beside its text, which is there twice while it is parsed.
constexpr std::uint64_t kNameBytes = 96;

// Names as lines of a string.
std::vector<std::string> names_in(std::string_view text, const std::string& path,
                                  std::uint64_t memory_bytes) {
  ClassAllowance allowance(memory_bytes, path);
  std::vector<std::string> names;
  std::uint64_t line_number = 0, empty_line = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    ++line_number;
    if (line.empty()) {
      if (empty_line == 0) empty_line = line_number;
      continue;
    }
    // Left out, it would move the label of each class after it.
    if (empty_line > 0) {
      throw Error(Code::bad_content, "line {} is empty, but line {} has a class", empty_line,
                  line_number)
          .at(path)
          .hint("a class's label is its line number: give the line a name or remove it");
    }
    allowance.take(line);
    names.emplace_back(line);
  }
  return names;
}

}  // namespace

ClassAllowance::ClassAllowance(std::uint64_t memory_bytes, std::string where)
    : most_bytes_(most_manifest_bytes(std::min(memory_bytes, kManifestMemory)) / 4 * 3),
      where_(std::move(where)) {}

void ClassAllowance::take(std::string_view name) {
  taken_ += kNameBytes + 2 * name.size();
  if (taken_ <= most_bytes_) return;
  throw Error(Code::limit, "the names of the classes take more than {} of memory",
              format_size(most_bytes_))
      .at(where_)
      .hint("pass integer labels with --labels, or a larger --memory");
}

ClassTable::ClassTable(std::vector<std::string> names, const std::string& where,
                       std::uint64_t memory_bytes)
    : names_(std::move(names)) {
  ClassAllowance allowance(memory_bytes, where);
  for (const std::string& name : names_) allowance.take(name);
  by_name_.resize(names_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0U);
  std::sort(by_name_.begin(), by_name_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return names_[a] < names_[b]; });
  for (std::size_t i = 1; i < by_name_.size(); ++i) {
    if (names_[by_name_[i]] == names_[by_name_[i - 1]]) {
      throw Error(Code::bad_content, "class '{}' is listed twice, as {} and {}",
                  printable(names_[by_name_[i]]), by_name_[i - 1], by_name_[i])
          .at(where)
          .hint("give one of the two another name: the label of a class is the number of its line");
    }
  }
}

std::optional<std::int64_t> ClassTable::label_of(std::string_view name) const {
  const auto found = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](std::uint32_t label, std::string_view wanted) { return names_[label] < wanted; });
  if (found == by_name_.end() || names_[*found] != name) return std::nullopt;
  return *found;
}

ClassTable ClassTable::extended(const std::vector<std::string>& names, const std::string& where,
                                std::uint64_t memory_bytes) const {
  std::vector<std::string> all = names_;
  for (const std::string& name : names) {
    if (!label_of(name)) all.push_back(name);
  }
  return {std::move(all), where, memory_bytes};
}

ClassTable table_in_order(std::vector<std::string> names, ClassOrder order,
                          const std::string& where, std::uint64_t memory_bytes) {
  if (order == ClassOrder::natural) std::ranges::sort(names, is_naturally_less);
  if (order != ClassOrder::number) return {std::move(names), where, memory_bytes};
  ClassAllowance allowance(memory_bytes, where);
  std::vector<std::string> by_number;
  std::vector<bool> is_taken;
  for (std::string& name : names) {
    const std::optional<std::uint64_t> number = number_of_name(name);
    if (!number) {
      throw Error(Code::bad_content, "class '{}' is not a number", printable(name))
          .at(where)
          .hint("leave out --class-order, or pass --class-order natural");
    }
    while (by_number.size() <= *number) {
      by_number.push_back(std::to_string(by_number.size()));
      allowance.take(by_number.back());
      is_taken.push_back(false);
    }
    if (is_taken[*number]) {
      throw Error(Code::bad_content, "two classes have the number {}, one of them '{}'", *number,
                  printable(name))
          .at(where)
          .hint("rename one of the two folders");
    }
    is_taken[*number] = true;
    by_number[*number] = std::move(name);
  }
  return {std::move(by_number), where, memory_bytes};
}

void refuse_idle_order(ClassOrder order, const std::string& where) {
  if (order != ClassOrder::natural) return;
  throw Error(Code::usage, "--class-order has no effect: all labels are integers, without classes")
      .at(where)
      .hint("leave it out");
}

std::string note_on_numbers(const std::vector<std::string>& classes, const ClassTable& table) {
  std::string note;
  for (const std::string& name : classes) {
    const std::optional<std::uint64_t> number = number_of_name(name);
    if (!number) return {};
    const std::int64_t label = table.label_of(name).value_or(-1);
    if (!note.empty() || static_cast<std::uint64_t>(label) == *number) continue;
    note = fmt::format(
        "the names of the classes are numbers, and their labels are others: class '{}' has label "
        "{}; --class-order number takes the numbers as labels, --class-order natural their order",
        printable(name), label);
  }
  return note;
}

ClassTable load_class_table(const std::string& path, std::uint64_t memory_bytes) {
  std::vector<std::string> names;
  std::error_code error;  // what is wrong with the path shows when it is opened
  const DatasetPaths of_file = paths_of_index(path, "");
  if (std::filesystem::is_directory(path, error)) {
    if (const std::optional<Error> several = several_datasets(path)) throw Error(*several);
    names = read_manifest(DatasetPaths(path), nullptr, memory_bytes).classes;
  } else if (is_manifest(of_file.manifest)) {
    names = read_manifest(of_file, nullptr, memory_bytes).classes;
  } else {
    const std::vector<std::byte> bytes =
        read_file(path, std::min(kLargestTableBytes, memory_bytes));
    if (as_text(bytes).find('\0') != std::string_view::npos) {
      throw Error(Code::bad_content, "is not a text file, and has no index that names classes")
          .at(path)
          .hint(
              "pass a shale dataset that has classes, or a text file with one class name per "
              "line; 'shale convert --with-index' keeps them beside one file");
    }
    names = names_in(without_byte_order_mark(as_text(bytes)), path, memory_bytes);
  }
  if (names.empty()) {
    throw Error(Code::bad_content, "has no class table")
        .at(path)
        .hint(
            "pass a shale dataset that has classes, or a text file with one class name "
            "per line");
  }
  return {std::move(names), path, memory_bytes};
}

std::optional<ClassTable> given_table(const ClassRequest& classes, std::uint64_t memory_bytes) {
  if (!classes.names.empty()) return ClassTable(classes.names, classes.names_from, memory_bytes);
  if (classes.from.empty()) return std::nullopt;
  return load_class_table(classes.from, memory_bytes);
}

Hash128 hash_of_classes(const std::vector<std::string>& classes) {
  Hasher128 hasher;
  for (const std::string& name : classes) {
    hasher.update(bytes_of(std::uint64_t{name.size()}));
    hasher.update(as_bytes(name));
  }
  return hasher.digest();
}

Error not_in_class_table(std::string_view name, std::string_view where,
                         const std::string& table_from, bool extends_set, std::string_view hint) {
  return Error(Code::bad_content, "class '{}' is not in the class table", printable(name))
      .at(where)
      .because("the class table comes from " + table_from)
      .hint(!hint.empty() ? hint
            : extends_set ? "pass --new-classes append to add it behind the others, or remove it"
                          : "make the table from the split that has all classes, or remove this "
                            "class");
}

}  // namespace shale
