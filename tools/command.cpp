#include "tools/command.hpp"

#include <algorithm>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"

namespace shale::tools {
namespace {

constexpr Command kCommands[] = {
    {"convert", "shale convert INPUT OUTPUT --to FORMAT [options]",
     "turn an image folder, a dataset, an LMDB, HDF5 or TFRecord file into shards", run_convert},
    {"verify", "shale verify DATASET [--quick|--full|--deep] [--against SOURCE]",
     "verify that a dataset is intact, or say exactly what is damaged", run_verify},
    {"info", "shale info DATASET", "show what a dataset holds", run_info},
    {"cat", "shale cat DATASET ROW | --key KEY [--field F]",
     "write one field of one sample to stdout", run_cat},
    {"formats", "shale formats", "list the formats and what each can hold", run_formats},
    {"index", "shale index DATASET|FILE... [--index-dir DIR] [--crc] [--parse msgpack]",
     "index files written by other tools; rebuild lost indexes and block lists", run_index},
    {"resample", "shale resample SRC... OUT.npy [--rows N] [--replace|--indices F|--weights F]",
     "draw rows of an array, or shuffle them, into an array of any size", run_resample},
};

std::vector<std::string> unrecognized_words(const po::parsed_options& parsed) {
  return po::collect_unrecognized(parsed.options, po::include_positional);
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

int exit_code_of(Code code) {
  switch (code) {
    case Code::usage:
      return kUsage;
    case Code::damaged:
      return kDamaged;
    case Code::interrupted:
      return kInterrupted;
    case Code::bug:
      return kBug;
    default:
      return kFailed;
  }
}

void say_limits(const CommonOptions& common, const Events& events) {
  if (!common.is_verbose && !common.jobs.bites && !common.memory.bites) return;
  events.say(fmt::format("{} ({}), {} of memory ({})",
                         format_counted(common.jobs.value, "thread", "threads"), common.jobs.source,
                         format_size(common.memory.value), common.memory.source));
}

CommandLine::CommandLine(const Command& command, unsigned common_set)
    : command_(command), common_set_(common_set) {
  if ((common_set & kJobsOption) != 0) {
    common_.add_options()(
        "jobs", po::value<std::string>()->value_name("N"),
        "number of threads; default: as many as SLURM, CPU affinity and cgroup allow");
  }
  if ((common_set & kMemoryOption) != 0) {
    common_.add_options()("memory", po::value<std::string>()->value_name("SIZE"),
                          "memory budget, at least 16MiB; default: 256MiB, or a quarter of the "
                          "limit if that is less");
  }
  if ((common_set & kProgressOptions) != 0) {
    common_.add_options()("progress",
                          po::value<std::string>()->default_value("auto")->value_name("HOW"),
                          "auto (a bar on a terminal), plain (lines), none");
    common_.add_options()("quiet", po::bool_switch(), "no progress, no notes, no report");
  }
  if ((common_set & kVerboseOption) != 0)
    common_.add_options()("verbose", po::bool_switch(),
                          "print how many threads and how much memory are used");
  common_.add_options()("json", po::bool_switch(), "one JSON object on stdout instead of text");
  common_.add_options()("help", po::bool_switch(), "print this help (also -h)");
}

bool CommandLine::parse(const std::vector<std::string>& words) {
  po::options_description all;
  all.add(own_).add(common_);
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
      if (option.unregistered) {
        throw Error(Code::usage, "unknown option '{}' of shale {}",
                    printable(option.original_tokens.at(0)), command_.name)
            .hint(fmt::format("'shale {} --help' lists them", command_.name));
      }
    }
    words_ = unrecognized_words(parsed);
    asks_for_help = take_short_words(words);
    refuse_empty_values(parsed);
    po::store(parsed, values_);
    po::notify(values_);
  } catch (const po::error& error) {
    throw Error(Code::usage, "{}", error.what()).hint(fmt::format("usage: {}", command_.usage));
  }
  if (!asks_for_help && !flag("help")) return true;
  std::string text = fmt::format("usage: {}\n\n{}\n\n", command_.usage, command_.summary);
  std::ostringstream options;
  if (!own_.options().empty()) options << own_ << "\n";
  options << common_;
  print(text + options.str());
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

// "$UNSET" in a script must not count as an option that was not given, or as the current folder.
void CommandLine::refuse_empty_values(const po::parsed_options& parsed) const {
  constexpr const char* kHint =
      "check whether a variable in the script is unset, or leave the option out";
  for (const po::option& option : parsed.options) {
    const bool is_named = option.position_key < 0;
    if (std::find(option.value.begin(), option.value.end(), "") == option.value.end()) continue;
    if (is_named) throw Error(Code::usage, "--{} is empty", option.string_key).hint(kHint);
    throw Error(Code::usage, "argument {} is empty", static_cast<unsigned>(option.position_key) + 1)
        .hint(fmt::format("usage: {}", command_.usage));
  }
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

std::size_t CommandLine::choice(const char* option, std::span<const std::string_view> words) const {
  const auto found = std::find(words.begin(), words.end(), text(option));
  if (found == words.end()) {
    throw Error(Code::usage, "--{} '{}' is not one of {}", option, printable(text(option)),
                fmt::join(words, ", "));
  }
  return static_cast<std::size_t>(found - words.begin());
}

void add_index_dir(CommandLine& line) {
  line.add()("index-dir", po::value<std::string>()->value_name("DIR"),
             "directory of the index of an LMDB, HDF5 or TFRecord file; default: beside the file");
}

std::optional<Dialect> dialect_option(const CommandLine& line) {
  constexpr std::string_view kWords[] = {"plain", "msgpack"};
  if (!line.has("parse")) return std::nullopt;
  return line.choice("parse", kWords) == 0 ? Dialect::plain : Dialect::msgpack;
}

CommonOptions CommandLine::common() const {
  CommonOptions common;
  common.is_json = flag("json");
  common.is_quiet = (common_set_ & kProgressOptions) != 0 && flag("quiet");
  common.is_verbose = (common_set_ & kVerboseOption) != 0 && flag("verbose");
  constexpr std::string_view kModes[] = {"auto", "plain", "none"};
  constexpr Progress::Mode kModeValues[] = {Progress::Mode::automatic, Progress::Mode::plain,
                                            Progress::Mode::none};
  if ((common_set_ & kProgressOptions) != 0) {
    common.progress =
        common.is_quiet ? Progress::Mode::none : kModeValues[choice("progress", kModes)];
  }
  common.jobs =
      granted_jobs(has("jobs") ? std::optional(parse_count(text("jobs"), "--jobs")) : std::nullopt);
  common.memory = granted_memory(has("memory") ? std::optional<std::string_view>(text("memory"))
                                               : std::nullopt);
  return common;
}

}  // namespace shale::tools
