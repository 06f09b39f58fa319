#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shale/format/format.hpp"

#include "tools/command.hpp"

// The scripts are made from the command table and the options of each command: what --help lists is
// what Tab offers.

namespace shale::tools {
namespace {

/// What is allowed at one position of a command line.
struct Offer {
  std::vector<std::string> words;
  bool files = false, folders = false;
};

// By the name of a value, or of operands: "FORMAT", "skip|keep", "DATASET|FILE", "N".
Offer offer_for(std::string_view value_name) {
  Offer offer;
  for (const std::string_view choice : choices_in(value_name)) offer.words.emplace_back(choice);
  if (value_name == "FORMAT") {
    for (const Format* format : all_formats()) offer.words.emplace_back(format->name);
  }
  constexpr std::string_view kFiles[] = {"FILE", "SOURCE", ".npy"};
  offer.files = std::any_of(std::begin(kFiles), std::end(kFiles), [&](std::string_view file) {
    return value_name.find(file) != std::string_view::npos;
  });
  offer.folders = value_name == "DIR";
  return offer;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  return names;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// In single quotes, for bash and zsh.
std::string quoted(const std::string& text) {
  return fmt::format("'{}'", replaced(text, "'", "'\\''"));
}

// ---- bash ----

std::string bash_offer(const Offer& offer) {
  std::string text;
  if (!offer.words.empty())
    text +=
        fmt::format("_shale_words {}; ", quoted(fmt::format("{}", fmt::join(offer.words, " "))));
  if (offer.files) text += "_shale_paths -f; ";
  if (offer.folders) text += "_shale_paths -d; ";
  return text;
}

std::string bash_command(const Command& command) {
  std::string options, values;
  for (const Option* option : options_of(command.name)) {
    options += fmt::format("{}--{}", options.empty() ? "" : " ", option->name);
    if (!option->value.empty())
      values += fmt::format("        --{}) {}return ;;\n", option->name,
                            bash_offer(offer_for(option->value)));
  }
  return fmt::format(
      "    {})\n"
      "      case $before in\n"
      "{}"
      "      esac\n"
      "      if [[ $word == -* ]]; then _shale_words '{}'; return; fi\n"
      "      {}return ;;\n",
      command.name, values, options, bash_offer(offer_for(command.operands)));
}

std::string bash_script() {
  std::string cases;
  for (const Command& command : commands()) cases += bash_command(command);
  const std::string names = fmt::format("{}", fmt::join(command_names(), " "));
  return R"(# bash completion for shale, printed by 'shale completion bash'

_shale_words() {
  local found
  mapfile -t found < <(compgen -W "$1" -- "$word")
  COMPREPLY+=("${found[@]}")
}

_shale_paths() {
  local found
  compopt -o filenames 2>/dev/null
  mapfile -t found < <(compgen "$1" -- "$word")
  COMPREPLY+=("${found[@]}")
}

_shale() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  # Readline takes --option=value for three words.
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD == 1)); then
    _shale_words ')" +
         names + R"( help --help --version'
    return
  fi
  case ${COMP_WORDS[1]} in
    help)
      if ((COMP_CWORD == 2)); then _shale_words ')" +
         names + "'; fi\n      return ;;\n" + cases + R"(  esac
}

complete -F _shale shale
)";
}

// ---- zsh ----

// The text of a description in a spec of _arguments.
std::string zsh_text(std::string text) {
  for (const std::string_view special : {"\\", "[", "]", ":"})
    text = replaced(text, special, fmt::format("\\{}", special));
  return text;
}

std::string zsh_offer(const Offer& offer) {
  if (offer.files) return "_files";
  if (offer.folders) return "_files -/";
  return offer.words.empty() ? " " : fmt::format("({})", fmt::join(offer.words, " "));
}

