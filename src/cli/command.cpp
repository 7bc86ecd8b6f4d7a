#include "cli/command.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "base/error.h"
#include "base/memory.h"
#include "base/printable.h"
#include "base/process.h"
#include "base/terminal.h"
#include "base/version.h"
#include "config/schema.h"
#include "config/suggest.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr int kInternalError = 70;  // EX_SOFTWARE of sysexits.h

// The keys that people change most, for the end of a help text.
constexpr const char* kCommonKeys =
    "Every key of the configuration is a flag too. Those changed most:\n"
    "  --position NAME               positional scheme: rope, sinusoidal, learned, none, t5, ...\n"
    "  --seed N                      initial weights, order of the data, masks, dropout\n"
    "  --run NAME                    name of the run, a folder under runs/\n"
    "  --device auto|cpu|cuda        --threads N (0: all cores)\n"
    "  --training.steps PERIOD       500 (steps), 3e (epochs), 20Mt (tokens) or 90min\n"
    "  --training.learning_rate X    --training.batch ROWS\n"
    "  --model.layers N              --model.width N    --model.heads N\n"
    "  --data.directory FOLDER       --data.length TOKENS\n"
    "All of them: roformer config keys [PREFIX]\n";

constexpr std::size_t kHelpColumns = 80;
constexpr std::size_t kNameColumns = 32;

// The lines of a help text's footer. Joins a sentence that is too long for one line with the lines
// that continue it, so that it can be wrapped again.
std::vector<std::string> lines_of_foot(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> result;
  bool goes_on = false;
  for (std::string line; std::getline(lines, line);) {
    if (goes_on && !line.empty() && line.front() != ' ') {
      result.back() += " " + line;
    } else {
      result.push_back(line);
    }
    const std::string& last = result.back();
    goes_on = columns_of(last) > kHelpColumns && last.front() != ' ' && !last.ends_with('.') &&
              !last.ends_with(':');
  }
  return result;
}

// Footers are written in the form in which they are shown: a column of names and a column of words.
// Wraps long lines and aligns their continuation with the column of words.
std::string with_short_lines(const std::string& text) {
  std::string result;
  for (std::string line : lines_of_foot(text)) {
    if (columns_of(line) > kHelpColumns) {
      std::size_t begin = line.find_first_not_of(' ');
      if (begin > 0) {  // after the name
        const std::size_t gap = line.find("  ", begin);
        const std::size_t words = line.find_first_not_of(' ', std::min(gap, line.size()));
        if (words < kHelpColumns / 2) begin = words;
      }
      std::istringstream rest(wrapped(line.substr(begin), kHelpColumns - begin));
      std::string part, whole = line.substr(0, begin);
      for (bool first = true; std::getline(rest, part); first = false) {
        whole += (first ? "" : "\n" + std::string(begin, ' ')) + part;
      }
      line = whole;
    }
    result += line + "\n";
  }
  return result;
}

class Formatter : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(option->get_description(), kHelpColumns - kNameColumns);
  }
  // Leaves out the options that exclude or need others; errors say so when it matters.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (!option->get_option_text().empty()) return " " + option->get_option_text();
    if (option->get_type_size() == 0) return "";
    std::string text;
    if (!option->get_type_name().empty()) text += " " + option->get_type_name();
    if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
    if (option->get_expected_max() >= CLI::detail::expected_max_vector_size) text += " ...";
    return option->get_required() ? text + " REQUIRED" : text;
  }
  std::string make_description(const CLI::App* command) const override {
    return wrapped(command->get_description(), kHelpColumns) + "\n";
  }
  std::string make_footer(const CLI::App* command) const override {
    return with_short_lines(command->get_footer());
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, command->get_display_name(true),
                             wrapped(command->get_description(), kHelpColumns - kNameColumns),
                             kNameColumns);
    return out.str();
  }
  std::string make_group(std::string group, bool positional,
                         std::vector<const CLI::Option*> options) const override {
    // They are too many for a help text; `roformer config keys` lists them.
    if (group == kSettingsGroup) return "";
    return CLI::Formatter::make_group(std::move(group), positional, std::move(options));
  }
};

