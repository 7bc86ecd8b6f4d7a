// `roformer runs`: lists, shows, compares, removes and renames runs, from what their folders hold.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/few_of.h"
#include "base/file.h"
#include "base/log.h"
#include "base/origin.h"
#include "base/printable.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "config/check.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/suggest.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "experiments/run_page.h"
#include "experiments/stored_run.h"
#include "experiments/stored_run_tables.h"
#include "report/html.h"
#include "report/table_format.h"
#include "training/run_removal.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

struct RunsOptions {
  std::vector<fs::path> runs;
  std::string format = "text";
  std::string task, scheme;  // empty: all
  std::string order = "name";
  std::string name;  // the new one of a run
  std::string page;
  bool yes = false;
};

void add_format(CLI::App& command, std::string& format) {
  command.add_option("--format", format, "text, markdown, csv, json or latex")
      ->check(CLI::IsMember(std::vector<std::string>(kTableFormats.begin(), kTableFormats.end())))
      ->capture_default_str();
}

bool is_for_people(const std::string& format) {
  return format == "text" || format == "markdown";
}

// The folder without a slash at its end. A link at its end stays one.
fs::path tidy(const fs::path& folder) {
  const fs::path whole = folder.has_filename() ? folder : folder.parent_path();
  const bool by_place = whole.filename() == "." || whole.filename() == "..";
  return by_place ? fs::canonical(whole) : whole;
}

// The runs among which to look for those that start from this one: all in the folder of runs that
// holds it, its study's neighbours included.
std::vector<StoredRun> relatives_of(const fs::path& run) {
  const fs::path study = study_of(run);
  const fs::path folder = (study.empty() ? tidy(run) : tidy(study)).parent_path();
  return find_stored_runs(folder.empty() ? "." : folder);
}

std::vector<std::string> children_of(const fs::path& run, const std::vector<StoredRun>& others) {
  std::vector<std::string> names;
  for (const StoredRun* const child : started_from(run, others)) {
    names.push_back(child->folder.string());
  }
  return names;
}

// --- list ---

template <class Facts>
void require_known(const char* flag, const std::string& word, const Facts& facts) {
  std::vector<std::string> names;
  for (const auto& one : facts) names.emplace_back(one.name);
  if (word.empty() || std::ranges::count(names, word) > 0) return;
  throw_usage(flag, got_word(word, names), "");
}

void list_runs(const RunsOptions& options) {
  require_known("--task", options.task, all_task_facts());
  require_known("--scheme", options.scheme, position_facts());
  const fs::path folder = options.runs.empty()
                              ? default_settings().runs.lexically_proximate(fs::current_path())
                              : options.runs.front();
  std::vector<StoredRun> runs = find_stored_runs(folder);
  std::erase_if(runs, [&](const StoredRun& run) {
    const auto differs = [&](const std::string& wanted, const auto& value) {
      return !wanted.empty() && (!run.readable() || value(run.settings()) != wanted);
    };
    return differs(options.task, [](const Settings& s) { return to_word(s.task); }) ||
           differs(options.scheme, [](const Settings& s) { return s.position.scheme; });
  });
  static const std::map<std::string, RunOrder> kOrders = {{"name", RunOrder::name},
                                                          {"age", RunOrder::age},
                                                          {"size", RunOrder::size},
                                                          {"best", RunOrder::best},
                                                          {"state", RunOrder::state}};
  sort_runs(runs, kOrders.at(options.order));
  const bool people = is_for_people(options.format);
  if (runs.empty()) log::info("{}: no runs", folder.string());
  if (runs.empty() && people) return;
  std::cout << formatted(run_list(runs, people ? TableUse::page : TableUse::data), options.format);
  if (!people) return;
  bool first = true;
  for (const StoredRun& run : runs) {
    if (run.remark.empty()) continue;
    std::cout << (std::exchange(first, false) ? "\n" : "")
              << wrapped(fmt::format("{}: {}: {}", run.name, state_word(run.state), run.remark),
                         terminal_width())
              << '\n';
  }
}

// --- show ---

void show_run(const RunsOptions& options) {
  const fs::path folder = tidy(options.runs.front());
  require_stored_run(folder);
  const StoredRun run = readable_runs({folder}).front();
  const std::vector<std::string> children = children_of(folder, relatives_of(folder));
  const std::vector<Table> tables = {run_facts(run, children), figure_table(run),
                                     checkpoint_table(run)};
  if (options.format == "json") {
    std::cout << nlohmann::ordered_json({{"run", run.name},
                                         {"facts", to_json(tables[0])},
                                         {"figures", to_json(tables[1])},
                                         {"checkpoints", to_json(tables[2])}})
                     .dump(2)
              << '\n';
    return;
  }
  bool first = true;
  for (const Table& table : tables) {
    if (table.rows().empty()) continue;
    if (!std::exchange(first, false)) std::cout << '\n';
    std::cout << formatted(table, options.format);
  }
}

