#include "shale/wire/pickle_reader.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostNameBytes = 256;  // of a global, each half
constexpr std::size_t kMostClasses = 64;       // that are not known
constexpr std::uint8_t kProto = 0x80, kNewObject = 0x81, kLatestProtocol = 5;

// "os system" as "os.system".
std::string dotted(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), ' ', '.');
  return printable(text);
}

}  // namespace

class PickleMachine {
 public:
  PickleMachine(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                std::string_view where, std::span<const std::string_view> globals,
                const PickleLimits& limits, Pickle into)
      : view_(view),
        at_(begin),
        end_(begin + length),
        where_(where),
        limits_(limits),
        into_(std::move(into)),
        stack_(into_.stack_),
        memo_(into_.memo_) {
    into_.names_ = globals;
    into_.classes_.clear();
    into_.nodes_.clear();
    into_.children_.clear();
    into_.texts_.clear();
    stack_.clear();
    memo_.clear();
  }

  LeadingPickle run() {
    begin();
    while (true) {
      place_ = at_;
      const auto code = static_cast<std::uint8_t>(read(1));
      if (code == '.') break;
      const bool is_run =
          run_literal(code) || run_run(code) || run_container(code) || run_other(code);
      if (!is_run && !(limits_.takes_others && run_set(code)))
        throw unsupported("pickle uses opcode {}, which is not read", pickle_opcode_text(code));
    }
    if (stack_.size() != 1 || !marks_.empty())
      throw damaged("pickle ends with {} values on its stack", stack_.size());
    into_.root_ = stack_.front();
    return {std::move(into_), at_};
  }

 private:
  using Node = Pickle::Node;

  template <class... Args>
  [[nodiscard]] Error error(Code code, fmt::format_string<Args...> format, Args&&... args) const {
    Error error(code, format, std::forward<Args>(args)...);
    error.at(where_, place_);
    return error;
  }
  template <class... Args>
  [[nodiscard]] Error damaged(fmt::format_string<Args...> format, Args&&... args) const {
    return error(Code::damaged, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  [[nodiscard]] Error unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    return error(Code::unsupported, format, std::forward<Args>(args)...);
  }

  void begin() {
    place_ = at_;
    if (end_ - at_ < 2 || read(1) != kProto)
      throw unsupported("does not begin like a pickle of protocol 2 to {}", kLatestProtocol);
    const std::uint64_t protocol = read(1);
    if (protocol < 2 || protocol > kLatestProtocol)
      throw unsupported("pickle of protocol {}; 2 to {} are read", protocol, kLatestProtocol);
  }

  // Bytes in.

  void require_bytes(std::uint64_t count) const {
    if (count <= end_ - at_) return;
    throw damaged("pickle claims {} bytes, but only {} are left", count, end_ - at_);
  }

  Bytes take(std::uint64_t count) {
    constexpr std::uint64_t kLookAhead = 4096;
    require_bytes(count);
    if (at_ < seen_begin_ || at_ + count > seen_begin_ + seen_.size()) {
      seen_ = view_(at_, std::min(std::max(count, kLookAhead), end_ - at_));
      seen_begin_ = at_;
    }
    const Bytes taken = seen_.subspan(at_ - seen_begin_, count);
    at_ += count;
    return taken;
  }

  // Little-endian, at most 8 bytes.
  std::uint64_t read(std::uint64_t bytes) {
    std::uint64_t value = 0;
    const Bytes taken = take(bytes);
    std::memcpy(&value, taken.data(), taken.size());
    return value;
  }

  std::string read_line() {
    std::string line;
    for (auto next = static_cast<char>(read(1)); next != '\n'; next = static_cast<char>(read(1))) {
      if (line.size() == kMostNameBytes) throw damaged("name of a global is too long");
      line += next;
    }
    return line;
  }

  // The stack.

  void push(std::uint32_t node) {
    if (used_++ == limits_.values) {
      throw error(Code::limit, "pickle holds more values than the limit of {}", limits_.values);
    }
    stack_.push_back(node);
  }

  void push_new(const Node& node) {
    push(static_cast<std::uint32_t>(into_.nodes_.size()));
    into_.nodes_.push_back(node);
  }
  void push_empty(PickleKind kind) { push_new({.kind = kind, .height = 1}); }
  void push_integer(PickleKind kind, std::int64_t value) {
    push_new({.kind = kind, .number = static_cast<std::uint64_t>(value)});
  }

  // Values above the last mark.
  void require_values(std::size_t count) const {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor < count) throw damaged("opcode of a pickle finds no value to take");
  }
  std::uint32_t pop() {
    require_values(1);
    const std::uint32_t node = stack_.back();
    stack_.pop_back();
    return node;
  }
  std::uint32_t top() const {
    require_values(1);
    return stack_.back();
  }
  std::size_t pop_mark() {
    if (marks_.empty()) throw damaged("opcode of a pickle finds no mark");
    const std::size_t above = stack_.size() - marks_.back();
    marks_.pop_back();
    return above;
  }
  // The last values go from the stack into this one.
  void move_into(std::uint32_t parent, std::size_t count) {
    put_into(parent, std::span(stack_).last(count));
    stack_.resize(stack_.size() - count);
  }
  // The value below the last ones.
  std::uint32_t below(std::size_t count) const {
    require_values(count + 1);
    return stack_[stack_.size() - count - 1];
  }

