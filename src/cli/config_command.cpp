// `roformer config`: shows, checks and compares configurations, and lists the keys.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/few_of.h"
#include "base/printable.h"
#include "cli/command.h"
#include "config/dump.h"
#include "config/key_reference.h"
#include "config/load.h"
#include "config/schema.h"
#include "config/suggest.h"
#include "data/data_location.h"
#include "experiments/declaration/study_schema.h"
#include "experiments/declaration/study_settings.h"

namespace roformer {
namespace {

struct ConfigOptions {
  std::string file;
  std::string other;
  std::vector<std::string> files;
  std::string prefix;
  std::string word;
  std::string format = "text";
  bool compact = false;
  bool json = false;
  std::vector<Override> overrides;
};

Settings load(const ConfigOptions& options) {
  return options.file.empty() ? default_settings(options.overrides)
                              : load_settings(options.file, options.overrides);
}

void dump_config(const ConfigOptions& options) {
  const Settings settings = load(options);
  if (options.json) {
    std::cout << to_json(settings).dump(2) << '\n';
  } else {
    std::cout << dump(settings, options.compact ? DumpStyle::compact : DumpStyle::commented);
  }
}

// Lists each problem once, even if many runs have it.
std::set<std::string> data_problems(const StudySettings& study) {
  std::set<std::string> problems;
  for (const StudyRun& run : study.runs) {
    if (const std::string problem = data_problem(run.settings); !problem.empty()) {
      problems.insert(problem);
    }
  }
  return problems;
}

// Returns no line for settings that take their shape from model.from, because model.from is not
// opened here.
std::string line_of(const ExportLine& export_line, const Settings& settings) {
  return export_line && settings.model.from.empty() ? export_line(settings) : "";
}

// Prints the lines about the exports of a study's runs, each once, with the names of its runs.
void print_exports(const StudySettings& study, const ExportLine& export_line) {
  std::map<std::string, std::vector<std::string>> runs;
  for (const StudyRun& run : study.runs) {
    if (const std::string line = line_of(export_line, run.settings); !line.empty()) {
      runs[line].push_back(run.name);
    }
  }
  for (const auto& [line, names] : runs) {
    std::cout << fmt::format("  {}: {}\n", few_of(names), line);
  }
}

// Checks every file before it reports all problems.
void check_configs(const ConfigOptions& options, const ExportLine& export_line) {
  Problems problems;
  for (const std::string& file : options.files) {
    try {
      if (is_study(file)) {
        const StudySettings study = load_study(file, options.overrides);
        if (study.axes.empty()) {
          throw_usage(file, "has no matrix and no variants to compare",
                      "without the sections of a study it is a single run");
        }
        Problems refusals;
        for (const StudyRun& run : study.runs) {
          for (const std::string& line : run.refusals.lines()) {
            refusals.add({.where = file,
                          .key = "",
                          .message = fmt::format("{} cannot be made: {}", run.name, line),
                          .hint = ""});
          }
        }
        problems.add_all(refusals);
        if (refusals.empty()) {
          std::cout << fmt::format("{}: good, a study of {} runs\n", file, study.runs.size());
          print_exports(study, export_line);
        }
        for (const std::string& problem : data_problems(study)) {
          std::cout << "  data: " << clean_line(problem) << '\n';
        }
      } else {
        const Settings settings = load_settings(file, options.overrides);
        const std::string problem = data_problem(settings);
        std::cout << file
                  << (problem.empty() ? ": good\n" : ": good, but its data are not there\n");
        if (!problem.empty()) std::cout << "  " << clean_line(problem) << '\n';
        const std::string exports = line_of(export_line, settings);
        if (!exports.empty()) std::cout << "  " << exports << '\n';
      }
    } catch (const Error& error) {
      problems.add({.where = "", .key = "", .message = error.what(), .hint = ""});
    }
  }
  problems.throw_if_any();
}

void diff_configs(const ConfigOptions& options) {
  const Settings left = load(options);
  const Settings right = load_settings(options.other, options.overrides);
  const std::vector<std::string> names = diff(left, right);
  std::size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  const auto shown = [](const std::string& text) {
    return text.empty() ? "(empty)" : clean_line(text);
  };
  for (const std::string& name : names) {
    const Key& key = *find_key(name);
    std::cout << fmt::format("{:{}}  {} -> {}\n", name, width, shown(key.get(left)),
                             shown(key.get(right)));
  }
}

void list_keys(const ConfigOptions& options) {
  std::vector<const Key*> keys = keys_about(options.word);
  std::erase_if(keys, [&](const Key* key) { return !key->name.starts_with(options.prefix); });
  if (keys.empty()) {
    std::vector<std::string> names;
    for (const Key& key : schema()) names.push_back(key.name);
    const bool search = !options.word.empty();
    throw_usage(search ? options.word : options.prefix,
                search ? "no key has this word in its name or help" : "no key begins with it",
                suggestion(search ? options.word : options.prefix, names));
  }
  std::cout << (options.format == "markdown" ? markdown_of_keys(keys) : text_of_keys(keys));
}

}  // namespace

void add_config_command(CLI::App& program) {
  add_config_command(program, {});
}

void add_config_command(CLI::App& program, const ExportLine& export_line) {
  CLI::App* config = add_listed_command(program, "config");
  config->require_subcommand(1);
  auto options = std::make_shared<ConfigOptions>();

  CLI::App* show = add_command(
      *config, {.name = "dump",
                .summary = "Print the resolved configuration with help as comments",
                .details = "Without a file, the defaults. The output is a configuration file."});
  show->add_option("file", options->file, "configuration file");
  show->add_flag("--compact", options->compact, "keys and values only");
  show->add_flag("--json", options->json, "JSON instead of YAML");
  accept_settings(*show, options->overrides);
  show->callback([options] { dump_config(*options); });

  CLI::App* check = add_command(
      *config, {.name = "check",
                .summary = "Check configuration and study files and report all problems",
                .details = "Exit code 2 when there is any, in a study also for runs that cannot be "
                           "made. Says what a run will export as."});
  check->add_option("files", options->files, "configuration files")->required();
  accept_settings(*check, options->overrides);
  check->callback([options, export_line] { check_configs(*options, export_line); });

  CLI::App* compare = add_command(
      *config, {.name = "diff",
                .summary = "Print the keys whose values differ between two configurations",
                .details = ""});
  compare->add_option("first", options->file, "configuration file")->required();
  compare->add_option("second", options->other, "configuration file")->required();
  accept_settings(*compare, options->overrides);
  compare->callback([options] { diff_configs(*options); });

  CLI::App* keys =
      add_command(*config, {.name = "keys",
                            .summary = "List the keys with type, unit, default and help",
                            .details = ""});
  keys->add_option("prefix", options->prefix, "only keys that begin so, for instance training");
  keys->add_option(
          "--search", options->word,
          "only keys with this word in their name, values or help; names of other programs "
          "(hidden_size, gradient_checkpointing) are known")
      ->type_name("WORD");
  keys->add_option("--format", options->format)
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "markdown"}));
  keys->callback([options] { list_keys(*options); });

  CLI::App* editor = add_command(
      *config,
      {.name = "schema",
       .summary = "Print the JSON Schema of configuration files, for editors",
       .details = "An editor that knows it completes keys, shows their help and underlines "
                  "mistakes. Save it, and begin a file with the line\n"
                  "  # yaml-language-server: $schema=FILE\n"
                  "(the YAML extension of VS Code, and other editors with that server)."});
  editor->callback([] { std::cout << json_schema().dump() << '\n'; });
}

}  // namespace roformer
