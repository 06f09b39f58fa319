#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "shale/sums/sum_list.hpp"

#include "tools/command.hpp"
#include "tools/finding_list.hpp"

// `shale verify` with lists of checksums.

namespace shale::tools {

/// Errors: Code::usage for the first of the options that is given beside `what`.
void refuse_options(const CommandLine& line, std::string_view what,
                    std::initializer_list<const char*> others);

/// `--export sha256sum`. Errors: Code::usage for another word, or with options that verify.
int export_sums_of(const CommandLine& line, Console& console, FindingList* list);

/// The list that the one word of `--against` is; nullopt: it is a source. Errors: as read_sum_list;
/// Code::usage with options that lists have no use for.
[[nodiscard]] std::optional<SumList> sum_list_in_against(const CommandLine& line);
int verify_by_sums(const CommandLine& line, const SumList& sums, Console& console,
                   FindingList* list);

}  // namespace shale::tools