  // A value that is part of another one, or has two names, stays as it is: no circle can be made.
  void put_into(std::uint32_t parent, std::span<const std::uint32_t> values) {
    if (into_.nodes_[parent].kind == PickleKind::other) return;
    if (into_.nodes_[parent].is_fixed && !values.empty())
      throw unsupported("{} in a pickle holds itself", name_of(into_.nodes_[parent].kind));
    for (const std::uint32_t value : values) adopt(parent, value);
  }

  void adopt(std::uint32_t parent, std::uint32_t child) {
    Node& node = into_.nodes_[parent];
    Node& inner = into_.nodes_[child];
    if (is_of_class(inner) && !limits_.takes_others) throw refers_to(into_.name_at(inner.name));
    inner.is_fixed = true;
    const std::uint64_t weight = std::uint64_t{node.weight} + inner.weight;
    if (weight > limits_.values) {
      throw error(Code::limit, "pickle holds more values than the limit of {}", limits_.values);
    }
    if (inner.height >= limits_.depth) throw too_deep();
    node.weight = static_cast<std::uint32_t>(weight);
    node.height = std::max(node.height, static_cast<std::uint8_t>(inner.height + 1));
    add_child(node, child);
  }

  void add_child(Node& node, std::uint32_t child) {
    std::vector<std::uint32_t>& all = into_.children_;
    if (node.size == node.room) {
      if (node.size == 0) node.first = static_cast<std::uint32_t>(all.size());
      if (node.first + node.size == all.size()) {
        all.push_back(child);
        node.room = ++node.size;
        return;
      }
      // Others lie behind: to where there is as much room again.
      const std::uint32_t from = std::exchange(node.first, static_cast<std::uint32_t>(all.size()));
      node.room = 2 * node.size;
      all.resize(all.size() + node.room, Pickle::kNoNode);
      std::copy_n(all.begin() + from, node.size, all.begin() + node.first);
    }
    all[node.first + node.size++] = child;
  }

  [[nodiscard]] Error too_deep() const {
    return error(Code::limit, "pickle nests its values more than {} deep", limits_.depth);
  }

  // Opcodes. Each of these returns false for one that is not its own.

