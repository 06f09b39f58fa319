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

/// A file of templates/, as embed.cmake has put it into the program.
struct PageFile {
  std::string_view name, text;
  std::string_view hash;  ///< "sha256-..." in base64, as a Content-Security-Policy names it
};
[[nodiscard]] std::span<const PageFile> page_files();
/// The one of that name: "page.css". Errors: Code::bug.
[[nodiscard]] const PageFile& page_file(std::string_view name);

}  // namespace shale
