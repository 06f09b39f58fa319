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

constexpr std::string_view kKindNames[] = {"None",   "a boolean", "an integer", "a float",
                                           "bytes",  "a string",  "a tuple",    "a list",
                                           "a dict", "a global",  "a call",     "a persistent id"};

constexpr std::uint32_t kNoNode = std::numeric_limits<std::uint32_t>::max();
// Where the children of a call are.
constexpr std::size_t kArguments = 0, kState = 1, kCallEntries = 2;
constexpr std::uint64_t kMostNameBytes = 256;  // of a global, each half
constexpr std::uint8_t kProto = 0x80, kLatestProtocol = 5;

struct Opcode {
  std::uint8_t code;
  std::string_view name;
};
// Those that are not read.
constexpr Opcode kRefusedOpcodes[] = {
    {'0', "POP"},        {'1', "POP_MARK"},     {'2', "DUP"},
    {'F', "FLOAT"},      {'I', "INT"},          {'L', "LONG"},
    {'S', "STRING"},     {'V', "UNICODE"},      {'P', "PERSID"},
    {'i', "INST"},       {'o', "OBJ"},          {'l', "LIST"},
    {'d', "DICT"},       {'p', "PUT"},          {'g', "GET"},
    {0x80, "PROTO"},     {0x81, "NEWOBJ"},      {0x82, "EXT1"},
    {0x83, "EXT2"},      {0x84, "EXT4"},        {0x8b, "LONG4"},
    {0x8f, "EMPTY_SET"}, {0x90, "ADDITEMS"},    {0x91, "FROZENSET"},
    {0x92, "NEWOBJ_EX"}, {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"}};

std::string opcode_text(std::uint8_t code) {
  for (const Opcode& opcode : kRefusedOpcodes) {
    if (opcode.code == code) return fmt::format("{} (0x{:02x})", opcode.name, code);
  }
  return fmt::format("0x{:02x}", code);
}

// "os system" as "os.system".
std::string dotted(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), ' ', '.');
  return printable(text);
}

}  // namespace