  bool run_literal(std::uint8_t code) {
    switch (code) {
      case 'N':
        push_new({});
        return true;
      case 0x88:
      case 0x89:
        push_integer(PickleKind::boolean, code == 0x88 ? 1 : 0);
        return true;
      case 'K':
        push_integer(PickleKind::integer, static_cast<std::int64_t>(read(1)));
        return true;
      case 'M':
        push_integer(PickleKind::integer, static_cast<std::int64_t>(read(2)));
        return true;
      case 'J':
        push_integer(PickleKind::integer,
                     static_cast<std::int32_t>(static_cast<std::uint32_t>(read(4))));
        return true;
      case 0x8a:
        push_long(read(1));
        return true;
      case 'G':
        push_new({.kind = PickleKind::real, .number = read_big_endian(as_text(take(8)))});
        return true;
      default:
        return false;
    }
  }

  void push_long(std::uint64_t bytes) {
    if (bytes > 8) {
      constexpr std::string_view kFact = "pickle holds an integer of more than 64 bits";
      if (!limits_.takes_others) throw unsupported("{}", kFact);
      require_bytes(bytes);
      at_ += bytes;
      return push_other(kFact);
    }
    std::uint64_t value = read(bytes);
    const std::uint64_t unused = 64 - 8 * bytes;
    if (bytes > 0 && bytes < 8 && (value >> (8 * bytes - 1) & 1) != 0)
      value |= ~std::uint64_t{0} << (64 - unused);
    push_integer(PickleKind::integer, static_cast<std::int64_t>(value));
  }

  bool run_run(std::uint8_t code) {
    switch (code) {
      case 'C':
      case 'U':
        push_bytes(read(1));
        return true;
      case 'B':
      case 'T':
        push_bytes(read(4));
        return true;
      case 0x8e:
      case 0x96:
        push_bytes(read(8));
        return true;
      case 0x8c:
        push_text(read(1));
        return true;
      case 'X':
        push_text(read(4));
        return true;
      case 0x8d:
        push_text(read(8));
        return true;
      default:
        return false;
    }
  }

  void push_bytes(std::uint64_t length) {
    require_bytes(length);
    push_new({.kind = PickleKind::bytes, .offset = at_, .number = length});
    at_ += length;
  }

  void push_text(std::uint64_t length) {
    require_bytes(length);
    if (length > limits_.text_bytes - into_.texts_.size()) {
      throw error(Code::limit, "strings of a pickle take more bytes than the limit of {}",
                  limits_.text_bytes);
    }
    const std::uint64_t offset = at_;
    const std::string_view text = as_text(take(length));
    if (!is_utf8(text)) throw damaged("string in a pickle is not UTF-8");
    push_new({.kind = PickleKind::text,
              .name = static_cast<std::uint32_t>(into_.texts_.size()),
              .offset = offset,
              .number = length});
    into_.texts_ += text;
  }

  bool run_container(std::uint8_t code) {
    switch (code) {
      case '(':
        if (marks_.size() >= limits_.depth) throw too_deep();
        marks_.push_back(stack_.size());
        return true;
      case ')':
        push_empty(PickleKind::tuple);
        return true;
      case ']':
        push_empty(PickleKind::list);
        return true;
      case '}':
        push_empty(PickleKind::dict);
        return true;
      case 0x85:
      case 0x86:
      case 0x87:
        make_tuple(code - std::size_t{0x84});
        return true;
      case 't':
        make_tuple(pop_mark());
        return true;
      case 'a':
        append(1);
        return true;
      case 'e':
        append(pop_mark());
        return true;
      case 's':
        set_entries(2);
        return true;
      case 'u':
        set_entries(pop_mark());
        return true;
      default:
        return false;
    }
  }

  void make_tuple(std::size_t count) {
    require_values(count);
    const auto tuple = static_cast<std::uint32_t>(into_.nodes_.size());
    into_.nodes_.push_back({.kind = PickleKind::tuple, .height = 1});
    move_into(tuple, count);
    push(tuple);
  }

  void append(std::size_t count) {
    const std::uint32_t list = below(count);
    if (into_.nodes_[list].kind != PickleKind::list && !is_other(list))
      throw unsupported("pickle appends to {}", name_of(into_.nodes_[list].kind));
    move_into(list, count);
  }