std::string zsh_command(const Command& command) {
  std::string specs;
  const auto add = [&](const std::string& spec) { specs += " \\\n        " + quoted(spec); };
  for (const Option* option : options_of(command.name)) {
    const std::string text = zsh_text(std::string(option->help));
    add(option->value.empty() ? fmt::format("--{}[{}]", option->name, text)
                              : fmt::format("--{}=[{}]:{}:{}", option->name, text,
                                            zsh_text(std::string(option->value)),
                                            zsh_offer(offer_for(option->value))));
  }
  if (!command.operands.empty()) {
    add(fmt::format("*:{}:{}", zsh_text(std::string(command.operands)),
                    zsh_offer(offer_for(command.operands))));
  }
  return fmt::format("    {})\n      _arguments{} ;;\n", command.name, specs);
}

std::string zsh_script() {
  std::string names, cases;
  for (const Command& command : commands()) {
    names += "\n    " +
             quoted(fmt::format("{}:{}", command.name, zsh_text(std::string(command.summary))));
    cases += zsh_command(command);
  }
  return R"(#compdef shale
# zsh completion for shale, printed by 'shale completion zsh'

_shale() {
  local -a commands
  commands=()" +
         names + R"(
  )
  if ((CURRENT == 2)); then
    _describe -t commands command commands
    _arguments '--help[list the commands]' '--version[print the version]'
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
    help)
      if ((CURRENT == 2)); then _describe -t commands command commands; fi ;;
)" + cases +
         R"(  esac
}

# Loaded from fpath, this file is the function; sourced, it registers it.
if [[ $funcstack[1] == _shale ]]; then
  _shale "$@"
else
  compdef _shale shale
fi
)";
}

// ---- fish ----

std::string fish_quoted(std::string text) {
  text = replaced(std::move(text), "\\", "\\\\");
  return fmt::format("'{}'", replaced(std::move(text), "'", "\\'"));
}

std::string fish_offer(const Offer& offer) {
  std::string text;
  if (offer.files) text += " -F";
  if (offer.folders) text += " -a '(__fish_complete_directories)'";
  if (!offer.words.empty())
    text += fmt::format(" -a {}", fish_quoted(fmt::format("{}", fmt::join(offer.words, " "))));
  return text;
}

std::string fish_command(const Command& command) {
  const std::string begin =
      fmt::format("complete -c shale -n '__shale_command_is {}'", command.name);
  std::string text;
  const Offer operands = offer_for(command.operands);
  if (!fish_offer(operands).empty()) text += begin + fish_offer(operands) + "\n";
  for (const Option* option : options_of(command.name)) {
    const Offer offer = offer_for(option->value);
    // -r: a value must follow; -x: and no file is one.
    const std::string value =
        option->value.empty() ? "" : (offer.files ? " -r" : " -x") + fish_offer(offer);
    text += fmt::format("{} -l {}{} -d {}\n", begin, option->name, value,
                        fish_quoted(std::string(option->help)));
  }
  return text;
}

std::string fish_script() {
  std::string names, cases;
  for (const Command& command : commands()) {
    names += fmt::format("complete -c shale -n __shale_needs_command -a {} -d {}\n", command.name,
                         fish_quoted(std::string(command.summary)));
    cases += fish_command(command);
  }
  return R"(# fish completion for shale, printed by 'shale completion fish'

function __shale_needs_command
    test (count (commandline -opc)) -eq 1
end

function __shale_command_is
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]
end

complete -c shale -f
complete -c shale -n __shale_needs_command -a help -d 'list the options of a command'
complete -c shale -n __shale_needs_command -l help -d 'list the commands'
complete -c shale -n __shale_needs_command -l version -d 'print the version'
)" + names +
         fmt::format("complete -c shale -n '__shale_command_is help' -a '{}'\n",
                     fmt::join(command_names(), " ")) +
         cases;
}

}  // namespace

int run_completion(const CommandLine& line, Console& console) {
  const std::string shell = line.operand_choice();
  console.print(shell == "bash" ? bash_script() : shell == "zsh" ? zsh_script() : fish_script());
  return kDone;
}

}  // namespace shale::tools
