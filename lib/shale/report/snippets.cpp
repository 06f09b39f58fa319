#include "shale/report/snippets.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/python_literal.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/browse/indexed_join.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/row_storage.hpp"
#include "shale/format/format.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/report/page_template.hpp"

namespace shale {
namespace {

// How many fields the code of shale itself names.
constexpr std::size_t kNamedFields = 6;

// What the snippets speak of: facts for the templates of code.
// "{'x': 'a.h5', 'y': 'b.h5'}, on='key'".
std::string python_join(const InputRequest& inputs) {
  std::string text;
  for (const std::string& word : inputs.inputs) {
    const std::size_t equals = word.find('=');
    text += fmt::format("{}{}: {}", text.empty() ? "{" : ", ", python_path(word.substr(0, equals)),
                        python_path(word.substr(equals + 1)));
  }
  text += "}";
  if (inputs.join.on != JoinOn::unset)
    text += inputs.join.on == JoinOn::key ? ", on='key'" : ", on='row'";
  if (inputs.join.partners != Partners::unset)
    text += inputs.join.partners == Partners::any ? ", partners='any'" : ", partners='all'";
  return text;
}

class SnippetMaker {
 public:
  SnippetMaker(ReportedSet& set, const std::vector<FieldUse>& uses)
      : set_(set), uses_(uses), value_(shown_field(uses).value_or(0)) {
    // What is joined lies in files of several kinds.
    if (set.loader().shard_count() > 0 && !set.request().joined && !is_to_be_converted())
      shard_ = set.loader().shard_facts(0);
    choose_value_that_is_there();
    put_set();
    if (shard_) put_shard();
  }

  Json make() const {
    Json snippets = Json::array();
    const auto add = [&](std::string_view title, const char* language, std::string_view code) {
      const std::string filled = with_os(fill_code(code, facts_));
      if (!filled.empty())
        snippets.push_back({{"title", title}, {"language", language}, {"code", filled}});
    };
    add("shale, in Python", "python", page_file("code_shale.mustache").text);
    if (shard_) {
      const ReaderCode& reader = format_named(manifest().format).reader;
      add(reader.library, "python", reader.code);
      for (const char* way : {"index", "stride"})
        if (facts_.contains(way))
          add("no library but NumPy", "python",
              page_file(way == std::string_view("index") ? "code_index.mustache"
                                                         : "code_strides.mustache")
                  .text);
    }
    add("shale, in a shell", "sh", page_file("code_shell.mustache").text);
    return snippets;
  }

 private:
  // The code reads the first sample, which may lack a value where others have one.
  void choose_value_that_is_there() {
    const std::uint64_t row = 0;
    if (set_.samples() == 0) return;
    const FoundRows found = find_rows(set_.loader(), {&row, 1});
    if (found.samples.empty()) return;
    first_ = found.samples.front().place.cells;
    for (std::size_t i = 0; i < uses_.size() && is_missing(value_); ++i)
      if (is_located(set_.schema().fields[i].kind) && !is_missing(i)) value_ = i;
  }

  [[nodiscard]] bool is_missing(std::size_t field) const {
    return field < first_.size() && is_absent(first_[field], set_.schema().fields[field]);
  }

  [[nodiscard]] const Manifest& manifest() const { return set_.manifest(); }
  // Code reads nothing of it as it is.
  [[nodiscard]] bool is_to_be_converted() const {
    return set_.request().listed || set_.is_unpacked();
  }
  [[nodiscard]] const Field& value_field() const { return set_.schema().fields[value_]; }
  [[nodiscard]] bool is_of_one_file() const { return manifest().layout.is_of_one_file(); }
  [[nodiscard]] std::string path_of(const std::string& name) const {
    return is_of_one_file() ? set_.request().dataset : join_path(set_.request().dataset, name);
  }

  void put_set() {
    const ReportRequest& request = set_.request();
    std::string words = request.joined         ? command_words_of(*request.joined)
                        : is_to_be_converted() ? "out"  // what `shale convert` writes
                                               : shell_word(request.dataset);
    if (!request.index_folder.empty()) {
      words += " --index-dir " + shell_word(request.index_folder);
      facts_["index_dir"] = python_path(request.index_folder);
    }
    if (const std::optional<Dialect> dialect = request.parsing.dialect)
      facts_["parse"] =
          dialect == Dialect::keys ? request.parsing.keys : std::string(name_of(*dialect));
    facts_.update(
        {{"dataset", request.joined ? python_join(*request.joined)
                                    : python_path(is_to_be_converted() ? "out" : request.dataset)},
         {"words", words},
         {"has_samples", set_.samples() > 0},
         {"fields", Json::array()}});
    if (set_.schema().fields.empty()) return;
    facts_["field"] = value_field().name;
    facts_["field_word"] = shell_word(value_field().name);
    for (std::size_t i = 0; i < std::min(uses_.size(), kNamedFields); ++i)
      if (!is_missing(i))
        facts_["fields"].push_back(
            {{"variable", i == value_ ? "value" : fmt::format("field_{}", i)},
             {"name", set_.schema().fields[i].name}});
    if (const auto label = set_.label_field()) facts_["label"] = set_.schema().fields[*label].name;
  }

