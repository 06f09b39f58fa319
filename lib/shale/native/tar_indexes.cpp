#include "shale/native/tar_indexes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

constexpr std::size_t kNameBytes = 100, kSizeAt = 124;

// To be thrown. The walk adds the file.
Error breaks_index(const TarMember& member, std::string_view why) {
  return Error(Code::unsupported, "member {} {}", printable(member.path), why)
      .hint(
          "names of up to 100 bytes that every reader takes: 'shale convert TAR... OUT --to "
          "webdataset', if keys are short; or leave "
          "this index out");
}

std::string_view base_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

struct Split {
  std::string_view key, extension;
};

// The first dot of the base name divides. Nullopt: there is none.
std::optional<Split> split_of(std::string_view path) {
  const std::string_view base = base_of(path);
  const std::size_t dot = base.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::size_t at = path.size() - base.size() + dot;
  return Split{path.substr(0, at), path.substr(at + 1)};
}

// webdataset's rule, ^((?:.*/|)[^.]+)[.]([^/]*)$, and what its readers take for their own notes.
std::optional<Split> webdataset_split(std::string_view path) {
  if (path.starts_with("__")) {
    const std::string_view first = path.substr(0, path.find('/'));
    if (first.size() >= 4 && first.ends_with("__")) return std::nullopt;
  }
  const std::optional<Split> split = split_of(path);
  if (!split || split->key.empty()) return std::nullopt;
  if (!split->key.ends_with('/')) return split;
  // "dir/._x": a hidden file has the folder as its key, if that has no dot.
  const std::string_view folder = split->key.substr(0, split->key.size() - 1);
  const std::string_view last = base_of(folder);
  return last.find('.') == std::string_view::npos ? split : std::nullopt;
}

// wids' rule, ^((?:.*/)?.*?)(\..*)$: the first dot behind the last slash that has one behind it.
std::optional<std::string_view> wids_key(std::string_view path) {
  const std::size_t last_dot = path.rfind('.');
  if (last_dot == std::string_view::npos) return std::nullopt;
  const std::size_t slash = path.rfind('/', last_dot);
  return path.substr(0, path.find('.', slash == std::string_view::npos ? 0 : slash));
}

// True if it begins another sample.
bool begins_sample(std::string& last_key, std::uint64_t& samples, std::string_view key) {
  if (samples > 0 && key == last_key) return false;
  last_key = key;
  ++samples;
  return true;
}

}  // namespace

std::string_view name_of(NativeKind kind) {
  switch (kind) {
    case NativeKind::wids:
      return "wids";
    case NativeKind::dali:
      return "dali";
    case NativeKind::energon:
      return "energon";
  }
  return "";
}

void DaliLines::take(const TarMember& member) {
  const std::optional<Split> split = split_of(member.path);
  if (!split || split->key.empty() || split->key.ends_with('/')) return;
  const bool is_printable =
      std::ranges::all_of(member.path, [](char c) { return c > ' ' && c < '\x7f' && c != '\\'; });
  if (!is_printable) {
    throw breaks_index(member,
                       "has a name that DALI's index cannot hold: blanks, control characters, "
                       "backslashes and what is not ASCII end it or change it");
  }
  if (split->extension.empty())
    throw breaks_index(member, "has a name that ends in a dot, which DALI's index cannot hold");
  const bool begins = begins_sample(key_, samples_, split->key);
  const std::string_view gap = !begins ? " " : samples_ > 1 ? "\n" : "";
  lines_.append(as_bytes(fmt::format("{}{} {} {} {}", gap, split->extension, member.offset,
                                     member.bytes, member.path)));
}

std::string DaliLines::head() const { return fmt::format("v1.2 {}\n", samples_); }

ScratchFile& DaliLines::finish() {
  lines_.append(as_bytes("\n"));
  return lines_;
}

void EnergonOffsets::take(const TarMember& member) {
  const std::optional<Split> split = webdataset_split(member.path);
  if (split && begins_sample(key_, samples_, split->key)) append(member.header);
}

void EnergonOffsets::append(std::uint64_t offset) {
  offsets_.append(std::as_bytes(std::span(&offset, 1)));  // little-endian: bytes.hpp
}

ScratchFile& EnergonOffsets::finish(std::uint64_t end) {
  append(end);
  return offsets_;
}

void WidsSamples::take(const TarMember& member, Bytes header) {
  const std::string_view block = as_text(header);
  const std::string_view field = block.substr(0, kNameBytes);
  if (field.substr(0, field.find('\0')) != member.path || !is_utf8(member.path)) {
    throw breaks_index(member,
                       "has a name that wids reads as another one: it takes names of 100 bytes at "
                       "most, in UTF-8, in the header itself");
  }
  if (std::to_integer<unsigned>(header[kSizeAt]) >= 0x80)
    throw breaks_index(member, "has a size that wids cannot read, since it is not octal");
  const std::optional<std::string_view> key = wids_key(member.path);
  if (!names_.insert(xxh3_128(as_bytes(member.path))).second) {
    throw breaks_index(member,
                       "has a name that an earlier member has: wids would give all that follow "
                       "the wrong samples");
  }
  if (key) begins_sample(key_, samples_, *key);
}

}  // namespace shale
