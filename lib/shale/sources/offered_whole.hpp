#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// True for a file of another tool, or a set of them, of which something may be whole though it is
/// damaged. `files`: the set; empty: what the path says.
[[nodiscard]] bool may_be_saved(const std::string& path, const std::vector<SetMember>& files);

inline constexpr std::string_view kWholeHint =
    "copy the file again from an intact copy, or pass --on-error skip to take what is whole of it";

inline constexpr std::string_view kOrderHint =
    "whole rows are saved in their own order: convert them with --on-error skip, without "
    "--shuffle, "
    "--select or the like, and then use those on what that gives";

/// What `open` gives. Of its errors those for damage get the hint that --on-error skip takes what
/// is whole, or `hint`, where that is to be said and `may_save` says that something is.
template <class Open, class MaySave>
auto or_offer_whole(OnDamage on_damage, const Open& open, const MaySave& may_save,
                    std::string_view hint = kWholeHint) {
  try {
    return open();
  } catch (const Error& error) {
    // An index that is out of date says what to do about it.
    const bool is_of_file =
        error.code() == Code::damaged && error.hint().find("shale index") == error.hint().npos;
    if (on_damage != OnDamage::suggest || !is_of_file || !may_save()) throw;
    // Rows of another length than was said are the likelier reason.
    if (hint == kWholeHint && error.hint().find("--raw") != error.hint().npos)
      throw without_hint(error).hint(error.hint() +
                                     ", and --on-error skip takes the rows that are whole");
    throw without_hint(error).hint(std::string(hint));
  }
}

}  // namespace shale
