#include "shale/native/native_journal.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/native/placed_file.hpp"

namespace shale {
namespace {

constexpr std::string_view kJournalName = ".shale-native", kFirstLine = "shale-native 1";
constexpr std::uint64_t kMostJournalBytes = std::uint64_t{4} << 30;

// Up to the separator, which goes too.
std::string_view cut_before(std::string_view& left, char separator) {
  const std::string_view part = left.substr(0, left.find(separator));
  left.remove_prefix(std::min(part.size() + 1, left.size()));
  return part;
}

template <class Number>
bool take_number(std::string_view& left, Number& into) {
  const std::string_view text = cut_before(left, '\t');
  return std::from_chars(text.data(), text.data() + text.size(), into).ec == std::errc();
}

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

NativeJournal::NativeJournal(std::string folder) : folder_(std::move(folder)), saved_ns_(now_ns()) {
  const std::string path = join_path(folder_, kJournalName);
  refuse_link_to_nothing(path);
  if (!stands(path)) return;
  const std::vector<std::byte> bytes = read_file(path, kMostJournalBytes);
  std::string_view left = as_text(bytes);
  if (cut_before(left, '\n') != kFirstLine) {
    throw Error(Code::exists, "is not what shale keeps about indexes for other programs")
        .at(path)
        .hint("move it to another folder");
  }
  while (!left.empty()) {
    std::string_view line = cut_before(left, '\n');
    const std::string kind(cut_before(line, '\t'));
    Row row;
    bool is_row = take_number(line, row.tar_bytes) && take_number(line, row.tar_modified_ns) &&
                  take_number(line, row.samples);
    row.md5 = cut_before(line, '\t');
    is_row = is_row && take_number(line, row.bytes) && take_number(line, row.modified_ns);
    if (is_row && !line.empty()) rows_[{kind, std::string(line)}] = std::move(row);
  }
}

const NativeJournal::Row* NativeJournal::find(std::string_view kind,
                                              const std::string& name) const {
  const auto at = rows_.find(std::pair(std::string(kind), name));
  return at == rows_.end() ? nullptr : &at->second;
}

void NativeJournal::set(std::string_view kind, const std::string& name, Row row) {
  Row& there = rows_[{std::string(kind), name}];
  is_saved_ = is_saved_ && there == row;
  there = std::move(row);
}

void NativeJournal::save_now_and_then() {
  constexpr std::int64_t kPeriodNs = 5'000'000'000;
  if (now_ns() - saved_ns_ > kPeriodNs) save();
}

void NativeJournal::save() {
  if (is_saved_) return;
  std::string text(kFirstLine);
  text += '\n';
  for (const auto& [name, row] : rows_) {
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", name.first, row.tar_bytes,
                        row.tar_modified_ns, row.samples, row.md5, row.bytes, row.modified_ns,
                        name.second);
  }
  const std::string path = join_path(folder_, kJournalName);
  PlacedFiles file;
  file.add(path, text, nullptr);
  file.place();
  is_saved_ = true;
  saved_ns_ = now_ns();
}

}  // namespace shale
