#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include "shale/base/nearest_word.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/browse/indexed_join.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/requests/combinations.hpp"
#include "shale/shards/place.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"
#include "tools/requests.hpp"

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

// The word, which is among those in the name of a value; `what` is what it was given as.
std::string checked_choice(const std::string& word, std::string_view value_name,
                           std::string_view what) {
  std::vector<std::string> choices;
  for (const std::string_view choice : choices_in(value_name)) choices.emplace_back(choice);
  return checked_word(word, choices, what);
}

// "$UNSET" in a script must not count as an option that was not given, or as the current folder.
// In "--labels --to lmdb" the value was forgotten, and the next option is not it.
void refuse_bad_values(const po::parsed_options& parsed, std::string_view usage) {
  constexpr const char* kHint =
      "check whether a variable in the script is unset, or leave the option out";
  for (const po::option& option : parsed.options) {
    const bool is_named = option.position_key < 0;
    const std::vector<std::string>& tokens = option.original_tokens;
    if (is_named && tokens.size() > 1 && tokens[1].starts_with("--")) {
      throw Error(Code::usage, "--{} needs a value, but is followed by '{}'", option.string_key,
                  printable(tokens[1]))
          .hint(fmt::format("if that is the value, write --{}={}", option.string_key,
                            printable(tokens[1])));
    }
    if (std::find(option.value.begin(), option.value.end(), "") == option.value.end()) continue;
    if (is_named) throw Error(Code::usage, "--{} is empty", option.string_key).hint(kHint);
    throw Error(Code::usage, "argument {} is empty", static_cast<unsigned>(option.position_key) + 1)
        .hint(fmt::format("usage: {}", usage));
  }
}

}  // namespace

CommandLine::~CommandLine() = default;

CommandLine::CommandLine(const Command& command)
    : command_(command), options_(std::make_unique<ParsedOptions>()) {
  using Texts = std::vector<std::string>;
  for (const Option* option : options_of(command.name)) {
    const char* name = option->name.data();
    const char* help = option->help.data();
    po::options_description& group = option->is(kCommon) ? options_->common : options_->own;
    if (option->value.empty()) {
      group.add_options()(name, po::bool_switch(), help);
    } else if (option->is(kRepeated)) {
      group.add_options()(name, po::value<Texts>()->composing()->value_name(option->value.data()),
                          help);
    } else {
      po::typed_value<std::string>* value = po::value<std::string>();
      value->value_name(option->value.data());
      if (!option->default_text.empty()) value->default_value(option->default_text.data());
      group.add_options()(name, value, help);
    }
  }
}

Error CommandLine::unknown_option(const std::string& word) const {
  const std::string name = word.substr(std::min<std::size_t>(word.find_first_not_of('-'), 2));
  std::vector<std::string> names;
  for (const Option* option : options_of(command_.name)) names.emplace_back(option->name);
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
  if (!knows("output")) return words;
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
    refuse_bad_values(parsed, command_.usage);
    po::store(parsed, options_->values);
    po::notify(options_->values);
  } catch (const po::error& error) {
    throw Error(Code::usage, "{}", error.what()).hint(fmt::format("usage: {}", command_.usage));
  }
  if (!asks_for_help && !flag("help")) return true;
  print(help());
  return false;
}

