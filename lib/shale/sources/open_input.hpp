#pragma once

#include <memory>
#include <string>

#include "shale/sources/input_request.hpp"
#include "shale/sources/row_table.hpp"

namespace shale {

/// Determines what an input is (input_kind), opens it, and puts the sources over it that the
/// request asks for: choice and order, part, image work. `scratch_folder` is for lists that outgrow
/// their memory, and for arrays whose rows have to be put together. `events` must outlive the
/// source: its stop is obeyed while a folder is listed. Memory: list_memory(), or what the source
/// says. Errors: Code::not_found; Code::unsupported, by name, for kinds that shale knows of but
/// does not read yet; Code::mismatch for an unfinished dataset; what the source itself finds wrong.
[[nodiscard]] std::unique_ptr<Source> open_input(const InputRequest& request,
                                                 const std::string& scratch_folder,
                                                 const Events& events);

/// The same for an input that is to be read in any order, by the draw of the request. Errors: same
/// as open_input; Code::unsupported for samples that differ in size.
[[nodiscard]] RowTable open_row_table(const InputRequest& request,
                                      const std::string& scratch_folder, const Events& events);

}  // namespace shale
