#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shale/base/nearest_word.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"

namespace shale::tools {

namespace po = boost::program_options;

struct ParsedOptions {
  po::options_description own{"options"}, common{"common options"};
  po::variables_map values;
};

namespace {

std::vector<std::string> unrecognized_words(const po::parsed_options& parsed) {
  return po::collect_unrecognized(parsed.options, po::include_positional);
}

// Where a word is among those in the name of a value; `what` is what it was given as.
std::size_t position_of(const std::string& word, std::string_view value_name,
                        std::string_view what) {
  std::vector<std::string> choices;
  for (const std::string_view choice : choices_in(value_name)) choices.emplace_back(choice);
  const auto found = std::find(choices.begin(), choices.end(), word);
  if (found == choices.end()) {
    throw Error(Code::usage, "{} '{}' is not {}{}", what, printable(word),
                choices.size() > 1 ? "one of " : "", fmt::join(choices, ", "))
        .hint(did_you_mean(word, choices));
  }
  return static_cast<std::size_t>(found - choices.begin());
}

// "$UNSET" in a script must not count as an option that was not given, or as the current folder.
void refuse_empty_values(const po::parsed_options& parsed, std::string_view usage) {
  constexpr const char* kHint =
      "check whether a variable in the script is unset, or leave the option out";
  for (const po::option& option : parsed.options) {
    const bool is_named = option.position_key < 0;
    if (std::find(option.value.begin(), option.value.end(), "") == option.value.end()) continue;
    if (is_named) throw Error(Code::usage, "--{} is empty", option.string_key).hint(kHint);
    throw Error(Code::usage, "argument {} is empty", static_cast<unsigned>(option.position_key) + 1)
        .hint(fmt::format("usage: {}", usage));
  }
}

}  // namespace

std::vector<std::string_view> choices_in(std::string_view value_name) {
  std::vector<std::string_view> choices;
  while (!value_name.empty()) {
    const std::size_t end = std::min(value_name.find('|'), value_name.size());
    const std::string_view word = value_name.substr(0, end);
    const bool is_choice = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
    if (is_choice) choices.push_back(word);
    value_name.remove_prefix(std::min(end + 1, value_name.size()));
  }
  return choices;
}

OptionAdder& OptionAdder::operator()(const char* name, const char* description) {
  po::options_description& group = is_common_ ? options_.common : options_.own;
  group.add_options()(name, po::bool_switch(), description);
  return *this;
}

OptionAdder& OptionAdder::operator()(const char* name, OptionValue value, const char* description) {
  po::options_description& group = is_common_ ? options_.common : options_.own;
  if (value.is_repeated) {
    using Texts = std::vector<std::string>;
    group.add_options()(name, po::value<Texts>()->composing()->value_name(value.name), description);
    return *this;
  }
  po::typed_value<std::string>* one = po::value<std::string>()->value_name(value.name);
  if (value.default_text != nullptr) one->default_value(value.default_text);
  group.add_options()(name, one, description);
  return *this;
}

CommandLine::~CommandLine() = default;

CommandLine::CommandLine(const Command& command)
    : command_(command), options_(std::make_unique<ParsedOptions>()) {
  OptionAdder add_common(*options_, true);
  if (command.declare != nullptr) command.declare(*this);
  if (has_common(kJobsOption)) {
    add_common("jobs", value("N"),
               "number of threads; default: as many as SLURM, CPU affinity and cgroup allow");
  }
  if (has_common(kMemoryOption)) {
    add_common("memory", value("SIZE"),
               "memory budget, at least 16MiB; default: 256MiB, or a quarter of the "
               "limit if that is less");
  }
  if (has_common(kProgressOptions)) {
    add_common(
        "progress", value("auto|plain|json|none", "auto"),
        "auto (a bar on a terminal, elsewhere a line per minute), plain (lines), json (events), "
        "none");
    add_common("quiet", "no progress, no notes, no report");
  }
  if (has_common(kVerboseOption))
    add_common("verbose", "print how many threads and how much memory are used");
  if (!has_common(kNoJson)) add_common("json", "one JSON object on stdout instead of text");
  add_common("help", "print this help (also -h)");
}

std::vector<OptionText> CommandLine::options() const {
  std::vector<OptionText> texts;
  for (const po::options_description* group : {&options_->own, &options_->common}) {
    for (const auto& option : group->options()) {
      const bool takes_value = option->semantic()->max_tokens() > 0;
      const std::string value = option->semantic()->name();  // "SIZE (=1GiB)"
      texts.push_back({option->long_name(), takes_value ? value.substr(0, value.find(" (")) : "",
                       option->description()});
    }
  }
  return texts;
}

Error CommandLine::unknown_option(const std::string& word) const {
  const std::string name = word.substr(std::min<std::size_t>(word.find_first_not_of('-'), 2));
  std::vector<std::string> names;
  for (const OptionText& option : options()) names.push_back(option.name);
  return Error(Code::usage, "unknown option '{}' of shale {}", printable(word), command_.name)
      .hint(did_you_mean(name.substr(0, name.find('=')), names, "--"))
      .hint(fmt::format("'shale {} --help' lists them", command_.name));
}

std::string CommandLine::help() const {
  std::ostringstream options;
  if (!options_->own.options().empty()) options << options_->own << "\n";
  options << options_->common;
  std::string examples =
      command_.examples.find('\n') == std::string_view::npos ? "\nexample:\n  " : "\nexamples:\n  ";
  for (const char letter : command_.examples) {
    examples += letter;
    if (letter == '\n') examples += "  ";
  }
  return fmt::format("usage: {}\n\n{}\n\n{}{}\n", command_.usage, command_.summary, options.str(),
                     examples);
}

// -o is short for --output, of the commands that have that: besides -h the only short option.
std::vector<std::string> CommandLine::with_long_output(std::vector<std::string> words) const {
  if (options_->own.find_nothrow("output", false) == nullptr) return words;
  std::replace(words.begin(), std::find(words.begin(), words.end(), "--"), std::string("-o"),
               std::string("--output"));
  return words;
}

bool CommandLine::parse(const std::vector<std::string>& given) {
  const std::vector<std::string> words = with_long_output(given);
  po::options_description all;
  all.add(options_->own).add(options_->common);
  bool asks_for_help = false;
  try {
    // Long options must be written out: a guess at an abbreviation would change its meaning when
    // options are added.
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing &
                      ~po::command_line_style::allow_short;
    po::positional_options_description none;
    const po::parsed_options parsed =
        po::command_line_parser(words).options(all).style(style).allow_unregistered().run();
    for (const po::option& option : parsed.options) {
      if (option.unregistered) throw unknown_option(option.original_tokens.at(0));
    }
    words_ = unrecognized_words(parsed);
    asks_for_help = take_short_words(words);
    refuse_empty_values(parsed, command_.usage);
    po::store(parsed, options_->values);
    po::notify(options_->values);
  } catch (const po::error& error) {
    throw Error(Code::usage, "{}", error.what()).hint(fmt::format("usage: {}", command_.usage));
  }
  if (!asks_for_help && !flag("help")) return true;
  print(help());
  return false;
}

// True for -h. Errors: any other word with one dash that is not the value of an option.
bool CommandLine::take_short_words(const std::vector<std::string>& words) const {
  bool asks_for_help = false;
  const auto separator = std::find(words.begin(), words.end(), "--");
  for (auto word = words.begin(); word != separator; ++word) {
    if (word->size() < 2 || (*word)[0] != '-' || (*word)[1] == '-') continue;
    if (std::find(words_.begin(), words_.end(), *word) == words_.end())
      continue;  // the value of an option
    asks_for_help = asks_for_help || *word == "-h";
    if (*word == "-h") continue;
    throw Error(Code::usage, "unknown option '{}': options are long, with two dashes",
                printable(*word))
        .hint(
            fmt::format("'shale {} --help' lists them; put a name that begins with a dash after --",
                        command_.name));
  }
  return asks_for_help;
}

void CommandLine::require_words(std::size_t count) const {
  if (words_.size() == count) return;
  throw Error(Code::usage, "{} given, expected {}",
              format_counted(words_.size(), "argument", "arguments"), count)
      .hint(fmt::format("usage: {}", command_.usage));
}

void CommandLine::require_words_at_least(std::size_t count) const {
  if (words_.size() >= count) return;
  throw Error(Code::usage, "{} given, expected at least {}",
              format_counted(words_.size(), "argument", "arguments"), count)
      .hint(fmt::format("usage: {}", command_.usage));
}

bool CommandLine::has(const char* option) const {
  const po::variables_map& values = options_->values;
  return values.count(option) > 0 && !values[option].defaulted();
}

bool CommandLine::flag(const char* option) const { return options_->values[option].as<bool>(); }

const std::string& CommandLine::text(const char* option) const {
  return options_->values[option].as<std::string>();
}

const std::vector<std::string>& CommandLine::texts(const char* option) const {
  return options_->values[option].as<std::vector<std::string>>();
}

std::size_t CommandLine::choice(const char* option, const char* variable) const {
  const std::vector<OptionText> all = options();
  const auto described = std::find_if(all.begin(), all.end(),
                                      [&](const OptionText& one) { return one.name == option; });
  const char* value = variable == nullptr || has(option) ? nullptr : std::getenv(variable);
  const bool is_from_variable = value != nullptr && *value != '\0';
  return position_of(is_from_variable ? value : text(option), described->value,
                     is_from_variable ? variable : fmt::format("--{}", option));
}

std::size_t CommandLine::operand_choice() const {
  require_words(1);
  return position_of(words_[0], command_.operands, "argument");
}

void read_label_columns(const CommandLine& line, const std::string& labels, std::string& label,
                        std::string& key) {
  for (const char* option : {"label-column", "key-column"}) {
    if (labels.empty() && line.has(option))
      throw Error(Code::usage, "--{} needs --labels, the file that has the column", option);
  }
  if (line.has("label-column")) label = line.text("label-column");
  if (line.has("key-column")) key = line.text("key-column");
}

void add_index_dir(CommandLine& line) {
  line.add()(
      "index-dir", value("DIR"),
      "(files of other tools only) directory that holds the index of the file; default: beside it");
}

void add_file_options(CommandLine& line) {
  add_index_dir(line);
  line.add()(
      "parse",
      value(
          "auto|plain|msgpack|pickle|coclr|lyken-old|caffe|xunge|thecml|tensorpack|lsun|robomimic"),
      "(LMDB and HDF5 files) how values become fields: plain, each is one field; msgpack and "
      "pickle, each holds them; or the layout of a known reader. auto: what the index says, else "
      "the layout that is recognized, else plain");
}

DatasetRequest dataset_request(const CommandLine& line) {
  DatasetRequest request;
  request.path = line.words()[0];
  if (line.has("index-dir")) request.index_folder = line.text("index-dir");
  request.dialect = dialect_option(line);
  request.generator = kGenerator;
  return request;
}

std::optional<Dialect> dialect_option(const CommandLine& line) {
  if (!line.has("parse")) return std::nullopt;
  (void)line.choice("parse");  // one of those there are
  return wanted_dialect(line.text("parse"));
}

Progress::Mode CommandLine::progress_mode() const {
  constexpr Progress::Mode kModes[] = {Progress::Mode::automatic, Progress::Mode::plain,
                                       Progress::Mode::json, Progress::Mode::none};
  if (!has_common(kProgressOptions)) return Progress::Mode::none;
  const Progress::Mode mode = kModes[choice("progress", "SHALE_PROGRESS")];
  return flag("quiet") ? Progress::Mode::none : mode;
}

CommonOptions CommandLine::common() const {
  CommonOptions common;
  common.is_json = flag("json");
  common.is_quiet = has_common(kProgressOptions) && flag("quiet");
  common.is_verbose = has_common(kVerboseOption) && flag("verbose");
  common.progress = progress_mode();
  if (has_common(kJobsOption))
    common.jobs = granted_jobs(has("jobs") ? std::optional(parse_count(text("jobs"), "--jobs"))
                                           : std::nullopt);
  if (has_common(kMemoryOption))
    common.memory = granted_memory(has("memory") ? std::optional<std::string_view>(text("memory"))
                                                 : std::nullopt);
  return common;
}

}  // namespace shale::tools
