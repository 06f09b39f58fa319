#pragma once

#include <string>
#include <string_view>

#include "shale/data/schema.hpp"

// The spelling of what a field holds, the same wherever people read or write it: "bytes", "text",
// "json", "integer", "real", "int32", "float32 (?, 4)", "list" (of bytes), "list of text"; a '?' at
// the end for an optional field.

namespace shale {

/// Of a field. Safe to print.
[[nodiscard]] std::string field_type_text(const Field& field);

/// "x uint8 (32, 32, 3)", or "image (bytes)" for a field without dtype. Safe to print.
[[nodiscard]] std::string field_text(const Field& field);

/// Of all fields, in order, with commas between them. Safe to print.
[[nodiscard]] std::string fields_text(const Schema& schema);

/// The field, without a name, that such a string describes. Other names are understood too: "str",
/// "string", "utf8"; "int", "int64", "float", "double"; "list", "list[bytes]", "list[str]";
/// "list[int]", a tensor "int64 (?)", and so for every dtype; "jpeg", "png", "pil", "image" ... for
/// bytes; "np.float32". Errors: Code::usage with the names that there are.
[[nodiscard]] Field parse_field_type(std::string_view text);

}  // namespace shale