const CLI::App& selected(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : selected(*chosen.front());
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() ? full_name(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// Starts every line with "error: ".
void print_error(const std::string& text) {
  const std::string clean = clean_text(text);
  std::size_t start = 0;
  while (start <= clean.size()) {
    const std::size_t end = std::min(clean.find('\n', start), clean.size());
    std::cerr << "error: " << clean.substr(start, end - start) << '\n';
    start = end + 1;
  }
}

int usage_error(const std::string& message, const std::string& hint, const CLI::App& command) {
  const std::string way = hint.empty() ? full_name(command) + " --help" : hint;
  print_error(message + " (hint: " + way + ")");
  return 2;
}

// A value that CLI11 refused: "--jobs: Value zero not in range 1 to 64" or "--format: htm not in
// {text,json}".
struct RefusedValue {
  std::string flag;
  std::string got;
  std::string range;
  std::vector<std::string> choices;
};

std::optional<RefusedValue> refused_value(const std::string& message) {
  constexpr std::string_view kRange = " not in range ", kSet = " not in {", kValue = "Value ";
  const std::size_t begin = message.find(": ");
  if (!message.starts_with("--") || begin == std::string::npos) return std::nullopt;
  RefusedValue value{.flag = message.substr(0, begin), .got = {}, .range = {}, .choices = {}};
  const std::string rest = message.substr(begin + 2);
  if (const std::size_t end = rest.rfind(kRange);
      end != std::string::npos && rest.starts_with(kValue)) {
    value.got = rest.substr(kValue.size(), end - kValue.size());
    value.range = rest.substr(end + kRange.size());
    return value;
  }
  const std::size_t end = rest.rfind(kSet);
  if (end == std::string::npos || !rest.ends_with('}')) return std::nullopt;
  value.got = rest.substr(0, end);
  const std::size_t words = end + kSet.size();
  std::istringstream list(rest.substr(words, rest.size() - words - 1));
  for (std::string word; std::getline(list, word, ',');) value.choices.push_back(word);
  return value;
}

// If there is an unknown flag or word, it probably also caused CLI11's other complaints.
int explain(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& command = selected(program);
  const std::vector<std::string> rest = program.remaining(true);
  for (const std::string& word : rest) {
    if (!word.starts_with("-")) continue;
    const std::string flag = word.substr(0, word.find('='));
    if (flag.starts_with("--") && find_key(flag.substr(2)) != nullptr) {
      return usage_error(flag + ": a key of the configuration that this command does not take", "",
                         command);
    }
    return usage_error(flag + ": unknown flag", suggestion(flag, flags_of(command)), command);
  }
  if (!rest.empty()) {
    const std::vector<std::string> known = command_names(command);
    if (known.empty()) {
      return usage_error("\"" + rest.front() + "\": not expected",
                         "put texts with blanks in quotes, and give every flag its value; " +
                             full_name(command) + " --help",
                         command);
    }
    return usage_error("\"" + rest.front() + "\": unknown command", suggestion(rest.front(), known),
                       command);
  }
  const std::string message = error.what();
  if (const std::optional<RefusedValue> value = refused_value(message)) {
    return usage_error(fmt::format("{}: got \"{}\", wanted {}", value->flag, value->got,
                                   value->choices.empty()
                                       ? value->range
                                       : fmt::format("one of {}", fmt::join(value->choices, ", "))),
                       suggestion(value->got, value->choices), command);
  }
  if (const std::size_t end = message.find(": 1 required "); end != std::string::npos) {
    return usage_error(message.substr(0, end) + ": needs a value", "", command);
  }
  return usage_error(message, "", command);
}

// The first line of a LibTorch error says what happened; a list of addresses follows.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

int run_command(CLI::App& program, int argc, char** argv) {
  if (argc <= 1) {
    std::cout << program.help();
    return 0;
  }
  try {
    program.parse(argc, argv);
    return 0;
  } catch (const CLI::RuntimeError& end) {  // the command has already printed everything
    return end.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);
    return explain(program, error);
  }
}

constexpr const char* kMemoryRemedies =
    " (hint: a smaller batch (--training.batch, of a translator --training.batch_tokens; --batch) "
    "or shorter rows (--data.length), with --training.accumulation to make up for it, or a smaller "
    "model)";

// Runs the command and returns the exit code; prints one line for an error.
template <typename Run>
int explained(Run run) {
  try {
    return run();
  } catch (const Error& error) {
    print_error(error.what());
    return error.kind() == ErrorKind::usage ? 2 : 1;
  } catch (const std::logic_error& error) {
    print_error(std::string("internal error: ") + error.what());
    return kInternalError;
  } catch (const std::exception& error) {
    const std::optional<std::string> lack = lack_of_memory(error);
    print_error(lack ? *lack + kMemoryRemedies : first_line(error.what()));
    return 1;
  }
}

constexpr const char* kGroupTraining = "Train and evaluate";
constexpr const char* kGroupData = "Prepare text";
constexpr const char* kGroupCompare = "Compare";
constexpr const char* kGroupInspect = "Look into";

struct ListedCommand {
  std::string name;
  std::string summary;  // one line
  std::string group;    // heading in the list of commands
};

// The commands in the order of the help.
const std::vector<ListedCommand>& listed_commands() {
  static const std::vector<ListedCommand> list = {
      {"train", "Train one configuration", kGroupTraining},
      {"estimate", "Estimate parameters, memory and time before training", kGroupTraining},
      {"evaluate", "Evaluate a trained or fine-tuned model: loss and metrics", kGroupTraining},
      {"predict", "Label new texts with a fine-tuned classifier", kGroupTraining},
      {"embed", "Compute text embeddings with a trained encoder", kGroupTraining},
      {"fill-mask", "Fill [MASK] with a masked language model", kGroupTraining},
      {"generate", "Continue a text with a causal language model", kGroupTraining},
      {"translate", "Translate lines with a trained run", kGroupTraining},
      {"score", "BLEU, chrF and TER of translations, equal to sacreBLEU's", kGroupTraining},
      {"average", "Average the weights of checkpoints", kGroupTraining},
      {"import", "Make a run from a Hugging Face folder", kGroupTraining},
      {"export", "Write a run as a Hugging Face folder", kGroupTraining},
      {"quickstart", "Fetch a corpus, train with four schemes and compare them", kGroupCompare},
      {"study", "Run a matrix of configurations and compare them in one table", kGroupCompare},
      {"runs", "List, show, compare, remove and rename runs", kGroupCompare},
      {"report", "Write the page of one or several runs", kGroupCompare},
      {"data", "Prepare text for training, look into prepared data", kGroupData},
      {"tokenizer", "Train tokenizers; turn text into ids and back", kGroupData},
      {"positions", "Explain, draw and verify the positional schemes", kGroupInspect},
      {"explain", "What the attention of trained models uses: contents, positions, distances",
       kGroupInspect},
      {"config", "Show, check and compare configurations; list their keys", kGroupInspect},
      {"completion", "Print the script with which a shell completes commands and keys",
       kGroupInspect},
      {"bench", "Measure the speed of this machine", kGroupInspect},
      {"doctor", "What this machine and this build can do", kGroupInspect},
      {"gpu-check", "Prove that a GPU computes what the CPU does, and how fast", kGroupInspect},
  };
  return list;
}

constexpr const char* kTorchProgram = "roformer-torch";

// An installed program finds LibTorch in a folder beside it, installed by pip in the package torch,
// or where the system looks for libraries. If it is in none of these places, the loader's message
// would not say what to do.
void require_libtorch(const fs::path& installed) {
  const fs::path libraries = installed / "libtorch";
  std::error_code error;
  if (!fs::exists(installed / kTorchProgram, error) || fs::exists(libraries, error)) return;
  if (fs::exists(installed / ROFORMER_LIBTORCH_OF_WHEEL, error)) return;
  if (::dlopen("libtorch_cpu.so", RTLD_LAZY) != nullptr) return;
  throw_failure(libraries.string(), "is missing, in which LibTorch is looked for",
                "make it a link to the folder lib of a LibTorch (of PyTorch's wheel: "
                "torch/lib), or install with -DROFORMER_INSTALL_LIBTORCH=ON");
}

}  // namespace

