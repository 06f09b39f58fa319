#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

enum class PickleKind : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  bytes,
  text,
  tuple,
  list,
  dict,
  global,         ///< a name alone, such as torch.FloatStorage
  call,           ///< a global with its arguments; its state and its entries, if any
  persistent_id,  ///< what stands outside of the pickle, by a value that names it
  other,          ///< what is not plain data, of which nothing is kept but that
};
/// "a tuple", "an integer": for messages.
[[nodiscard]] std::string_view name_of(PickleKind kind);

/// "EMPTY_SET (0x8f)": an opcode that is not read.
[[nodiscard]] std::string pickle_opcode_text(std::uint8_t code);

class Pickle;

/// One value of a pickle: a view, valid as long as the Pickle is. Errors of all accessors:
/// Code::bug for a value of another kind, or an element that it does not have.
class PickleValue {
 public:
  [[nodiscard]] inline PickleKind kind() const;
  [[nodiscard]] bool is(PickleKind kind) const { return this->kind() == kind; }
  /// Also 0 or 1 for a boolean.
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] double real() const;
  [[nodiscard]] std::string_view text() const;
  /// Of bytes and text: where the contents lie, in what was viewed.
  [[nodiscard]] std::uint64_t offset() const;
  [[nodiscard]] std::uint64_t length() const;
  /// Of a global or a call: the one of the allowed names that it has, or that of its class. Of what
  /// is not plain data: what it is, as a sentence.
  [[nodiscard]] std::string_view name() const;
  /// A call of this global.
  [[nodiscard]] bool is_call_of(std::string_view name) const;

  /// Values of a tuple or a list, arguments of a call; 1 for a persistent id.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] PickleValue operator[](std::size_t i) const;
  /// Of a dict, or those given to the result of a call (an OrderedDict has its entries there), in
  /// the order in which they were set; a key may be there twice.
  [[nodiscard]] std::size_t entries() const;
  [[nodiscard]] PickleValue key(std::size_t i) const;
  [[nodiscard]] PickleValue value(std::size_t i) const;
  /// What BUILD gave to the result of a call, such as the contents of a NumPy array.
  [[nodiscard]] std::optional<PickleValue> state() const;

 private:
  friend class Pickle;
  PickleValue(const Pickle& pickle, std::uint32_t node) : pickle_(&pickle), node_(node) {}
  void require(bool is_so) const {
    if (!is_so) throw_other();
  }
  [[noreturn]] void throw_other() const;
  [[nodiscard]] std::span<const std::uint32_t> children() const;

  const Pickle* pickle_;
  std::uint32_t node_;
};

/// The values of a pickle. They form no circles: of an object that is referred to before it has its
/// state, its class stands for it.
class Pickle {
 public:
  [[nodiscard]] PickleValue root() const { return {*this, root_}; }

 private:
  friend class PickleValue;
  friend class PickleMachine;
  struct Node {
    PickleKind kind = PickleKind::none;
    std::uint8_t height = 0;   // of containers below it, and itself
    bool is_fixed = false;     // referred to: nothing may be put into it any more
    bool is_object = false;    // of a class, and without a state yet
    std::uint32_t weight = 1;  // values of the tree below it, and itself
    std::uint32_t name = 0;    // a global or a call: of names_; a string: where it begins in texts_
    // Elements; keys and values in turn; of a call: its arguments, its state, keys and values. In
    // children_, where there is room for more of them behind.
    std::uint32_t first = 0, size = 0, room = 0;
    std::uint64_t offset = 0;  // a run: of its contents
    std::uint64_t number = 0;  // an integer, the bits of a real, the length of a run
  };

  [[nodiscard]] std::string_view name_at(std::size_t number) const {
    return number < names_.size() ? names_[number] : classes_[number - names_.size()];
  }

  static constexpr std::uint32_t kNoNode = ~std::uint32_t{0};
  // Where the children of a call are.
  static constexpr std::size_t kArguments = 0, kState = 1, kCallEntries = 2;

  std::span<const std::string_view> names_;
  std::vector<std::string> classes_;  // further names, behind those
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> children_;
  std::string texts_;
  std::uint32_t root_ = 0;
  // Of the reader, here so that reading into the same memory again takes no other.
  std::vector<std::uint32_t> stack_, memo_;
};

PickleKind PickleValue::kind() const { return pickle_->nodes_[node_].kind; }

}  // namespace shale
