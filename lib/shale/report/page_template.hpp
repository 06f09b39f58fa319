#pragma once

#include <span>
#include <string>
#include <string_view>

#include "shale/report/report_facts.hpp"

// Templates of the page: Mustache (mustache.github.io/mustache.5.html) over the facts of a report
// as JSON. templates/README.md says what who edits them has to know.

namespace shale {

/// Fills in a template of templates/: what it says {{words}} of is escaped, and shown whatever it
/// holds. Lines without content are left out. `facts` are what names are looked up in, and `page`
/// what is below `page.`. Errors: Code::bug, if the template is not well-formed, or asks for a
/// filter that does not exist.
[[nodiscard]] std::string fill_template(std::string_view name, const Json& facts, const Json& page,
                                        const ReportPictures& pictures);

/// The same for code: nothing is escaped, and no line left out. Errors: same.
[[nodiscard]] std::string fill_code(std::string_view text, const Json& facts);

/// What a filter makes something of: the value before it, the words after its name (or what names
/// that begin with @ stand for), and the pictures.
struct FilterInput {
  const Json& value;
  std::span<const Json> arguments;
  const ReportPictures& pictures;
};

/// {{value|filter:argument}} of a template: words for a number, or an object with what a part of
/// the page needs. templates/README.md lists them. Errors: Code::bug for an unknown filter.
[[nodiscard]] Json apply_filter(std::string_view name, const FilterInput& input);

/// A file of templates/, as embed.cmake has put it into the program.
struct PageFile {
  std::string_view name, text;
  std::string_view hash;  ///< "sha256-..." in base64, as a Content-Security-Policy names it
};
[[nodiscard]] std::span<const PageFile> page_files();
/// The one of that name: "page.css". Errors: Code::bug.
[[nodiscard]] const PageFile& page_file(std::string_view name);

}  // namespace shale