CLI::App* add_command(CLI::App& parent, CommandText text) {
  parent.formatter(std::make_shared<Formatter>());
  parent.get_formatter()->column_width(kNameColumns);
  CLI::App* command = parent.add_subcommand(text.name, text.summary);
  command->group(text.group.empty() ? "Commands" : text.group);
  if (!text.details.empty()) command->footer(text.details);
  return command;
}

void accept_settings(CLI::App& command, std::vector<Override>& overrides, SettingsFlags flags) {
  const std::string details = command.get_footer();
  const std::string help = flags.help.empty() ? kCommonKeys : flags.help;
  command.footer(details.empty() ? help : details + "\n" + help);
  // Adds the flags, which are hundreds, only to the command that runs.
  command.preparse_callback([&command, &overrides, accepts = flags.accepts](std::size_t) {
    for (const std::string& key : assignable_keys()) {
      if (command.get_option_no_throw("--" + key) || (accepts && !accepts(key))) continue;
      command
          .add_option_function<std::string>("--" + key,
                                            [&overrides, key](const std::string& text) {
                                              // The text can be empty because of an unset variable,
                                              // for instance.
                                              if (text.empty() && (key == "run" || key == "runs")) {
                                                throw_usage("--" + key, "is empty");
                                              }
                                              overrides.push_back({key, text});
                                            })
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
          ->group(kSettingsGroup);
    }
  });
}