// --- compare, report ---

void write_run_page(const std::vector<StoredRun>& runs, const fs::path& page) {
  const std::vector<StoredRun> others = relatives_of(runs.front().folder);
  write_file_atomically(InnerPath::named(page), run_page(runs, others, this_program()));
  std::cerr << "page: " << page.string() << '\n';
}

void compare_runs(const RunsOptions& options) {
  if (!options.page.empty()) {
    require_page_name(options.page, "--chart");
    require_output(options.page);
  }
  const std::vector<StoredRun> runs = readable_runs(options.runs);
  if (runs.size() < 2) {
    throw_usage("runs compare", "got one run, wanted two or more", "roformer runs show RUN");
  }
  const ComparedRuns compared = compared_runs(runs);
  const Table figures = compared_figures(compared, runs);
  const Table settings = setting_differences(compared);
  if (options.format == "json") {
    std::cout << nlohmann::ordered_json(
                     {{"figures", to_json(figures)}, {"settings", to_json(settings)}})
                     .dump(2)
              << '\n';
  } else {
    std::cout << formatted(figures, options.format);
    if (options.format != "csv") {
      std::cout << '\n'
                << (settings.rows().empty() ? "The settings are the same.\n"
                                            : formatted(settings, options.format));
    }
  }
  if (!options.page.empty()) write_run_page(runs, options.page);
}

void report_runs(const RunsOptions& options) {
  const std::vector<StoredRun> runs = readable_runs(options.runs);
  if (options.page.empty() && runs.size() > 1) {
    throw_usage("report", fmt::format("got {} runs", runs.size()),
                "--output FILE.html says where their page goes");
  }
  if (options.page.empty()) {
    const InnerPath page = InnerPath::named(runs.front().folder) / "report.html";
    page.require_plain();
    return write_run_page(runs, page);
  }
  require_page_name(options.page, "--output");
  require_output(options.page);
  write_run_page(runs, options.page);
}

// --- remove, rename ---

// Returns if the user agrees. Asks on a terminal; elsewhere --yes is the answer.
void ask(const std::string& question, bool yes) {
  if (yes) return;
  if (::isatty(STDIN_FILENO) == 0) {
    throw_usage("--yes", "is needed where nobody can be asked: " + question);
  }
  std::cerr << clean_line(question) << " [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return;
  throw_usage("", "nothing was changed");
}

// Says what would miss the run at its place.
void warn_of_users(const fs::path& run, const std::vector<StoredRun>& others) {
  if (const std::vector<std::string> children = children_of(run, others); !children.empty()) {
    log::warn("{}: other runs start from it: {}; those without a checkpoint need it to be resumed",
              run.string(), few_of(children));
  }
  if (const fs::path study = study_of(run); !study.empty()) {
    log::warn("{}: it is a run of the study {}, which will train it again", run.string(),
              study.string());
  }
}

void refuse_busy(const StoredRun& run) {
  if (run.state != StoredRun::State::training && run.state != StoredRun::State::claimed) return;
  throw_failure(run.folder.string(), "is in use: " + state_sentence(run),
                "stop it first, with Ctrl-C or `kill`; it saves a checkpoint and ends");
}

void remove_runs(const RunsOptions& options) {
  std::vector<StoredRun> runs;
  std::uint64_t bytes = 0;
  for (const fs::path& given : options.runs) {
    const fs::path folder = tidy(given);
    require_stored_run(folder);
    runs.push_back(read_stored_run(folder, folder.string()));
    refuse_busy(runs.back());
    bytes += runs.back().bytes;
  }
  for (const StoredRun& run : runs) warn_of_users(run.folder, relatives_of(run.folder));
  std::vector<std::string> names;
  for (const StoredRun& run : runs) names.push_back(run.name);
  ask(fmt::format("remove {} ({})?", few_of(names), format_bytes(bytes)), options.yes);
  for (const StoredRun& run : runs) {
    const auto claim = claim_of(run.folder);
    const std::vector<fs::path> left = remove_run(run.folder);
    std::vector<std::string> kept;
    for (const fs::path& name : left) kept.push_back(name.string());
    std::cout << run.name << ": removed"
              << (kept.empty() ? "" : ", but not what is not the run's: " + few_of(kept)) << '\n';
  }
}

void rename_one(const RunsOptions& options) {
  const fs::path run = tidy(options.runs.front());
  require_stored_run(run);
  const fs::path given = options.name;
  const fs::path renamed = run.parent_path() / given.filename();
  if (given.has_parent_path() && tidy(given).lexically_normal() != renamed.lexically_normal()) {
    throw_usage(options.name, "is in another folder",
                "mv moves a run, and it can be resumed there");
  }
  if (!is_folder_name(given.filename().string())) {
    throw_usage(options.name, "is no name for a run", "the name of one folder");
  }
  refuse_busy(read_stored_run(run, run.string()));
  std::error_code error;
  if (fs::exists(fs::symlink_status(renamed, error))) {
    throw_usage(renamed.string(), "is there already", "choose another name");
  }
  const std::vector<StoredRun> others = relatives_of(run);
  warn_of_users(run, others);
  if (!study_of(run).empty() || !started_from(run, others).empty()) {
    ask(fmt::format("rename {} to {}?", run.string(), renamed.string()), options.yes);
  }
  const auto claim = claim_of(run);
  rename_run(run, renamed);
  std::cout << run.string() << ": is " << renamed.string() << " now\n";
}

