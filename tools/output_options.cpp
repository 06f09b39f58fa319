#include "tools/output_options.hpp"

#include <algorithm>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/ops/choose_output.hpp"

#include "tools/facts.hpp"

namespace shale::tools {
namespace {

OutputOptions output_options_of(const CommandLine& line) {
  OutputOptions options;
  if (line.has("to")) options.format = line.text("to");
  if (line.has("shard-size"))
    options.shard_bytes = parse_size(line.text("shard-size"), "--shard-size");
  if (line.has("shard-samples"))
    options.shard_samples = parse_count(line.text("shard-samples"), "--shard-samples");
  return options;
}

std::vector<std::string> split_fields(const std::string& text) {
  std::vector<std::string> fields;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    fields.push_back(text.substr(begin, end - begin));
    if (fields.back().empty())
      throw Error(Code::usage, "--fields '{}' has an empty field name", printable(text));
    begin = end + 1;
  }
  return fields;
}

}  // namespace

void refuse_for_file(const CommandLine& line, std::span<const char* const> options,
                     const std::string& output) {
  for (const char* option : options) {
    if (line.has(option)) throw does_nothing_for_file(option, output);
  }
}

void add_output_options(CommandLine& line) {
  line.add()  //
      ("to", value("FORMAT"),
       "format of the shards (see 'shale formats'); of one file its suffix says it")  //
      ("shard-size", value("SIZE", "1GiB"),
       "maximum size of each file of a shard")  //
      ("shard-samples", value("N"),
       "maximum number of samples per shard")  //
      ("fields", value("A,B"),
       "(datasets and arrays only) write only these fields, in this order")  //
      ("io", value("auto|direct|buffered", "auto"),
       "bypass the page cache, or write through it")  //
      ("overwrite", "replace existing outputs")       //
      ("dry-run", "print what would be written; write nothing");
}

ConvertRequest read_output_options(const CommandLine& line, const CommonOptions& common,
                                   const FileOptions& file) {
  line.require_words_at_least(2);
  ConvertRequest request;
  request.inputs.assign(line.words().begin(), line.words().end() - 1);
  request.output = line.words().back();
  OutputOptions options = output_options_of(line);
  options.with_index = file.with_index;
  options.compression = file.compression;
  options.is_append = file.is_append;
  options.layout = file.layout;
  request.verify = file.verifies;
  choose_output(request, options);
  if (line.has("fields")) request.fields = split_fields(line.text("fields"));
  request.generator = kGenerator;
  request.io = static_cast<IoMode>(line.choice("io", "SHALE_IO"));
  request.overwrite = line.flag("overwrite");
  request.is_dry_run = line.flag("dry-run");
  request.jobs = static_cast<unsigned>(common.jobs.value);
  request.memory_bytes = common.memory.value;
  return request;
}

}  // namespace shale::tools