// True for -h. Errors: any other word with dashes that is not the value of an option.
bool CommandLine::take_short_words(const std::vector<std::string>& words) const {
  bool asks_for_help = false;
  const auto separator = std::find(words.begin(), words.end(), "--");
  for (auto word = words.begin(); word != separator; ++word) {
    if (word->size() < 2 || (*word)[0] != '-') continue;
    if (std::find(words_.begin(), words_.end(), *word) == words_.end())
      continue;  // the value of an option
    asks_for_help = asks_for_help || *word == "-h";
    if (*word == "-h") continue;
    if (word->starts_with("--")) throw unknown_option(*word);
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

bool CommandLine::knows(const char* option) const {
  return options_->own.find_nothrow(option, false) != nullptr ||
         options_->common.find_nothrow(option, false) != nullptr;
}

bool CommandLine::flag(const char* option) const {
  return knows(option) && options_->values[option].as<bool>();
}

const std::string& CommandLine::text(const char* option) const {
  return options_->values[option].as<std::string>();
}

std::string CommandLine::text_or_none(const char* option) const {
  return has(option) ? text(option) : std::string();
}

std::vector<std::string> CommandLine::texts(const char* option) const {
  if (!has(option)) return {};
  return options_->values[option].as<std::vector<std::string>>();
}

std::optional<std::uint64_t> CommandLine::count(const char* option) const {
  if (!has(option)) return std::nullopt;
  return parse_count(text(option), fmt::format("--{}", option));
}

std::string CommandLine::choice(const char* option, const char* variable) const {
  const char* value = variable == nullptr || has(option) ? nullptr : std::getenv(variable);
  const bool is_from_variable = value != nullptr && *value != '\0';
  const auto options = options_of(command_.name);
  const auto described = std::find_if(options.begin(), options.end(),
                                      [&](const Option* one) { return one->name == option; });
  return checked_choice(is_from_variable ? value : text(option), (*described)->value,
                        is_from_variable ? variable : fmt::format("--{}", option));
}

std::string CommandLine::operand_choice() const {
  require_words(1);
  return checked_choice(words_[0], command_.operands, "argument");
}

void CommandLine::keep_stream(const Events& events) {
  if (words_.empty()) return;
  InputRequest input;
  input.inputs = {words_.front()};
  input.container = {text_or_none("index-dir"), parsing_option(*this)};
  kept_ = keep_samples(input, events);
  if (!kept_) return;
  words_.front() = input.inputs.front();
  call_it(words_.front(), kept_->stream);
}

LabelFile label_file_of(const CommandLine& line) {
  LabelFile file{.path = line.text_or_none("labels"),
                 .label_column = line.text_or_none("label-column"),
                 .key_column = line.text_or_none("key-column"),
                 .separator = line.text_or_none("label-separator"),
                 .strip_prefix = line.text_or_none("strip-prefix"),
                 .pattern = line.text_or_none("label-from")};
  refuse_idle_columns(file);
  return file;
}

std::string dataset_word(const CommandLine& line, std::size_t others) {
  std::vector<std::string> words = line.words();
  if (words.size() <= others + 1) line.require_words(others + 1);
  words.resize(words.size() - others);
  if (words.size() > 1 && !files_of_words(words)) line.require_words(others + 1);
  return word_of_files(words);
}

std::optional<InputRequest> joined_inputs(const CommandLine& line, std::size_t others) {
  std::vector<std::string> words = line.words();
  words.resize(words.size() - std::min(words.size(), others));
  InputRequest inputs;
  // Of a dataset that is compared, --raw is for what it is compared with.
  if (!line.has("against")) inputs.raw = raw_option(line);
  if (!are_inputs_with_names(words) && !line.has("axis") && !inputs.raw.is_given() &&
      !are_arrays_alone(words))
    return std::nullopt;
  if (words.empty()) line.require_words(others + 1);
  if (line.has("axis")) inputs.axes = parse_axes(line.text("axis"));
  take_file_options(line, inputs);
  inputs.inputs = std::move(words);
  inputs.generator = kGenerator;
  inputs.container = {line.text_or_none("index-dir"), parsing_option(line)};
  inputs.join = join_option(line);
  return inputs;
}

std::optional<InputRequest> listed_input(const CommandLine& line, std::size_t others) {
  if (joined_inputs(line, others)) return std::nullopt;
  const std::string path = dataset_word(line, others);
  if (!is_listed_input(path)) return std::nullopt;
  InputRequest input;
  take_file_options(line, input);
  input.inputs = {path};
  input.generator = kGenerator;
  input.container = {line.text_or_none("index-dir"), parsing_option(line)};
  input.join = join_option(line);
  return input;
}

DatasetRequest dataset_request(const CommandLine& line, std::size_t others) {
  DatasetRequest request;
  request.index_folder = line.text_or_none("index-dir");
  request.parsing = parsing_option(line);
  request.generator = kGenerator;
  request.unpacking = Unpacking::if_refused;
  const std::optional<InputRequest> inputs = joined_inputs(line, others);
  if (!inputs || inputs->inputs.size() == 1) {
    if (line.has("on") || line.has("partners")) {
      throw Error(Code::usage, "{} is for inputs with names, which are joined",
                  line.has("on") ? "--on" : "--partners")
          .hint("name them all, as in lq=lq.lmdb gt=gt.lmdb");
    }
  }
  if (!inputs) {
    request.path = dataset_word(line, others);
    if (const std::optional<InputRequest> listed = listed_input(line, others)) {
      const ListedValues keys_only = {.takes = [](const std::string&, auto) { return false; }};
      request.open_instead = [inputs = *listed, keys_only](const Events& events) {
        return open_listed_input(inputs, keys_only, events);
      };
      return request;
    }
    refuse_idle_file_options(line, request.path);
    // Where convert made a dataset of the one split that its input had.
    const std::vector<std::string> splits = splits_in(request.path);
    if (splits.size() == 1) request.path = join_path(request.path, splits.front());
    return request;
  }
  request.path = text_of_inputs(inputs->inputs);
  request.axes = inputs->axes;
  request.open_instead = [inputs = *inputs](const Events& events) {
    return open_joined_inputs(inputs, events);
  };
  return request;
}

IoMode io_option(const CommandLine& line) {
  const std::string mode = line.choice("io", "SHALE_IO");
  if (mode == "direct") return IoMode::direct;
  return mode == "buffered" ? IoMode::buffered : IoMode::automatic;
}

Parsing parsing_option(const CommandLine& line) {
  const std::string parse = line.text_or_none("parse");
  const bool is_pattern = parse.find('=') != std::string::npos;
  return wanted_parsing(parse.empty() || is_pattern ? parse : line.choice("parse"),
                        line.text_or_none("database"));
}

RawNumbers raw_option(const CommandLine& line) {
  refuse_idle_offset(line.has("raw"), line.has("raw-offset"));
  if (!line.has("raw")) return {};
  return parse_raw(line.text("raw"), line.count("raw-offset").value_or(0));
}

JoinRequest join_option(const CommandLine& line) {
  return join_named(line.has("on") ? line.choice("on") : "",
                    line.has("partners") ? line.choice("partners") : "");
}

void refuse_idle_join(const CommandLine& line, const std::vector<std::string>& sources,
                      std::string_view option) {
  if (sources.size() > 1 || (!line.has("on") && !line.has("partners"))) return;
  throw Error(Code::usage, "{} is for a source that is joined from several inputs",
              line.has("on") ? "--on" : "--partners")
      .hint(fmt::format("pass them all, as in {0} lq=lq.lmdb {0} gt=gt.lmdb", option));
}

Console::Mode CommandLine::progress_mode() const {
  if (!knows("progress")) return Console::Mode::none;
  const std::string mode = choice("progress", "SHALE_PROGRESS");
  if (flag("quiet")) return Console::Mode::silent;
  if (mode == "plain") return Console::Mode::plain;
  if (mode == "json") return Console::Mode::json;
  return mode == "none" ? Console::Mode::none : Console::Mode::automatic;
}

Limit CommandLine::jobs() const { return granted_jobs(count("jobs")); }

Limit CommandLine::memory() const {
  return granted_memory(has("memory") ? std::optional<std::string_view>(text("memory"))
                                      : std::nullopt);
}

void say_limits(const CommandLine& line, const Events& events) {
  const Limit jobs = line.jobs(), memory = line.memory();
  if (!line.flag("verbose") && !jobs.bites && !memory.bites) return;
  events.say(fmt::format("{} ({}), {} of memory ({})",
                         format_counted(jobs.value, "thread", "threads"), jobs.source,
                         format_size(memory.value), memory.source));
}

}  // namespace shale::tools