  // Of the first shard: where its value is, and what the code of a format's row asks for.
  void put_shard() {
    const ShardLayout& layout = manifest().layout;
    const Field& field = value_field();
    const DType dtype = dtype_of_column(field);
    const bool has_samples = set_.samples() > 0, is_own = layout.dialect == Dialect::own;
    const std::size_t file = layout.part_file[layout.field_part[value_]];
    const bool is_extent = has_samples && is_own && layout.rows.has_index() &&
                           (field.kind == Kind::bytes || field.kind == Kind::text);
    const bool is_own_ragged = has_samples && is_own && field.is_ragged();
    const bool is_row = has_samples && !is_extent && layout.rows.has_strides();
    const std::string path = file < shard_->files.size()
                                 ? path_of(shard_->files[file].name)
                                 : path_of(shard_->name) + std::string(kValuesSuffix);
    facts_.update({{"file", python_path(path)},
                   {"has_own_samples", has_samples && is_own},
                   {"is_foreign", is_of_one_file()},
                   {"is_folder", is_of_one_file() && is_real_folder(set_.request().dataset)},
                   {"is_extent", is_extent},
                   {"is_row", is_row},
                   {"is_own_ragged", is_own_ragged},
                   {"has_sides", is_own_ragged && field.shape.size() > 1},
                   {"is_elsewhere", !is_extent && !is_row && !is_own_ragged},
                   {"is_of_numpy", !dtype.is_structured()},
                   {"has_features", is_own || layout.has_whole_records}});
    if (const auto label = set_.label_field(); label && has_samples && !is_missing(*label)) {
      facts_["first_label"] = facts_["label"];
      if (is_own) facts_["own_label"] = facts_["label"];
    }
    if (!has_samples) return;
    const std::string index = path_of(shard_->name) + std::string(kIndexSuffix);
    const std::optional<std::uint64_t> bytes = fixed_bytes_of(field);
    if (layout.rows.has_index()) {
      if (is_located(field.kind) && !is_missing(value_) && set_.request().index_folder.empty() &&
          stands(index))
        facts_["index"] = python_path(index);
      facts_["is_array"] = is_own && field.kind == Kind::tensor && !dtype.is_structured();
      facts_["is_ragged"] = field.is_ragged();
      put_array(field, dtype);
    } else if (bytes && value_ < shard_->bases.size() && !dtype.is_structured()) {
      facts_.update({{"base", shard_->bases[value_]}, {"stride", *bytes}});
      put_array(field, dtype);
    }
  }

  void put_array(const Field& field, const DType& dtype) {
    std::string shape;
    for (const std::uint64_t side : field.shape) shape += fmt::format("{}, ", side);
    facts_.update({{"dtype", dtype.descr()}, {"shape", shape}});
  }

  // Paths that are not UTF-8 need the module.
  [[nodiscard]] static std::string with_os(const std::string& code) {
    const bool needs_os = code.find("os.fsdecode(") != std::string::npos &&
                          code.find("import os") == std::string::npos;
    return needs_os ? "import os\n" + code : code;
  }

  ReportedSet& set_;
  const std::vector<FieldUse>& uses_;
  std::optional<ManifestShard> shard_;
  std::vector<IndexCell> first_;  // of the first sample; empty: there is none
  std::size_t value_;
  Json facts_ = Json::object();
};

}  // namespace

std::string python_path(std::string_view path) {
  if (is_utf8(path)) return python_repr(path);
  std::string text = "os.fsdecode(b'";
  for (const char byte : path) {
    const bool is_plain = byte >= ' ' && byte <= '~' && byte != '\'' && byte != '\\';
    if (is_plain)
      text += byte;
    else
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return text + "')";
}

Json make_snippets(ReportedSet& set, const std::vector<FieldUse>& uses) {
  return SnippetMaker(set, uses).make();
}

}  // namespace shale
