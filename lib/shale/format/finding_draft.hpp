#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/finding.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// Whether an error is about the bytes of a file: then it is a finding of a scan.
[[nodiscard]] inline bool is_about_bytes(const Error& error) {
  return error.code() == Code::damaged || error.code() == Code::unsupported ||
         error.code() == Code::limit;
}

/// Builds the findings of a scan. All name the file, and the row and key at which the scan is.
class FindingDraft {
 public:
  /// `sink` outlives it.
  FindingDraft(const InputFile& file, const FindingSink& sink) : file_(file.name()), sink_(sink) {}

  /// The next findings are about this row, whose key is not known yet; nullopt: about no row.
  void at_row(std::optional<std::uint64_t> row) {
    row_ = row;
    key_.reset();
  }
  void at_key(std::string_view key) { key_.emplace(key); }

  /// A new draft, to be filled in and sent.
  Finding& begin(std::string message, std::optional<std::uint64_t> offset = std::nullopt) {
    draft_ = {};
    draft_.message = std::move(message);
    draft_.offset = offset;
    draft_.file = file_;
    draft_.row = row_;
    if (key_) draft_.sample = SampleId{*key_, std::nullopt};
    return draft_;
  }
  void send() { sink_(std::move(draft_)); }
  void send(std::string found, std::string expected) {
    draft_.found = std::move(found);
    draft_.expected = std::move(expected);
    send();
  }

  /// Both at once.
  void report(std::uint64_t offset, std::string message, std::string found = {},
              std::string expected = {}) {
    begin(std::move(message), offset);
    send(std::move(found), std::move(expected));
  }
  /// An error about a field, with its cause.
  void report(const Error& error, const std::string& field) {
    std::string message = error.message();
    if (!error.cause().empty()) message += " (" + printable(error.cause()) + ")";
    begin(std::move(message), error.offset()).field = field;
    send();
  }
  /// Adds the row to a finding that does not know it: message, place in the file, and both sides.
  void pass_on(Finding found) {
    begin(std::move(found.message), found.offset).length = found.length;
    draft_.field = std::move(found.field);
    send(std::move(found.found), std::move(found.expected));
  }

 private:
  std::string file_;
  const FindingSink& sink_;
  std::optional<std::uint64_t> row_;
  std::optional<std::string> key_;
  Finding draft_;  // kept, so that its memory is
};

}  // namespace shale
