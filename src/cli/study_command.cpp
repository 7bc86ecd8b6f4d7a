// `roformer study`: runs a matrix of configurations and compares them. Other forms of the command
// list the runs (--dry-run), print a record (--render) or combine several records (--merge).
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/launch.h"
#include "base/log.h"
#include "base/origin.h"
#include "base/printable.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "experiments/declaration/study_settings.h"
#include "experiments/gpu_sharing.h"
#include "experiments/protocol_record.h"
#include "experiments/record.h"
#include "experiments/records_page.h"
#include "experiments/study.h"
#include "experiments/study_preflight.h"
#include "experiments/study_results.h"
#include "experiments/study_rows.h"
#include "experiments/training_run.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/table_format.h"
#include "runs/model_source.h"
#include "tensor/device.h"
#include "training/signals.h"

namespace roformer {
namespace {

struct StudyCommandOptions {
  std::string file;
  std::string record;                        // file to write when all runs are done
  std::string render;                        // a record to print instead of running anything
  std::string table;                         // the table of that record
  std::string chart;                         // its chart instead of a table
  std::vector<std::filesystem::path> merge;  // records whose rows are combined
  std::string page;                          // HTML file of the combined records
  std::optional<std::string> format;
  bool dry_run = false;
  bool overwrite = false;
  bool file_order = false;
  std::optional<std::int64_t> jobs;
  bool no_mps = false;
  std::optional<std::string> shard;  // "K/N" or "slurm"
  std::vector<Override> overrides;

