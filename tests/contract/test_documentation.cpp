#include <filesystem>

#include "shale/format/layout.hpp"

#include "tests/contract/contract_tools.hpp"

namespace shale {
namespace {

using namespace test;

std::string root() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().string();
}

TEST_CASE("documentation: FORMAT.md names the format, its suffixes, options and reserved fields") {
  for_each_format([](const Format& format) {
    if (&format == &toy_format) return;
    const std::string page =
        read_text(root() + "/formats/" + std::string(format.name) + "/FORMAT.md");
    const auto is_named = [&](std::string_view name) {
      return page.find("`" + std::string(name)) != std::string::npos;
    };
    CHECK(page.starts_with("# " + std::string(format.name)));
    for (const std::string_view suffix : format.suffixes)
      CHECK(page.find(suffix) != std::string::npos);
    for (const OptionSpec& option : format.options) CHECK(is_named(option.name));
    for (const std::string_view field : format.reserved_fields) CHECK(is_named(field));
    CHECK(page.find("\n## Options\n") != std::string::npos);
  });
}

TEST_CASE(
    "documentation: each layout has a summary, and a place in FORMAT.md and the manual page") {
  const std::string manual = read_text(root() + "/tools/man/shale-convert.1");
  std::string headings;
  for (std::size_t at = 0; (at = manual.find("\n.It Fl -layout", at)) != std::string::npos; ++at)
    headings += manual.substr(at + 1, manual.find('\n', at + 1) - at - 1) + " ";
  for_each_format([&](const Format& format) {
    for (const Layout* layout : format.layouts) {
      CAPTURE(layout->name);
      const std::string name(layout->name);
      CHECK(!layout->summary.empty());
      CHECK(headings.find(" " + name + " ") != std::string::npos);
      CHECK(read_text(root() + "/formats/" + std::string(format.name) + "/FORMAT.md")
                .find("`" + name + "`") != std::string::npos);
    }
  });
}

TEST_CASE("documentation: every format of the table takes part in this suite") {
  const std::string table = read_text(root() + "/formats/table.hpp");
  std::size_t listed = 0;
  for (std::size_t at = 0; (at = table.find("&", at)) != std::string::npos; ++at) ++listed;
  for_each_format([&](const Format& format) {
    if (&format == &toy_format) return;
    CHECK(table.find("&" + std::string(format.name) + "_format,") != std::string::npos);
  });
  CHECK(listed + 1 == all_formats().size());
}

TEST_CASE("documentation: a format's row is whole") {
  for_each_format([](const Format& format) {
    CHECK(!format.name.empty());
    CHECK(!format.summary.empty());
    CHECK(!format.suffixes.empty());
    CHECK(!format.can.kinds.empty());
    const ShardLayout layout = format.layout(full_schema(format), defaults(format));
    // ".npy" is the end of ".image.npy": a file a field.
    for (const std::string& suffix : layout.file_suffixes) {
      CHECK(std::ranges::any_of(format.suffixes,
                                [&](std::string_view end) { return suffix.ends_with(end); }));
    }
    for (const std::string_view end : format.suffixes) {
      CHECK(std::ranges::any_of(layout.file_suffixes,
                                [&](const std::string& suffix) { return suffix.ends_with(end); }));
    }
    for (const Format* other : all_formats())
      CHECK((other == &format || other->name != format.name));
  });
}

}  // namespace
}  // namespace shale