  void set_entries(std::size_t count) {
    const std::uint32_t dict = below(count);
    const PickleKind kind = into_.nodes_[dict].kind;
    if (kind != PickleKind::dict && kind != PickleKind::call && !is_other(dict))
      throw unsupported("pickle sets an entry of {}", name_of(kind));
    if (count % 2 != 0) throw damaged("pickle sets an entry without a value");
    move_into(dict, count);
  }

  [[nodiscard]] bool is_other(std::uint32_t node) const {
    return into_.nodes_[node].kind == PickleKind::other;
  }

  // `fact`: what the error for it would say.
  void push_other(std::string_view fact) {
    push_new({.kind = PickleKind::other,
              .name = static_cast<std::uint32_t>(into_.names_.size() + class_of(fact))});
  }

  // What only pickles with such values have.
  bool run_set(std::uint8_t code) {
    constexpr std::string_view kFact = "pickle holds a set";
    switch (code) {
      case 0x8f:
        push_other(kFact);
        return true;
      case 0x90: {
        const std::size_t count = pop_mark();
        if (!is_other(below(count))) throw damaged("opcode of a pickle finds no set");
        stack_.resize(stack_.size() - count);
        return true;
      }
      case 0x91:
        stack_.resize(stack_.size() - pop_mark());
        push_other(kFact);
        return true;
      case 0x92: {
        (void)pop();
        (void)pop();
        const Node& global = into_.nodes_[pop()];
        if (global.kind != PickleKind::global)
          throw unsupported("pickle calls {}", name_of(global.kind));
        push_other(refers_to(into_.name_at(global.name)).message());
        return true;
      }
      default:
        return false;
    }
  }

  bool run_other(std::uint8_t code) {
    switch (code) {
      case 'c': {
        const std::string module = read_line();
        push_global(module + ' ' + read_line());
        return true;
      }
      case 0x93:
        push_stack_global();
        return true;
      case 'R':
      case kNewObject:
        call(code);
        into_.nodes_[stack_.back()].is_object = code == kNewObject && !is_other(stack_.back());
        return true;
      case 'b':
        set_state();
        return true;
      case 'Q': {
        const std::uint32_t id = pop();
        push_empty(PickleKind::persistent_id);
        put_into(stack_.back(), std::span(&id, 1));
        return true;
      }
      case 'q':
        put(read(1));
        return true;
      case 'r':
        put(read(4));
        return true;
      case 0x94:
        put(next_memo_);
        return true;
      case 'h':
        get(read(1));
        return true;
      case 'j':
        get(read(4));
        return true;
      case 0x95:
        require_bytes(read(8));
        return true;
      default:
        return false;
    }
  }

  void push_global(std::string_view name) {
    const std::span<const std::string_view> known = into_.names_;
    const auto found = std::find(known.begin(), known.end(), name);
    const auto place = static_cast<std::size_t>(found - known.begin());
    push_new(
        {.kind = PickleKind::global,
         .name = static_cast<std::uint32_t>(place + (found == known.end() ? class_of(name) : 0))});
  }

  // The number of a class that is not known.
  std::size_t class_of(std::string_view name) {
    std::vector<std::string>& classes = into_.classes_;
    const auto found = std::find(classes.begin(), classes.end(), name);
    const auto number = static_cast<std::size_t>(found - classes.begin());
    if (found != classes.end()) return number;
    if (!limits_.takes_objects || classes.size() == kMostClasses) throw refers_to(name);
    classes.emplace_back(name);
    return number;
  }

  [[nodiscard]] Error refers_to(std::string_view name) const {
    Error error = unsupported("pickle refers to '{}', which is not plain data", dotted(name));
    error.hint("shale never runs what a pickle asks for; save tensors, arrays or plain values");
    return error;
  }

  // Of a class that is not known only an object can be taken, and no more than its state.
  [[nodiscard]] bool is_of_class(const Node& node) const {
    return node.kind == PickleKind::global && node.name >= into_.names_.size();
  }