  std::string format_or(const char* otherwise) const { return format.value_or(otherwise); }
};

// For programs, which want every digit.
bool is_data(const std::string& format) {
  return format == "csv" || format == "json";
}

TableUse use_of(const std::string& format) {
  return is_data(format) ? TableUse::data : TableUse::document;
}

// A study's table under its title, or under `otherwise`.
TableWords words_of(const StudyTable& one, const std::string& otherwise) {
  return {.title = one.title.empty() ? otherwise : one.title,
          .note = one.title.empty() ? "" : one.caption};
}

// Implements --render RECORD. A record keeps its tables in their printed form. The table of a
// protocol is made from its runs, whose figures are not rounded.
void render_record(const StudyCommandOptions& options) {
  if (!options.chart.empty()) {
    const std::string format = options.format_or("svg");
    if (!is_picture("." + format)) throw_usage("--format", "a chart is svg or pdf");
    std::cout << recorded_chart(options.render, options.chart, "." + format);
    return;
  }
  const std::string format = options.format_or("markdown");
  const bool results = options.table.empty() || options.table == "results";
  const bool exact = results && use_of(format) == TableUse::data &&
                     is_protocol_record(read_record(options.render));
  const std::string title = std::filesystem::path(options.render).stem().string();
  std::cout << formatted(exact ? merged_tables({options.render}, TableUse::data).front().table
                               : recorded_table(options.render, options.table),
                         format,
                         {.title = options.table.empty() ? title : title + ": " + options.table});
}

// Implements --merge RECORDS --page FILE.
void write_page(const StudyCommandOptions& options) {
  if (!options.table.empty()) throw_usage("--table", "is printed, and --page writes all of them");
  require_page_name(options.page, "--page");
  require_output(options.page, options.merge);
  write_file_atomically(InnerPath::named(options.page),
                        records_page(options.merge, this_program()));
  std::cerr << "page: " << options.page << '\n';
}

// Implements --merge RECORDS.
void merge_records(const StudyCommandOptions& options) {
  const std::string format = options.format_or("text");
  bool first = true;
  for (const TitledTable& titled : merged_tables(options.merge, use_of(format))) {
    if (!options.table.empty() && titled.name != options.table) continue;
    if (!std::exchange(first, false)) std::cout << '\n';
    if (format == "text") std::cout << clean_line(titled.title) << "\n\n";
    std::cout << formatted(titled.table, format, {.title = titled.title});
  }
  if (!first) return;
  throw_usage("--table", "none of the records has a table \"" + options.table + "\"",
              "results, differences or apart");
}

// Implements --dry-run.
void print_plan(const StudyCommandOptions& options, const StudySettings& asked) {
  const std::string format = options.format_or("text");
  std::cout << formatted(study_plan(asked), format, {.title = asked.name});
  for (const std::string& problem : missing_data(asked).problems) log::warn("{}", problem);
  const StudyEvaluations& evaluations = asked.evaluations;
  if (format != "text" || evaluations.lengths.empty()) return;
  std::string variants;
  for (const StudyVariant& variant : evaluations.variants) {
    variants += (variants.empty() ? " and with " : ", ") + variant.name;
  }
  std::cout << fmt::format("\nthen evaluated in rows of {} tokens, as trained{}\n",
                           fmt::join(evaluations.lengths, ", "), variants);
}

void require_evaluations(const StudyOutcome& outcome) {
  if (outcome.failed_evaluations == 0) return;
  throw_failure((outcome.study.folder / "evaluations").string(),
                fmt::format("{} evaluations failed", outcome.failed_evaluations),
                "their output is there; the same command tries them again");
}

// Reports the end of a shard, which draws no table.
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

// CSV and JSON print only one table; the study's folder has the others.
void print_outcome(const StudyOutcome& outcome, const std::string& format) {
  const StudySettings& study = outcome.study;
  const bool text = format == "text", data = is_data(format), latex = format == "latex";
  const auto shown = [&](const std::string& words) {
    std::cout << '\n' << (text ? wrapped(words, terminal_width()) : words) << '\n';
  };
  bool first = true;
  for (const StudyTable& one :
       study_tables(study, outcome, text ? TableUse::page : use_of(format))) {
    if (data && one.name != "results") continue;
    if (!std::exchange(first, false)) std::cout << '\n';
    if (text && !one.title.empty()) std::cout << clean_line(one.title) << "\n\n";
    std::cout << formatted(one.table, format, words_of(one, study.name));
    // The first table has no title, and its caption is about the HTML page.
    if (!data && !latex && !one.title.empty() && !one.caption.empty()) shown(one.caption);
  }
  if (!data && !study.note.empty()) shown(latex ? escape_latex(study.note) : study.note);
}

// Throws Error (failure) if runs, trials or evaluations failed, or if none finished.
void require_success(const StudyOutcome& outcome) {
  const StudySettings& study = outcome.study;
  const auto throw_failed = [&](std::size_t failed, const char* what, const StudySettings& tried) {
    if (failed == 0) return;
    throw_failure(study.folder.string(),
                  fmt::format("{} of {} {} failed", failed, tried.runs.size(), what),
                  "their output is in " + (tried.runs.front().settings.runs / "logs").string() +
                      "; the same command tries them again");
  };
  if (study.tuning) {
    throw_failed(outcome.failed_trials, "tuning runs", *study.tuning->study);
  }
  throw_failed(outcome.failed, "runs", study);
  require_evaluations(outcome);
  const auto any_finished = [](const StudyRow& row) {
    return std::ranges::count(row.runs, RunResult::State::finished, &RunResult::state) > 0;
  };
  if (std::ranges::none_of(outcome.rows, any_finished)) {
    throw_failure(study.folder.string(), "none of its runs came to its end", "the table says why");
  }
}

// Refuses a launcher whose processes would each run the whole study, then clears its variables: a
// study starts its trainings itself, each as a single process.
void leave_launch(const StudyCommandOptions& options) {
  const Launch launch = read_launch();
  if (!launch.alone() && !options.shard) {
    throw_usage("study",
                "was started as " + describe(launch) + ", each of which would run all of it",
                "start it once, with --jobs N, or each with its own --shard K/N");
  }
  forget_launch();
}

bool may_share_gpu(const StudyCommandOptions& options, const StudySettings& study) {
  return !options.no_mps && options.jobs.value_or(1) > 1 &&
         study.runs.front().settings.device != DeviceKind::cpu && gpu_support().usable;
}

void run_and_compare(const StudyCommandOptions& options, const StudyShard& shard,
                     const StudySettings& asked) {
  if (!options.record.empty()) {
    require_record_output(options.record);
    refuse_to_lose_runs(options.record, asked);
  }
  const MissingData lacking = missing_data(asked);
  for (const std::string& problem : lacking.problems) log::warn("{}", problem);
  // The runs that the tuning has chosen may already be finished.
  if (lacking.of_all && missing_data(as_chosen(asked)).of_all) {
    throw_failure(asked.folder.string(), "none of its runs has its data");
  }
  const Origin origin = this_program();
  leave_launch(options);
  const auto sharing = may_share_gpu(options, asked) ? GpuSharing::start() : nullptr;
  const StudyOutcome outcome =
      run_study(asked, {.overwrite = options.overwrite,
                        .parallel = options.jobs.value_or(1),
                        .shard = shard,
                        .order = options.file_order ? StudyOrder::file : StudyOrder::metric,
                        .origin = origin});
  if (outcome.signal != 0) {
    std::cerr << asked.folder.string()
              << ": stopped by a signal; the same command continues from here\n";
    throw CLI::RuntimeError(kSignalExit + outcome.signal);
  }
  if (outcome.waiting > 0 || outcome.drawn_elsewhere) return say_shard_done(options, outcome);
  print_outcome(outcome, options.format_or("text"));
  std::cerr << "report: " << outcome.report.string() << '\n';
  require_success(outcome);
  if (options.record.empty()) return;
  refuse_to_lose_runs(options.record, outcome);
  write_study_record(options.record, options.file, outcome.study, outcome, origin);
  std::cerr << "record: " << options.record << '\n';
}

void refuse_flags_of_runs(const StudyCommandOptions& options) {
  const std::string flag = options.dry_run             ? "--dry-run"
                           : options.overwrite         ? "--overwrite"
                           : options.file_order        ? "--file-order"
                           : options.shard             ? "--shard"
                           : options.jobs              ? "--jobs"
                           : options.no_mps            ? "--no-mps"
                           : options.overrides.empty() ? ""
                                                       : "--" + options.overrides.front().key;
  if (flag.empty()) return;
  throw_usage(flag, "does not apply to a record, whose runs are made already",
              "leave it out, or name the file of the study in place of the record");
}

void study_command(const StudyCommandOptions& options) {
  if (options.chart.empty() && is_picture("." + options.format_or(""))) {
    throw_usage("--format", *options.format + " is for --chart", "--render RECORD --chart NAME");
  }
  const bool of_records = !options.render.empty() || !options.merge.empty();
  if (of_records) refuse_flags_of_runs(options);
  if (!options.render.empty()) return render_record(options);
  if (of_records) return options.page.empty() ? merge_records(options) : write_page(options);
  if (!options.table.empty()) {
    throw_usage("--table", "is for records", "--render RECORD --table NAME");
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
  options.dry_run ? print_plan(options, asked) : run_and_compare(options, shard, asked);
}

}  // namespace

void add_study_command(CLI::App& program) {
  auto options = std::make_shared<StudyCommandOptions>();
  CLI::App* command = add_listed_command(
      program, "study",
      "Runs what is not done yet into runs/STUDY/RUN, prints the table and writes\n"
      "runs/STUDY/report.html and table.{md,tex,csv,json}. A study that was stopped continues.\n"
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
      "table that --render prints: spread, spread:FIGURE, results, differences, "
      "target_differences, lengths, translations, translation_tests or tuning (default: the "
      "first); which --merge prints: results, differences or apart (default: all)");
  command
      ->add_option("--chart", options->chart,
                   "--render prints this chart as SVG, or as PDF with --format pdf: curves, "
                   "figures, lengths, "
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
  command
      ->add_option("--format", options->format,
                   "format of the table: text, markdown, csv, json or latex (default text; for "
                   "--render markdown); of --chart: svg or pdf (default svg)")
      ->check(CLI::IsMember({"text", "markdown", "csv", "json", "latex", "svg", "pdf"}));
  command->add_option("--jobs", options->jobs, "runs at a time (default 1)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{64}));
  command->add_flag("--no-mps", options->no_mps,
                    "several runs at a time on a GPU take turns, without NVIDIA's MPS");
  command
      ->add_option("--shard", options->shard,
                   "run only every N-th run, from the K-th on, beside other shards in the same "
                   "folder; slurm: K and N of the job array. The last draws the table")
      ->type_name("K/N");
  accept_settings(*command, options->overrides);
  command->callback([options] { study_command(*options); });
}

}  // namespace roformer
