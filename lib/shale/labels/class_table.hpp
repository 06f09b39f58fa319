#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"

namespace shale {

/// Counts what class names take in a manifest: whoever reads that with as much memory, or with the
/// default, must be able to.
class ClassAllowance {
 public:
  /// `where`: the file or folder that the names come from.
  ClassAllowance(std::uint64_t memory_bytes, std::string where);
  /// Errors: Code::limit for more names than a manifest may hold.
  void take(std::string_view name);

 private:
  std::uint64_t most_bytes_, taken_ = 0;
  std::string where_;
};

/// What labels the classes of an input without a table get.
enum class ClassOrder : std::uint8_t {
  bytewise,  ///< their rank among the names, as torchvision sorts them: "0", "1", "10", "2"
  natural,   ///< their rank as people count: "0", "1", "2", "10"
  number,    ///< the number that the name is: 10 of "10" and "010"
};
/// What --class-order says; empty: bytewise.
[[nodiscard]] inline ClassOrder class_order_named(std::string_view word) {
  if (word.empty()) return ClassOrder::bytewise;
  return word == "number" ? ClassOrder::number : ClassOrder::natural;
}

/// Which classes there are, if that does not follow from the input.
struct ClassRequest {
  std::string from = {};  ///< a dataset or a text file; empty: the table is made of the input
  /// The table itself, instead, and the folder that it was made of, for messages. Empty: none.
  std::vector<std::string> names = {};
  std::string names_from = {};
  bool extends_set = false;  ///< `from` is the dataset that the samples come behind
  ClassOrder order = ClassOrder::bytewise;
  bool adds = false;  ///< those that `from` lacks come behind it, by name

  [[nodiscard]] bool is_given() const { return !table_from().empty(); }
  [[nodiscard]] const std::string& table_from() const { return names.empty() ? from : names_from; }
};

/// Class names by label, and back.
class ClassTable {
 public:
  ClassTable() = default;
  /// The names in the order of their labels. Errors: Code::bad_content for a name that comes twice;
  /// Code::limit as ClassAllowance.
  ClassTable(std::vector<std::string> names, const std::string& where, std::uint64_t memory_bytes);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::optional<std::int64_t> label_of(std::string_view name) const;
  /// With those of `names` that it lacks behind it, in their order: no label changes. Errors: same
  /// as of the constructor.
  [[nodiscard]] ClassTable extended(const std::vector<std::string>& names, const std::string& where,
                                    std::uint64_t memory_bytes) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::uint32_t> by_name_;  // labels, sorted by name
};

/// The table of classes that an input has. Under ClassOrder::number every number up to the largest
/// has a label, also where no class has it. Errors: same as of ClassTable; Code::bad_content for a
/// name that is not a number, and for two of one number.
[[nodiscard]] ClassTable table_in_order(std::vector<std::string> names, ClassOrder order,
                                        const std::string& where, std::uint64_t memory_bytes);

/// Errors: Code::usage for --class-order natural where labels are integers, which have no names
/// that it could put in order.
void refuse_idle_order(ClassOrder order, const std::string& where);

/// What to tell of classes whose names are all numbers, where these are not their labels; empty:
/// nothing.
[[nodiscard]] std::string note_on_numbers(const std::vector<std::string>& classes,
                                          const ClassTable& table);

/// The table of a finished dataset, or of a text file with one class name per line (without the
/// blanks around it).
/// Errors: Code::not_found; Code::bad_content for a file without names or with an empty line
/// between them, or a dataset without classes; Code::limit.
[[nodiscard]] ClassTable load_class_table(const std::string& path, std::uint64_t memory_bytes);

/// The table that is given, if one is. Errors: same as load_class_table and ClassTable.
[[nodiscard]] std::optional<ClassTable> given_table(const ClassRequest& classes,
                                                    std::uint64_t memory_bytes);

/// xxh3-128 of the names in order, each behind its length, u64.
[[nodiscard]] Hash128 hash_of_classes(const std::vector<std::string>& classes);

/// The error for a class of an input that the table of another one lacks. `where`: what has it;
/// `extends_set`: the table is that of the dataset which is appended to; `hint`: instead of ours.
[[nodiscard]] Error not_in_class_table(std::string_view name, std::string_view where,
                                       const std::string& table_from, bool extends_set,
                                       std::string_view hint = {});

}  // namespace shale
