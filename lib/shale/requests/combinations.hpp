#pragma once

#include <span>
#include <string_view>

#include "shale/requests/convert_request.hpp"

namespace shale {

/// A row of the table of what does not go with what: an option of `convert`, and a kind of output,
/// a kind of input, or another option.
struct Exclusion {
  std::string_view option;  ///< without its dashes
  std::string_view with;    ///< in the words of the man page
  bool (*is_given)(const ConvertRequest& request);
  /// Null: only the input shows it, and who has seen it says so.
  bool (*is_with)(const ConvertRequest& request);
  /// The message, and what to do. {option}, {layout}, {container} (of the layout) and {file}
  /// ("file" or ".npy array") are replaced.
  std::string_view reason, hint;
  bool names_output = true;
};

/// What an input turned out to be, as Exclusion::with.
inline constexpr std::string_view kFolderOfSplits = "a folder of splits", kStream = "a stream";

/// In the order in which they are looked at. The man page has them as "WHAT DOES NOT GO TOGETHER".
[[nodiscard]] std::span<const Exclusion> exclusions();

/// Errors: Code::usage, with the reason, for the first row of the table that the request meets.
void refuse_combinations(const ConvertRequest& request);
/// The same for the rows of what the input turned out to be.
void refuse_combinations(const ConvertRequest& request, std::string_view input);

/// Errors: Code::usage for a column of a file that is not given.
void refuse_idle_columns(const LabelFile& labels);
/// The word of --labels for none at all, unless there is a file of that name: `labels` is then
/// cleared. True: it was.
[[nodiscard]] bool take_no_labels(LabelFile& labels);
/// The same of a conversion: the field of the labels is left out.
void take_no_labels(InputRequest& request);
/// Errors: Code::usage for the bytes before numbers that nothing says the type of.
void refuse_idle_offset(bool has_raw, bool has_offset);
/// Errors: Code::usage for a group without shares.
void refuse_idle_group(const SplitRequest& split);
/// The same as refuse_idle_columns, and Code::usage for labels of nothing that is compared.
void refuse_idle_labels(const VerifyRequest& request);

}  // namespace shale
