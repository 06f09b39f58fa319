#include "shale/wire/pickle.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "shale/base/error.hpp"

namespace shale {
namespace {

constexpr std::string_view kKindNames[] = {
    "None",   "a boolean", "an integer", "a float", "bytes",           "a string",  "a tuple",
    "a list", "a dict",    "a global",   "a call",  "a persistent id", "other data"};

struct Opcode {
  std::uint8_t code;
  std::string_view name;
};
// Those that are not read.
constexpr Opcode kRefusedOpcodes[] = {{'0', "POP"},          {'1', "POP_MARK"},
                                      {'2', "DUP"},          {'F', "FLOAT"},
                                      {'I', "INT"},          {'L', "LONG"},
                                      {'S', "STRING"},       {'V', "UNICODE"},
                                      {'P', "PERSID"},       {'i', "INST"},
                                      {'o', "OBJ"},          {'l', "LIST"},
                                      {'d', "DICT"},         {'p', "PUT"},
                                      {'g', "GET"},          {0x80, "PROTO"},
                                      {0x82, "EXT1"},        {0x83, "EXT2"},
                                      {0x84, "EXT4"},        {0x8b, "LONG4"},
                                      {0x8f, "EMPTY_SET"},   {0x90, "ADDITEMS"},
                                      {0x91, "FROZENSET"},   {0x92, "NEWOBJ_EX"},
                                      {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"}};

}  // namespace

std::string pickle_opcode_text(std::uint8_t code) {
  const auto* const found = std::ranges::find(kRefusedOpcodes, code, &Opcode::code);
  if (found != std::end(kRefusedOpcodes)) return fmt::format("{} (0x{:02x})", found->name, code);
  return fmt::format("0x{:02x}", code);
}

std::string_view name_of(PickleKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

void PickleValue::throw_other() const {
  throw Error(Code::bug, "{} of a pickle was taken for another value", name_of(kind()));
}

std::span<const std::uint32_t> PickleValue::children() const {
  const Pickle::Node& node = pickle_->nodes_[node_];
  return std::span(pickle_->children_).subspan(node.first, node.size);
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
  require(is(PickleKind::global) || is(PickleKind::call) || is(PickleKind::other));
  return pickle_->name_at(pickle_->nodes_[node_].name);
}

bool PickleValue::is_call_of(std::string_view name) const {
  return is(PickleKind::call) && this->name() == name;
}

std::size_t PickleValue::size() const {
  if (is(PickleKind::call)) return PickleValue(*pickle_, children()[Pickle::kArguments]).size();
  require(is(PickleKind::tuple) || is(PickleKind::list) || is(PickleKind::persistent_id));
  return children().size();
}

PickleValue PickleValue::operator[](std::size_t i) const {
  if (is(PickleKind::call)) return PickleValue(*pickle_, children()[Pickle::kArguments])[i];
  require(i < size());
  return {*pickle_, children()[i]};
}

std::size_t PickleValue::entries() const {
  require(is(PickleKind::dict) || is(PickleKind::call));
  return (children().size() - (is(PickleKind::call) ? Pickle::kCallEntries : 0)) / 2;
}

PickleValue PickleValue::key(std::size_t i) const {
  require(i < entries());
  return {*pickle_, children()[2 * i + (is(PickleKind::call) ? Pickle::kCallEntries : 0)]};
}

PickleValue PickleValue::value(std::size_t i) const {
  require(i < entries());
  return {*pickle_, children()[2 * i + 1 + (is(PickleKind::call) ? Pickle::kCallEntries : 0)]};
}

std::optional<PickleValue> PickleValue::state() const {
  require(is(PickleKind::call));
  const std::uint32_t state = children()[Pickle::kState];
  if (state == Pickle::kNoNode) return std::nullopt;
  return PickleValue(*pickle_, state);
}

}  // namespace shale