  void push_stack_global() {
    require_values(2);
    std::string name;
    for (const std::uint32_t half : std::span(stack_).last(2)) {
      const Node& node = into_.nodes_[half];
      if (node.kind != PickleKind::text || node.number > kMostNameBytes)
        throw damaged("global of a pickle is not named by two strings");
      name += (name.empty() ? "" : " ") + into_.texts_.substr(node.name, node.number);
    }
    stack_.resize(stack_.size() - 2);
    push_global(name);
  }

  void call(std::uint8_t code) {
    const std::uint32_t arguments = pop();
    const Node& global = into_.nodes_[pop()];
    if (global.kind != PickleKind::global || into_.nodes_[arguments].kind != PickleKind::tuple)
      throw unsupported("pickle calls {}", name_of(global.kind));
    const bool is_plain_object = code == kNewObject && into_.nodes_[arguments].size == 0;
    if (is_of_class(global) && !is_plain_object) {
      const Error refused = refers_to(into_.name_at(global.name));
      if (!limits_.takes_others) throw Error(refused);
      return push_other(refused.message());
    }
    push_new({.kind = PickleKind::call, .height = 1, .name = global.name});
    adopt(stack_.back(), arguments);
    add_child(into_.nodes_[stack_.back()], Pickle::kNoNode);  // no state yet
  }

  void set_state() {
    const std::uint32_t state = pop();
    const std::uint32_t result = top();
    if (is_other(result)) return;
    if (into_.nodes_[result].kind != PickleKind::call)
      throw unsupported("pickle gives a state to {}", name_of(into_.nodes_[result].kind));
    put_into(result, std::span(&state, 1));
    Node& node = into_.nodes_[result];
    std::uint32_t& current = into_.children_[node.first + Pickle::kState];
    if (current != Pickle::kNoNode) throw unsupported("pickle gives two states to one value");
    current = state;
    --node.size;
    node.is_object = false;
  }

  void put(std::uint64_t place) {
    const std::uint32_t node = top();
    if (place >= limits_.values) {
      throw error(Code::limit, "memo of a pickle has more places than the limit of {}",
                  limits_.values);
    }
    if (place >= memo_.size()) memo_.resize(place + 1, Pickle::kNoNode);
    if (memo_[place] == Pickle::kNoNode) ++next_memo_;
    memo_[place] = node;
  }

  void get(std::uint64_t place) {
    if (place >= memo_.size() || memo_[place] == Pickle::kNoNode)
      throw damaged("pickle takes place {} of its memo, where nothing is", place);
    Node& node = into_.nodes_[memo_[place]];
    if (node.is_object) return push_new({.kind = PickleKind::global, .name = node.name});
    node.is_fixed = true;
    push(memo_[place]);
  }

  const ViewBytes& view_;
  std::uint64_t at_, end_;
  std::string_view where_;
  const PickleLimits& limits_;

  Pickle into_;
  std::vector<std::uint32_t>&stack_, &memo_;
  std::vector<std::size_t> marks_;  // how many values lie below each
  std::uint64_t next_memo_ = 0, used_ = 0;
  std::uint64_t place_ = 0;  // of the opcode
  Bytes seen_;
  std::uint64_t seen_begin_ = 0;
};

Pickle read_pickle(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                   std::string_view where, std::span<const std::string_view> globals,
                   const PickleLimits& limits, Pickle reused) {
  LeadingPickle read =
      read_leading_pickle(view, begin, length, where, globals, limits, std::move(reused));
  const std::uint64_t left = begin + length - read.end;
  if (left == 0) return std::move(read.pickle);
  throw Error(Code::damaged, "{} bytes are left over after a pickle", left).at(where, read.end - 1);
}

LeadingPickle read_leading_pickle(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                                  std::string_view where, std::span<const std::string_view> globals,
                                  const PickleLimits& limits, Pickle reused) {
  return PickleMachine(view, begin, length, where, globals, limits, std::move(reused)).run();
}

}  // namespace shale
