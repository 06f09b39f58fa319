#pragma once

#include "shale/data/schema.hpp"

namespace shale {

/// Makes `known` a field that has the values of both: bytes where one of them is text, a free side
/// where tensors differ, bytes where only one is JSON. Names and is_optional stay. False, and
/// nothing said about `known`: there is no such field.
[[nodiscard]] bool widen(Field& known, const Field& found);
/// Whether that would leave it as it is.
[[nodiscard]] bool is_wide_enough(const Field& known, const Field& found);

/// The same where one value and a list of such values are both lists, as in containers that have
/// nothing but lists: int64 (?) of an integer, float32 (?) of a real, a list of bytes.
[[nodiscard]] bool widen_to_lists(Field& known, Field found);

}  // namespace shale