void refuse_given(const CLI::App& command, std::initializer_list<const char*> flags,
                  const std::string& because, const std::string& hint) {
  for (const char* const flag : flags) {
    if (command.count(flag) > 0) throw_usage(flag, because, hint);
  }
}

CLI::Validator number_in(const Range& range) {
  return {[range](const std::string& text) -> std::string {
            try {
              parse_number(text, range);
              return "";
            } catch (const InvalidValue& wanted) {
              return fmt::format("is {}, wanted {}", text, wanted.what());
            }
          },
          "", ""};
}

CLI::Validator positive() {
  return number_in(above(0));
}

CLI::Validator not_negative() {
  return number_in(at_least(0));
}

int run_program(CLI::App& program, int argc, char** argv) {
  return explained([&] {
    const int code = run_command(program, argc, argv);
    if (code == 0) finish_output();
    return code;
  });
}

CLI::App* add_listed_command(CLI::App& program, std::string_view name, std::string details) {
  for (const ListedCommand& listed : listed_commands()) {
    if (listed.name != name) continue;
    return add_command(program, {.name = listed.name,
                                 .summary = listed.summary,
                                 .details = std::move(details),
                                 .group = listed.group});
  }
  ROFORMER_ASSERT(false && "a command that the list does not name");
  return nullptr;
}

std::unique_ptr<CLI::App> make_program(const std::map<std::string, AddCommand>& here,
                                       const std::function<void()>& elsewhere) {
  auto program = std::make_unique<CLI::App>(
      "Train and compare Transformers with a selectable positional scheme (RoFormer and others).",
      "roformer");
  program->set_version_flag("--version", fmt::format("roformer {}", kVersionAndCommit),
                            "print version and commit");
  // Accepts at most one command, because later arguments may be files with a command's name.
  program->require_subcommand(0, 1);
  std::size_t added = 0;
  for (const ListedCommand& listed : listed_commands()) {
    if (const auto found = here.find(listed.name); found != here.end()) {
      found->second(*program);
      ++added;
      continue;
    }
    CLI::App* command = add_listed_command(*program, listed.name);
    command->set_help_flag();
    command->prefix_command();
    command->callback(elsewhere);
  }
  ROFORMER_ASSERT(added == here.size());  // the list has every command of `here`
  return program;
}

void show_settings_flags(CLI::App& command) {
  // CLI11 calls the callback that adds the flags itself when it begins to parse.
  struct Opened : CLI::App {
    using CLI::App::_trigger_pre_parse;
  };
  (command.*&Opened::_trigger_pre_parse)(0);
}

std::string footer_of(const CLI::App& command) {
  return with_short_lines(command.get_footer());
}

bool print_installed_completion(int argc, char** argv) {
  const std::map<std::string, std::string> scripts = {
      {"bash", "bash-completion/completions/roformer"},
      {"zsh", "zsh/site-functions/_roformer"},
      {"fish", "fish/vendor_completions.d/roformer.fish"}};
  const auto script = argc == 3 ? scripts.find(argv[2]) : scripts.end();
  if (script == scripts.end()) return false;
  const fs::path folder = program_path().parent_path();
  for (const fs::path& share : {folder / "share", folder.parent_path() / "share"}) {
    std::ifstream file(share / script->second);
    if (!file) continue;
    std::cout << file.rdbuf();
    return true;
  }
  return false;
}

void continue_with_torch(char** arguments) {
  tune_environment();
  const fs::path folder = program_path().parent_path();
  const fs::path installed = folder / ROFORMER_LIBEXEC;
  // Without /proc, the loader does not find the libraries beside a program by itself.
  std::error_code error;
  const bool loader_knows = fs::exists("/proc/self/exe", error);
  for (const fs::path& path : {folder / kTorchProgram, installed / kTorchProgram}) {
    if (path.parent_path() == installed) require_libtorch(installed);
    if (!loader_knows) ::setenv("LD_ORIGIN_PATH", path.parent_path().c_str(), /*overwrite=*/1);
    ::execv(path.c_str(), arguments);
    if (errno != ENOENT && errno != ENOTDIR) {
      throw_failure(path.string(), "cannot start: " + system_message(errno));
    }
  }
  throw_failure((folder / kTorchProgram).string(), "is not there",
                "it is built and installed together with roformer; copy both");
}

}  // namespace roformer
