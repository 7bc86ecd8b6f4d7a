// `roformer study`: runs a matrix of configurations and compares them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/few_of.h"
#include "base/file.h"
#include "base/launch.h"
#include "base/log.h"
#include "base/origin.h"
#include "base/printable.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/command_list.h"
#include "cli/commands.h"
#include "data/data_location.h"
#include "experiments/declaration/study_settings.h"
#include "experiments/protocol_record.h"
#include "experiments/record.h"
#include "experiments/records_page.h"
#include "experiments/study.h"
#include "experiments/study_results.h"
#include "experiments/study_rows.h"
#include "experiments/training_run.h"
#include "runs/model_source.h"
#include "training/run_directory.h"
#include "training/signals.h"

namespace roformer {
namespace {

struct StudyCommandOptions {
  std::string file;
  std::string record;                        // written when all is done
  std::string render;                        // instead of running anything
  std::string table;                         // of the record that is rendered
  std::string chart;                         // of it, instead of a table
  std::vector<std::filesystem::path> merge;  // records whose rows are put together, likewise
  std::string page;                          // written from them
  std::string format = "text";
  bool format_given = false;
  bool dry_run = false;
  bool overwrite = false;
  bool file_order = false;
  std::int64_t jobs = 1;
  bool jobs_given = false;
  std::optional<std::string> shard;  // "K/N" or "slurm"
  std::vector<Override> overrides;
};

void print_table(const Table& table, const std::string& format) {
  if (format == "markdown") {
    std::cout << to_markdown(table);
  } else if (format == "csv") {
    std::cout << to_csv(table);
  } else {
    std::cout << to_text(table, {.width = terminal_width()});
  }
}

std::string variant_names(const StudyEvaluations& evaluations) {
  std::string text;
  for (const StudyVariant& variant : evaluations.variants) {
    text += (text.empty() ? " and with " : ", ") + variant.name;
  }
  return text;
}

// What the runs lack that are not finished.
struct MissingData {
  std::set<std::string> problems;  // each once
  bool of_all = false;             // no run could be begun
};

MissingData missing_data(const StudySettings& study) {
  using State = TrainingRunStatus::State;
  MissingData missing;
  std::size_t waiting = 0, without = 0;
  for (const StudyRun& run : study.runs) {
    const State state = training_status(run).state;
    if (!run.asked || state == State::finished || state == State::refused) continue;
    ++waiting;
    const std::string problem = data_problem(run.settings);
    if (problem.empty()) continue;
    ++without;
    missing.problems.insert(problem);
  }
  missing.of_all = waiting > 0 && without == waiting;
  return missing;
}

// Throws Error (usage) where the set that the study measures is not in the data: the trainings
// would come first, and data that are prepared again are others.
void require_measured_set(const StudySettings& study) {
  const StudyEvaluations& evaluations = study.evaluations;
  if (!evaluations.of_test() && !evaluations.decodes()) return;
  for (const StudyRun& run : study.runs) {
    if (!run.asked || !run.refusals.empty()) continue;
    const std::string problem = split_problem(run.settings, measured_split(evaluations.split));
    if (problem.empty()) continue;
    throw_usage("evaluate.split", problem,
                fmt::format("prepare it with --{0} or --{0}-fraction, or name another set",
                            evaluations.split));
  }
}

// Throws Error (failure) where some failed.
void require_evaluations(const StudyOutcome& outcome) {
  if (outcome.failed_evaluations == 0) return;
  throw_failure((outcome.study.folder / "evaluations").string(),
                fmt::format("{} evaluations failed", outcome.failed_evaluations),
                "their output is there; the same command tries them again");
}

// What a shard comes to that draws no table.
void say_shard_done(const StudyCommandOptions& options, const StudyOutcome& outcome) {
  const std::string folder = outcome.study.folder.string();
  if (const std::size_t failed = outcome.failed + outcome.failed_trials; failed > 0) {
    throw_failure(folder,
                  fmt::format("{} {} of shard {} failed", failed,
                              outcome.failed > 0 ? "runs" : "trials", *options.shard),
                  "the same command tries them again");
  }
  require_evaluations(outcome);
  if (outcome.drawn_elsewhere) {
    std::cerr << folder << ": all is there, and another shard draws the table\n";
    return;
  }
  std::cerr << folder << ": shard " << *options.shard << " is done; "
            << (outcome.waits_for_tuning
                    ? fmt::format("{} trials of the tuning are with other shards: start all shards "
                                  "again when they are finished\n",
                                  outcome.waiting)
                    : fmt::format("{} runs are with other shards, of which the last draws the "
                                  "table\n",
                                  outcome.waiting));
}

TableUse use_of(const std::string& format) {
  const bool data = format == "csv" || format == "json";
  return data ? TableUse::data : TableUse::document;
}

// A record keeps its tables as people read them. Those of a protocol are made of its runs, whose
// figures are whole.
Table rendered_table(const StudyCommandOptions& options, const std::string& format) {
  const bool results = options.table.empty() || options.table == "results";
  if (results && use_of(format) == TableUse::data &&
      is_protocol_record(read_record(options.render))) {
    return merged_tables({options.render}, TableUse::data).front().table;
  }
  return recorded_table(options.render, options.table);
}

void merge_command(const StudyCommandOptions& options) {
  if (!options.page.empty()) {
    if (!options.table.empty()) throw_usage("--table", "is printed, and --page writes all of them");
    require_output(options.page, options.merge);
    const Origin origin = this_program();
    write_file_atomically(InnerPath::named(options.page), records_page(options.merge, origin));
    std::cerr << "page: " << options.page << '\n';
    return;
  }
  bool first = true;
  for (const TitledTable& titled : merged_tables(options.merge, use_of(options.format))) {
    if (!options.table.empty() && titled.name != options.table) continue;
    if (!std::exchange(first, false)) std::cout << '\n';
    if (options.format == "text") std::cout << clean_line(titled.title) << "\n\n";
    print_table(titled.table, options.format);
  }
  if (!first) return;
  throw_usage("--table", "none of the records comes to a table \"" + options.table + "\"",
              "results, differences or apart");
}

// The record of a protocol that lies there may hold runs of other seeds or machines, which nothing
// else has. `stays` tells of a run of it whether the new record has it, too.
void refuse_to_lose_runs(const std::string& record, const StudySettings& study, ErrorKind kind,
                         const std::function<bool(const RunResult&)>& stays) {
  std::error_code error;
  if (study.version == 0 || !std::filesystem::is_regular_file(record, error)) return;
  const nlohmann::json document = read_record(record);
  if (!is_protocol_record(document)) return;
  std::vector<std::string> lost;
  for (const ProtocolRecord::Run& run : read_protocol_record(document, record).runs) {
    if (!stays(run.result)) lost.push_back(run.result.name);
  }
  if (lost.empty()) return;
  throw Error(
      {.kind = kind,
       .message = "holds runs that this command has not, and would lose them: " + few_of(lost),
       .location = record,
       .hint = "name another file: `roformer study --merge` puts both into one table"});
}

// Before anything runs: those that are not asked for and do not lie there.
void refuse_to_lose_runs(const std::string& record, const StudySettings& asked) {
  refuse_to_lose_runs(record, asked, ErrorKind::usage, [&](const RunResult& run) {
    const auto own = std::ranges::find(asked.runs, run.name, &StudyRun::name);
    return own != asked.runs.end() && (own->asked || is_run(run_folder(*own)));
  });
}

// When all have run: those that lost their place, or were made on another machine.
void refuse_to_lose_runs(const std::string& record, const StudyOutcome& outcome) {
  refuse_to_lose_runs(record, outcome.study, ErrorKind::failure, [&](const RunResult& run) {
    for (const StudyRow& row : outcome.rows) {
      const auto own = std::ranges::find(row.runs, run.name, &RunResult::name);
      if (own != row.runs.end()) return machine_of(run).empty() || same_machine(*own, run);
    }
    return false;
  });
}

// A study starts its trainings itself, each of which is alone.
void leave_launch(const StudyCommandOptions& options) {
  const Launch launch = read_launch();
  if (!launch.alone() && !options.shard) {
    throw_usage("study",
                "was started as " + describe(launch) + ", each of which would run all of it",
                "start it once, with --jobs N, or each with its own --shard K/N");
  }
  forget_launch();
}

// What is rendered was made before.
void refuse_flags_of_runs(const StudyCommandOptions& options) {
  if (options.render.empty() && options.merge.empty()) return;
  const std::string flag = options.dry_run             ? "--dry-run"
                           : options.overwrite         ? "--overwrite"
                           : options.file_order        ? "--file-order"
                           : options.shard             ? "--shard"
                           : options.jobs_given        ? "--jobs"
                           : options.overrides.empty() ? ""
                                                       : "--" + options.overrides.front().key;
  if (flag.empty()) return;
  throw_usage(flag, "is of runs, and a record's are made already",
              "leave it out, or name the file of the study in place of the record");
}

// A CSV is one table: the folder has the others.
void print_outcome(const StudyOutcome& outcome, const std::string& format) {
  const StudySettings& study = outcome.study;
  const bool text = format == "text", csv = format == "csv";
  const TableUse use = text ? TableUse::page : csv ? TableUse::data : TableUse::document;
  bool first = true;
  for (const StudyTable& one : study_tables(study, outcome, use)) {
    if (csv && one.name != "results") continue;
    if (!std::exchange(first, false)) std::cout << '\n';
    if (text && !one.title.empty()) std::cout << clean_line(one.title) << "\n\n";
    print_table(one.table, format);
    // Below the first there would be nothing but how a page shows it.
    if (csv || one.title.empty() || one.caption.empty()) continue;
    std::cout << '\n' << (text ? wrapped(one.caption, terminal_width()) : one.caption) << '\n';
  }
  if (csv || study.note.empty()) return;
  std::cout << '\n' << (text ? wrapped(study.note, terminal_width()) : study.note) << '\n';
}

void study_command(const StudyCommandOptions& options) {
  refuse_flags_of_runs(options);
  if (!options.render.empty()) {
    if (options.chart.empty()) {
      const std::string format = options.format_given ? options.format : "markdown";
      print_table(rendered_table(options, format), format);
    } else {
      std::cout << recorded_chart(options.render, options.chart);
    }
    return;
  }
  if (!options.merge.empty()) return merge_command(options);
  if (!options.table.empty()) {
    throw_usage("--table", "is of records", "--render RECORD --table NAME");
  }
  if (options.file.empty()) {
    throw_usage("study", "wanted the file of a study, --render RECORD or --merge RECORDS");
  }
  const StudyShard shard = options.shard ? parse_shard(*options.shard) : StudyShard{};
  const StudySettings asked = load_study(options.file, options.overrides, model_source_keys);
  if (asked.axes.empty()) {
    throw_usage(options.file, "has no matrix and no variants to compare",
                "add an axis, as --seed 1,2,3; a single run is for `roformer train`");
  }
  require_measured_set(asked);
  if (options.dry_run) {
    print_table(study_plan(asked), options.format);
    for (const std::string& problem : missing_data(asked).problems) log::warn("{}", problem);
    const StudyEvaluations& evaluations = asked.evaluations;
    if (options.format == "text" && !evaluations.lengths.empty()) {
      std::cout << fmt::format("\nthen evaluated in rows of {} tokens, as trained{}\n",
                               fmt::join(evaluations.lengths, ", "), variant_names(evaluations));
    }
    return;
  }
  if (!options.record.empty()) {
    require_record_output(options.record);
    refuse_to_lose_runs(options.record, asked);
  }
  const MissingData lacking = missing_data(asked);
  for (const std::string& problem : lacking.problems) log::warn("{}", problem);
  // What its tuning chose may be finished.
  if (lacking.of_all && missing_data(as_chosen(asked)).of_all) {
    throw_failure(asked.folder.string(), "none of its runs has its data");
  }
  const Origin origin = this_program();
  leave_launch(options);
  const StudyOutcome outcome =
      run_study(asked, {.overwrite = options.overwrite,
                        .parallel = options.jobs,
                        .shard = shard,
                        .order = options.file_order ? StudyOrder::file : StudyOrder::metric,
                        .origin = origin});
  if (outcome.signal != 0) {
    std::cerr << asked.folder.string()
              << ": stopped by a signal; the same command goes on from here\n";
    throw CLI::RuntimeError(kSignalExit + outcome.signal);
  }
  if (outcome.waiting > 0 || outcome.drawn_elsewhere) return say_shard_done(options, outcome);
  print_outcome(outcome, options.format);
  const StudySettings& study = outcome.study;
  std::cerr << "report: " << outcome.report.string() << '\n';
  const auto throw_failed = [&](std::size_t failed, const char* what, const StudySettings& tried) {
    if (failed == 0) return;
    throw_failure(study.folder.string(),
                  fmt::format("{} of {} {} failed", failed, tried.runs.size(), what),
                  "their output is in " + (tried.runs.front().settings.runs / "logs").string() +
                      "; the same command tries them again");
  };
  if (study.tuning) {
    throw_failed(outcome.failed_trials, "trainings of the tuning", *study.tuning->study);
  }
  throw_failed(outcome.failed, "runs", study);
  require_evaluations(outcome);
  const auto any_finished = [](const StudyRow& row) {
    return std::ranges::count(row.runs, RunResult::State::finished, &RunResult::state) > 0;
  };
  if (std::ranges::none_of(outcome.rows, any_finished)) {
    throw_failure(study.folder.string(), "none of its runs came to its end", "the table says why");
  }
  if (!options.record.empty()) {
    refuse_to_lose_runs(options.record, outcome);
    write_study_record(options.record, options.file, study, outcome, origin);
    std::cerr << "record: " << options.record << '\n';
  }
}

}  // namespace

void add_study_command(CLI::App& program) {
  auto options = std::make_shared<StudyCommandOptions>();
  CLI::App* command = add_listed_command(
      program, "study",
      "Runs what is not done yet into runs/STUDY/RUN, prints the table and writes\n"
      "runs/STUDY/report.html and table.{md,csv,json}. A study that was stopped goes on.\n"
      "  --KEY A,B                     one more axis, or other values of one: --seed 1,2,3\n"
      "  --run NAME                    name of the study\n"
      "On several machines that share a folder, each with its own K of 1 to 8:\n"
      "  roformer study FILE --shard K/8\n"
      "  sbatch --array=1-8 --wrap \"roformer study FILE --shard slurm\"\n");
  CLI::Option* file =
      command->add_option("file", options->file, "study file (YAML with `matrix:` or `variants:`)");
  CLI::Option* record =
      command
          ->add_option("--record", options->record,
                       "write settings, machine, runs and tables to this file when all is finished")
          ->type_name("JSON");
  CLI::Option* render =
      command
          ->add_option("--render", options->render,
                       "print a table of such a record as Markdown; needs neither file nor runs")
          ->type_name("JSON")
          ->excludes(file)
          ->excludes(record);
  CLI::Option* table = command->add_option(
      "--table", options->table,
      "which one --render prints: spread, results, differences, "
      "target_differences, lengths, translations, translation_tests or tuning "
      "(default: the first); which --merge prints: results, differences or apart "
      "(default: all)");
  command
      ->add_option("--chart", options->chart,
                   "--render prints this chart as SVG: curves, figures, lengths, "
                   "positions or bleu_by_length")
      ->needs(render)
      ->excludes(table);
  CLI::Option* merge =
      command
          ->add_option("--merge", options->merge,
                       "put the rows of such records of a protocol (study.version) into one table, "
                       "and say what does not compare; needs neither file nor runs")
          ->type_name("JSON ...")
          ->excludes(file)
          ->excludes(record)
          ->excludes(render);
  command
      ->add_option("--page", options->page,
                   "--merge writes one HTML file with tables, charts and filters instead")
      ->type_name("HTML")
      ->needs(merge);
  command->add_flag("--dry-run", options->dry_run, "list the runs and their state, run nothing");
  command->add_flag("--overwrite", options->overwrite,
                    "replace the runs that were made with other settings");
  command->add_flag("--file-order", options->file_order,
                    "rows in the file's order instead of the best first");
  CLI::Option* format =
      command
          ->add_option("--format", options->format,
                       "of the table: text, markdown or csv (default text; of --render markdown)")
          ->check(CLI::IsMember({"text", "markdown", "csv"}));
  CLI::Option* jobs = command->add_option("--jobs", options->jobs, "runs at a time (default 1)")
                          ->check(CLI::Range(std::int64_t{1}, std::int64_t{64}));
  command
      ->add_option("--shard", options->shard,
                   "run only every N-th run, from the K-th on, beside other shards in the same "
                   "folder; slurm: K and N of the job array. The last draws the table")
      ->type_name("K/N");
  accept_settings(*command, options->overrides);
  command->callback([options, format, jobs] {
    options->format_given = format->count() > 0;
    options->jobs_given = jobs->count() > 0;
    study_command(*options);
  });
}

}  // namespace roformer
