#include "cli/completion.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/completion_scripts.h"
#include "config/assignment.h"
#include "config/position_facts.h"
#include "config/schema.h"

namespace roformer {
namespace {

using WordLines = std::vector<std::string>;

// Words that the scripts complete by their own code.
constexpr const char* kFile = "@file";     // files and folders
constexpr const char* kRun = "@run";       // folders of runs, then files
constexpr const char* kName = "@name";     // names of runs, below the folder runs/
constexpr const char* kNone = "@none";     // a value that nobody can guess
constexpr const char* kAllKeys = "@keys";  // among flags: all keys of the configuration

// One function of a script: prints the words of the first row whose pattern is its argument.
struct CaseRow {
  WordLines patterns;  // literal, or after "*" the end of the argument
  WordLines words;
};
using CaseTable = std::vector<CaseRow>;

// "raw", "ema" of "TEXT:{raw,ema}"; "true", "false" of "true|false".
WordLines choices_of(const std::string& type) {
  std::size_t begin = type.find('{');
  std::size_t end = type.find('}');
  char between = ',';
  if (begin == std::string::npos || end == std::string::npos) {
    if (type.find('|') == std::string::npos) return {};
    begin = std::string::npos;  // + 1 is 0
    end = type.size();
    between = '|';
  }
  WordLines words(1);
  for (const char c : type.substr(begin + 1, end - begin - 1)) {
    if (c == between) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

// The values of a command's own flag or argument.
WordLines values_of(const CLI::Option& option, const std::string& name) {
  const std::string type = option.get_type_name();
  if (WordLines words = choices_of(type); !words.empty()) return words;
  if (name == "--position" || name == "name" || name == "names") return position_names();
  if (name == "--checkpoint") return {"best", "last"};
  if (name == "run" || name == "runs" || name == "model" || name == "--against") return {kRun};
  if (name == "--run") return {kName};
  if (type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("FLOAT")) {
    return {kNone};
  }
  static const std::set<std::string> texts = {"N", "TOKENS", "NUMBER", "WORD", "TOKEN", "K/N"};
  return {texts.contains(type) ? kNone : kFile};
}

WordLines values_of(const Key& key) {
  switch (key.type) {
    case KeyType::word:
      return key.words;
    case KeyType::boolean:
      return {"true", "false"};
    case KeyType::path:
      return {key.name == "model.from" ? kRun : kFile};
    default:
      return {key.name == "run" ? kName : kNone};
  }
}

// The facts about the program that are written into the scripts.
struct CompletionTables {
  CaseTable commands;  // "PATH": its subcommands
  CaseTable flags;     // "PATH": its flags
  CaseTable values;    // "PATH" or "PATH FLAG": its arguments or values
  WordLines keys;      // flags of all keys
};

void add_row(CaseTable& table, const std::string& pattern, WordLines words) {
  if (!words.empty()) table.push_back({.patterns = {pattern}, .words = std::move(words)});
}

void add_command_rows(CLI::App& command, const std::string& path, CompletionTables& tables) {
  show_settings_flags(command);
  WordLines names, flags, arguments;
  bool all_keys = command.get_option_no_throw("--training.steps") != nullptr;
  for (CLI::App* inner : command.get_subcommands([](CLI::App*) { return true; })) {
    if (inner->get_name().empty() || inner->get_group().empty()) continue;
    names.push_back(inner->get_name());
    add_command_rows(*inner, path.empty() ? inner->get_name() : path + " " + inner->get_name(),
                     tables);
  }
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    if (all_keys && option->get_group() == kSettingsGroup) continue;
    if (option->get_positional()) arguments = values_of(*option, option->get_name(true));
    for (const std::string& name : option->get_lnames()) {
      flags.push_back("--" + name);
      if (option->get_items_expected_max() == 0 || option->get_group() == kSettingsGroup) continue;
      add_row(tables.values, path + " --" + name, values_of(*option, "--" + name));
    }
  }
  if (all_keys) flags.emplace_back(kAllKeys);
  add_row(tables.commands, path, names);
  add_row(tables.flags, path, flags);
  add_row(tables.values, path, arguments);
}

// The values of keys, which are the same for all commands. Keys with equal values share a row.
void add_key_rows(CompletionTables& tables) {
  std::map<WordLines, WordLines> patterns;
  std::map<std::string, WordLines> short_values;
  for (const Key& key : schema()) {
    patterns[values_of(key)].push_back("* --" + key.name);
    if (key.scheme().empty()) continue;
    // position.OPTION: the words of all schemes that have this option
    WordLines& words = short_values["position" + key.name.substr(key.name.rfind('.'))];
    for (const std::string& word : values_of(key)) {
      if (std::ranges::find(words, word) == words.end()) words.push_back(word);
    }
  }
  patterns[position_names()].emplace_back("* --position");
  for (const auto& [name, words] : short_values) patterns[words].push_back("* --" + name);
  for (const std::string& key : shorthand_keys()) patterns[{kFile}].push_back("* --" + key);
  for (const auto& [words, names] : patterns) {
    tables.values.push_back({.patterns = names, .words = words});
  }
  for (const std::string& key : assignable_keys()) tables.keys.push_back("--" + key);
}

std::string in_quotes(const std::string& word) {
  return "'" + word + "'";  // no word here has a quote
}

std::string pattern_text(const std::string& pattern) {
  return pattern.starts_with('*') ? "*" + in_quotes(pattern.substr(1)) : in_quotes(pattern);
}

std::string joined_words(const WordLines& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// A function that prints the words for its argument, one a line.
std::string table_function(const std::string& name, const CaseTable& table, Shell shell) {
  const bool fish = shell == Shell::fish;
  std::string text = fish ? "function " + name + "\n  switch \"$argv[1]\"\n"
                          : name + "() {\n  case \"${1-}\" in\n";
  for (const CaseRow& row : table) {
    WordLines patterns;
    for (const std::string& pattern : row.patterns) {
      // fish reads a star in quotes as a pattern, and outside as names of files
      patterns.push_back(fish ? in_quotes(pattern) : pattern_text(pattern));
    }
    text += fish ? "    case " + joined_words(patterns, " ") + "\n      "
                 : "    " + joined_words(patterns, "|") + ") ";
    text += "printf '%s\\n' " + joined_words(row.words, " ") + (fish ? "\n" : " ;;\n");
  }
  return text + (fish ? "  end\nend\n" : "  esac\n}\n");
}

}  // namespace

std::string completion_script(CLI::App& program, Shell shell) {
  CompletionTables tables;
  add_command_rows(program, "", tables);
  add_key_rows(tables);
  const std::string head = shell == Shell::zsh ? "#compdef roformer\n" : "";
  std::string text =
      head + "# Completes roformer's command line. Written by `roformer completion`.\n";
  text += table_function("_roformer_commands", tables.commands, shell);
  text += table_function("_roformer_flags", tables.flags, shell);
  text += table_function("_roformer_values", tables.values, shell);
  text += table_function("_roformer_keys", {{.patterns = {"*"}, .words = tables.keys}}, shell);
  switch (shell) {
    case Shell::bash:
      return text + kBashCompletion;
    case Shell::zsh:
      return text + kZshCompletion;
    case Shell::fish:
      return text + kFishCompletion;
  }
  return text;
}

}  // namespace roformer