CLI::App* add_runs_subcommand(CLI::App& parent, const char* name, const char* summary,
                              const char* details = "") {
  return add_command(parent, {.name = name, .summary = summary, .details = details});
}

}  // namespace

void add_runs_command(CLI::App& program) {
  CLI::App* command = add_listed_command(program, "runs");
  command->require_subcommand(1);
  auto options = std::make_shared<RunsOptions>();

  CLI::App* list = add_runs_subcommand(
      *command, "list", "List the runs in a folder and in the studies inside it",
      "A run is training now, stopped (it can be resumed), finished, diverged or failed; imported\n"
      "and averaged runs were not trained. A study that is about to train a run has claimed it.\n"
      "The best figure is that of the validation which ranks the run's checkpoints. A damaged\n"
      "folder is a row, and a line below the table says which file cannot be read.\n"
      "  roformer runs list --scheme rope --sort best\n"
      "  roformer runs list runs/positions --format csv\n");
  list->add_option("folder", options->runs, "folder of runs; default: runs")->expected(0, 1);
  list->add_option("--task", options->task, "only runs of this task");
  list->add_option("--scheme", options->scheme, "only runs with this positional scheme");
  list->add_option("--sort", options->order,
                   "name, age (the latest first), size, best (by task) or state")
      ->check(CLI::IsMember({"name", "age", "size", "best", "state"}))
      ->capture_default_str();
  add_format(*list, options->format);
  list->callback([options] { list_runs(*options); });

  CLI::App* show = add_runs_subcommand(
      *command, "show", "Show what a run is, how it was made and how far it is",
      "Task, scheme, data, model, schedule, state, the command that began it, the runs that it\n"
      "starts from and that start from it, its figures and its checkpoints.\n");
  show->add_option("run", options->runs, "folder of a run")->required()->expected(1);
  add_format(*show, options->format);
  show->callback([options] { show_run(*options); });

  CLI::App* compare = add_runs_subcommand(
      *command, "compare", "Show figures and settings of several runs side by side",
      "Of runs of different tasks, only the figures that all have. A folder of runs, such as a\n"
      "study's, means all of its runs. --chart also draws their curves, even of runs\n"
      "still in progress. CSV has the figures only.\n"
      "  roformer runs compare runs/rope runs/alibi --chart curves.html\n");
  compare->add_option("runs", options->runs, "folders of runs")->required();
  compare->add_option("--chart", options->page, "write a page with curves, figures and settings")
      ->type_name("HTML");
  add_format(*compare, options->format);
  compare->callback([options] { compare_runs(*options); });

  CLI::App* remove = add_runs_subcommand(
      *command, "remove", "Remove runs from the disk",
      "Asks first, and says which other runs start from them. Refuses a run that is training now.\n"
      "Removes only files that the run wrote: a file that you put into its folder stays there.\n");
  remove->add_option("runs", options->runs, "folders of runs")->required();
  remove->add_flag("--yes", options->yes, "do not ask");
  remove->callback([options] { remove_runs(*options); });

  CLI::App* rename = add_runs_subcommand(
      *command, "rename", "Give a run another name",
      "The run can be resumed under its new name: roformer train FILE --run NEW --resume.\n"
      "Asks first if a study or another run knows it by the old name.\n");
  rename
      ->add_option_function<std::string>(
          "run", [options](const std::string& run) { options->runs = {run}; }, "folder of a run")
      ->required();
  rename->add_option("new", options->name, "the new name of its folder")->required();
  rename->add_flag("--yes", options->yes, "do not ask");
  rename->callback([options] { rename_one(*options); });
}

void add_report_command(CLI::App& program) {
  auto options = std::make_shared<RunsOptions>();
  CLI::App* command = add_listed_command(
      program, "report",
      "Writes one HTML file, readable offline: curves, figures, settings and how each run was "
      "made.\n"
      "For one run into its folder, for several where --output says. Made from the records of the\n"
      "runs, so it can be made again at any time, during a training too. The report of a study is\n"
      "written again by `roformer study FILE`.\n"
      "  roformer report runs/quickstart/rope\n"
      "  roformer report runs/rope runs/alibi --output two.html\n");
  command->add_option("runs", options->runs, "folders of runs, or of several runs")->required();
  command->add_option("--output", options->page, "the page; default: RUN/report.html")
      ->type_name("HTML");
  command->callback([options] { report_runs(*options); });
}

}  // namespace roformer