std::string_view name_of(PickleKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

class PickleMachine {
 public:
  PickleMachine(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                std::string_view where, std::span<const std::string_view> globals,
                const PickleLimits& limits)
      : view_(view),
        at_(begin),
        end_(begin + length),
        where_(where),
        globals_(globals),
        limits_(limits) {
    into_.names_.assign(globals.begin(), globals.end());
  }

  Pickle run() {
    begin();
    while (true) {
      place_ = at_;
      const auto code = static_cast<std::uint8_t>(read(1));
      if (code == '.') break;
      if (!run_literal(code) && !run_run(code) && !run_container(code) && !run_other(code))
        throw unsupported("pickle uses opcode {}, which is not read", opcode_text(code));
    }
    if (stack_.size() != 1 || !marks_.empty())
      throw damaged("pickle ends with {} values on its stack", stack_.size());
    if (at_ != end_) throw damaged("{} bytes are left over after a pickle", end_ - at_);
    into_.root_ = stack_.front();
    return std::move(into_);
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

  void push_new(Node node) {
    push(static_cast<std::uint32_t>(into_.nodes_.size()));
    into_.nodes_.push_back(std::move(node));
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
  std::vector<std::uint32_t> pop_last(std::size_t count) {
    require_values(count);
    std::vector<std::uint32_t> values(stack_.end() - static_cast<std::ptrdiff_t>(count),
                                      stack_.end());
    stack_.resize(stack_.size() - count);
    return values;
  }
  std::vector<std::uint32_t> pop_marked() {
    if (marks_.empty()) throw damaged("opcode of a pickle finds no mark");
    const std::size_t count = stack_.size() - marks_.back();
    marks_.pop_back();
    return pop_last(count);
  }

  // A value that is part of another one, or has two names, stays as it is: no circle can be made.
  void put_into(std::uint32_t parent, std::span<const std::uint32_t> values) {
    if (into_.nodes_[parent].is_fixed && !values.empty())
      throw unsupported("{} in a pickle holds itself", name_of(into_.nodes_[parent].kind));
    for (const std::uint32_t value : values) adopt(parent, value);
  }

  void adopt(std::uint32_t parent, std::uint32_t child) {
    Node& node = into_.nodes_[parent];
    Node& inner = into_.nodes_[child];
    inner.is_fixed = true;
    const std::uint64_t weight = std::uint64_t{node.weight} + inner.weight;
    if (weight > limits_.values) {
      throw error(Code::limit, "pickle holds more values than the limit of {}", limits_.values);
    }
    if (inner.height >= limits_.depth) throw too_deep();
    node.weight = static_cast<std::uint32_t>(weight);
    node.height = std::max(node.height, static_cast<std::uint8_t>(inner.height + 1));
    node.children.push_back(child);
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
    if (bytes > 8) throw unsupported("pickle holds an integer of more than 64 bits");
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
        make_tuple(pop_last(code - std::size_t{0x84}));
        return true;
      case 't':
        make_tuple(pop_marked());
        return true;
      case 'a':
        append(pop_last(1));
        return true;
      case 'e':
        append(pop_marked());
        return true;
      case 's':
        set_entries(pop_last(2));
        return true;
      case 'u':
        set_entries(pop_marked());
        return true;
      default:
        return false;
    }
  }

  void make_tuple(const std::vector<std::uint32_t>& values) {
    push_empty(PickleKind::tuple);
    put_into(stack_.back(), values);
  }

  void append(const std::vector<std::uint32_t>& values) {
    const std::uint32_t list = top();
    if (into_.nodes_[list].kind != PickleKind::list)
      throw unsupported("pickle appends to {}", name_of(into_.nodes_[list].kind));
    put_into(list, values);
  }

  void set_entries(const std::vector<std::uint32_t>& values) {
    const std::uint32_t dict = top();
    const PickleKind kind = into_.nodes_[dict].kind;
    if (kind != PickleKind::dict && kind != PickleKind::call)
      throw unsupported("pickle sets an entry of {}", name_of(kind));
    if (values.size() % 2 != 0) throw damaged("pickle sets an entry without a value");
    put_into(dict, values);
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
        call();
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
    const auto found = std::find(globals_.begin(), globals_.end(), name);
    if (found == globals_.end()) {
      throw unsupported("pickle refers to '{}', which is not plain data", dotted(name))
          .hint("shale never runs what a pickle asks for; save tensors, arrays or plain values");
    }
    push_new(
        {.kind = PickleKind::global, .name = static_cast<std::uint32_t>(found - globals_.begin())});
  }

  void push_stack_global() {
    const std::vector<std::uint32_t> halves = pop_last(2);
    std::string name;
    for (const std::uint32_t half : halves) {
      const Node& node = into_.nodes_[half];
      if (node.kind != PickleKind::text || node.number > kMostNameBytes)
        throw damaged("global of a pickle is not named by two strings");
      name += (name.empty() ? "" : " ") + into_.texts_.substr(node.name, node.number);
    }
    push_global(name);
  }

  void call() {
    const std::vector<std::uint32_t> halves = pop_last(2);
    const Node& global = into_.nodes_[halves[0]];
    if (global.kind != PickleKind::global || into_.nodes_[halves[1]].kind != PickleKind::tuple)
      throw unsupported("pickle calls {}", name_of(global.kind));
    push_new({.kind = PickleKind::call, .height = 1, .name = global.name});
    adopt(stack_.back(), halves[1]);
    into_.nodes_[stack_.back()].children.push_back(kNoNode);  // no state yet
  }

  void set_state() {
    const std::uint32_t state = pop();
    const std::uint32_t result = top();
    if (into_.nodes_[result].kind != PickleKind::call)
      throw unsupported("pickle gives a state to {}", name_of(into_.nodes_[result].kind));
    put_into(result, std::span(&state, 1));
    std::vector<std::uint32_t>& children = into_.nodes_[result].children;
    if (children[kState] != kNoNode) throw unsupported("pickle gives two states to one value");
    children[kState] = children.back();
    children.pop_back();
  }

  void put(std::uint64_t place) {
    const std::uint32_t node = top();
    if (place >= limits_.values) {
      throw error(Code::limit, "memo of a pickle has more places than the limit of {}",
                  limits_.values);
    }
    if (place >= memo_.size()) memo_.resize(place + 1, kNoNode);
    if (memo_[place] == kNoNode) ++next_memo_;
    memo_[place] = node;
  }

  void get(std::uint64_t place) {
    if (place >= memo_.size() || memo_[place] == kNoNode)
      throw damaged("pickle takes place {} of its memo, where nothing is", place);
    into_.nodes_[memo_[place]].is_fixed = true;
    push(memo_[place]);
  }

  const ViewBytes& view_;
  std::uint64_t at_, end_;
  std::string_view where_;
  std::span<const std::string_view> globals_;
  const PickleLimits& limits_;

  Pickle into_;
  std::vector<std::uint32_t> stack_, memo_;
  std::vector<std::size_t> marks_;  // how many values lie below each
  std::uint64_t next_memo_ = 0, used_ = 0;
  std::uint64_t place_ = 0;  // of the opcode
  Bytes seen_;
  std::uint64_t seen_begin_ = 0;
};

Pickle read_pickle(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                   std::string_view where, std::span<const std::string_view> globals,
                   const PickleLimits& limits) {
  return PickleMachine(view, begin, length, where, globals, limits).run();
}

PickleKind PickleValue::kind() const { return pickle_->nodes_[node_].kind; }

void PickleValue::require(bool is_so) const {
  if (!is_so) throw Error(Code::bug, "{} of a pickle was taken for another value", name_of(kind()));
}

std::int64_t PickleValue::integer() const {
  require(is(PickleKind::integer) || is(PickleKind::boolean));
  return static_cast<std::int64_t>(pickle_->nodes_[node_].number);
}

double PickleValue::real() const {
  require(is(PickleKind::real));
  return std::bit_cast<double>(pickle_->nodes_[node_].number);
}

std::string_view PickleValue::text() const {
  require(is(PickleKind::text));
  const Pickle::Node& node = pickle_->nodes_[node_];
  return std::string_view(pickle_->texts_).substr(node.name, node.number);
}

std::uint64_t PickleValue::offset() const {
  require(is(PickleKind::bytes) || is(PickleKind::text));
  return pickle_->nodes_[node_].offset;
}

std::uint64_t PickleValue::length() const {
  require(is(PickleKind::bytes) || is(PickleKind::text));
  return pickle_->nodes_[node_].number;
}

std::string_view PickleValue::name() const {
  require(is(PickleKind::global) || is(PickleKind::call));
  return pickle_->names_[pickle_->nodes_[node_].name];
}

bool PickleValue::is_call_of(std::string_view name) const {
  return is(PickleKind::call) && this->name() == name;
}

std::size_t PickleValue::size() const {
  const Pickle::Node& node = pickle_->nodes_[node_];
  if (node.kind == PickleKind::call)
    return pickle_->nodes_[node.children[kArguments]].children.size();
  require(is(PickleKind::tuple) || is(PickleKind::list) || is(PickleKind::persistent_id));
  return node.children.size();
}

PickleValue PickleValue::operator[](std::size_t i) const {
  require(i < size());
  const Pickle::Node& node = pickle_->nodes_[node_];
  const bool is_call = node.kind == PickleKind::call;
  return {*pickle_, (is_call ? pickle_->nodes_[node.children[kArguments]] : node).children[i]};
}

std::size_t PickleValue::entries() const {
  require(is(PickleKind::dict) || is(PickleKind::call));
  const std::size_t values = pickle_->nodes_[node_].children.size();
  return (values - (is(PickleKind::call) ? kCallEntries : 0)) / 2;
}

PickleValue PickleValue::key(std::size_t i) const {
  require(i < entries());
  return {*pickle_,
          pickle_->nodes_[node_].children[2 * i + (is(PickleKind::call) ? kCallEntries : 0)]};
}

PickleValue PickleValue::value(std::size_t i) const {
  require(i < entries());
  return {*pickle_,
          pickle_->nodes_[node_].children[2 * i + 1 + (is(PickleKind::call) ? kCallEntries : 0)]};
}

std::optional<PickleValue> PickleValue::state() const {
  require(is(PickleKind::call));
  const std::uint32_t state = pickle_->nodes_[node_].children[kState];
  if (state == kNoNode) return std::nullopt;
  return PickleValue(*pickle_, state);
}

}  // namespace shale
