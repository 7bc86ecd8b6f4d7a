#include "experiments/stored_run_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/few_of.h"
#include "base/progress.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "experiments/metric.h"
#include "experiments/study_rows.h"
#include "experiments/training_run.h"
#include "training/checkpoint.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using StoredState = StoredRun::State;

constexpr NumberFormat kCount{NumberFormat::Style::count};

std::string task_word(const StoredRun& run) {
  return run.readable() ? to_word(run.settings().task) : "";
}

std::string scheme_word(const StoredRun& run) {
  return run.readable() ? run.settings().position.scheme : "";
}

Cell words_or_nothing(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}

// The column of the figure that ranks the run's validations. Its key is the figure's metric.
Column ranked_column(const StoredRun& run, const ValidationRecord& record) {
  Column column = metric_column(metric_of(record.ranking.figure, run.settings()));
  column.best = record.ranking.higher_is_better ? Column::Best::highest : Column::Best::lowest;
  return column;
}

std::string figure_words(const StoredRun& run, const ValidationRecord& record) {
  const Column column = ranked_column(run, record);
  return record.ranking.figure + " " + format_number(record.ranked(), column.format) +
         (column.unit == "%" ? " %" : "");
}

// "400 of 1,000", or "400 (40 %)" for a length in another unit than steps.
std::string progress_words(const StoredRun& run) {
  const std::string steps = format_count(run.steps());
  if (!run.readable() || run.state == StoredState::averaged || run.state == StoredState::imported) {
    return run.steps() == 0 ? "" : steps;
  }
  const Period& length = run.settings().training.steps;
  const bool ended = run.state == StoredState::finished;
  if (length.unit != Period::Unit::steps) {
    return ended ? steps : fmt::format("{} ({:.0f} %)", steps, 100 * run.done());
  }
  const auto planned = static_cast<std::int64_t>(length.amount);
  return ended && planned == run.steps() ? steps
                                         : fmt::format("{} of {}", steps, format_count(planned));
}

// "12 s", "5 min", "3 h", "12 d": the largest unit alone.
std::string age_words(double seconds) {
  static constexpr std::array<std::tuple<double, double, const char*>, 4> kUnits = {
      {{60, 1, "s"}, {3600, 60, "min"}, {48 * 3600, 3600, "h"}, {1e300, 24 * 3600, "d"}}};
  for (const auto& [below, unit, word] : kUnits) {
    if (seconds < below) return fmt::format("{:.0f} {}", std::floor(seconds / unit), word);
  }
  return "";
}

// Orders by task and figure, then by the figure; runs without one last.
auto rank_of(const StoredRun& run) {
  const ValidationRecord* const best = run.readable() ? run.so_far.best() : nullptr;
  if (best == nullptr) return std::tuple(true, std::string(), std::string(), 0.0);
  const double value = best->ranking.higher_is_better ? -best->ranked() : best->ranked();
  return std::tuple(false, task_word(run), best->ranking.figure, value);
}

Table data_list(const std::vector<StoredRun>& runs) {
  Table table({words_column("run"),
               words_column("task"),
               words_column("scheme"),
               words_column("state"),
               {.title = "steps", .format = kCount},
               {.title = "done", .format = {NumberFormat::Style::fixed, 3}},
               words_column("metric"),
               {.title = "best"},
               {.title = "bytes", .format = kCount},
               {.title = "age_seconds", .format = kCount},
               words_column("remark")});
  for (const StoredRun& run : runs) {
    const ValidationRecord* const best = run.readable() ? run.so_far.best() : nullptr;
    table.add_row({run.name, words_or_nothing(task_word(run)), words_or_nothing(scheme_word(run)),
                   state_word(run.state), run.steps(), run.done(),
                   best == nullptr ? Cell() : Cell(ranked_column(run, *best).key),
                   best == nullptr ? Cell() : Cell(best->ranked()),
                   static_cast<std::int64_t>(run.bytes), static_cast<std::int64_t>(run.age),
                   words_or_nothing(run.remark)});
  }
  return table;
}

// "rope, base 500000": a scheme and its options that differ from their defaults.
std::string scheme_words(const std::string& scheme, const Settings& settings) {
  std::string words = scheme;
  for (const Key& key : schema()) {
    if (key.scheme() != scheme || key.name.ends_with(".formula.file")) continue;
    const std::string value = key.get(settings);
    if (value.empty() || value == key.default_text()) continue;
    words += fmt::format(", {} {}", key_column(key.name).title, value);
  }
  return words;
}

std::string all_schemes(const Settings& settings) {
  const PositionSettings& position = settings.position;
  std::string words = scheme_words(position.scheme, settings);
  if (!task_facts(settings.task).has_decoder) return words;
  if (position.decoder != "same") {
    words += "; decoder: " + scheme_words(position.decoder, settings);
  }
  return words + "; across: " + position.cross;
}

std::string data_words(const StoredRun& run) {
  const auto fact = [&](const char* pointer) { return recorded_text(run.record, pointer); };
  std::string words = fact("/data/name");
  const std::string folder = data_path(run.settings()).string();
  if (!folder.empty()) words += (words.empty() ? "" : ", ") + folder;
  if (const std::string print = fact("/data/fingerprint"); !print.empty()) {
    words += (words.empty() ? "" : ", ") + ("fingerprint " + print);
  }
  return words;
}

std::string model_words(const StoredRun& run) {
  const ModelSettings& model = run.settings().model;
  std::string words = fmt::format("{} layers", model.layers);
  if (task_facts(run.settings().task).has_decoder) {
    words += fmt::format(" and {} of the decoder", run.settings().translation.decoder_layers);
  }
  words += fmt::format(", width {}, {} heads, feed-forward {}", model.width, model.heads,
                       model.feed_forward);
  if (run.so_far.parameters > 0) {
    words += fmt::format(", {} parameters", format_count(run.so_far.parameters));
  }
  return words;
}

std::string schedule_words(const Settings& settings) {
  const TrainingSettings& training = settings.training;
  std::string words =
      fmt::format("{} for {}, {} at {:g}", to_word(training.optimizer),
                  training.steps.unit == Period::Unit::steps ? to_string(training.steps) + " steps"
                                                             : to_string(training.steps),
                  to_word(training.schedule), training.learning_rate);
  if (!training.warmup.is_zero()) words += ", warm-up " + to_string(training.warmup);
  words += training.batch_tokens > 0 ? fmt::format(", batches of {} tokens", training.batch_tokens)
                                     : fmt::format(", batches of {}", training.batch);
  if (training.accumulation > 1) words += fmt::format(" x {}", training.accumulation);
  return words + fmt::format(", length {}", settings.data.length);
}

std::string machine_words(const StoredRun& run) {
  std::string words = machine_of(RunResult{.record = run.record});
  const std::string host = recorded_text(run.record, "/machine/host");
  return words.empty() || host.empty() ? words : host + ": " + words;
}

std::string program_words(const StoredRun& run) {
  const auto fact = [&](const char* pointer) { return recorded_text(run.record, pointer); };
  if (fact("/version").empty()) return "";
  return fmt::format("roformer {} ({}), LibTorch {}", fact("/version"), fact("/commit"),
                     fact("/libtorch"));
}

// Whether some of the runs use the scheme that the key belongs to.
bool is_used(const Key& key, const ComparedRuns& runs) {
  if (key.scheme().empty()) return true;
  return std::ranges::any_of(runs.study.runs, [&](const StudyRun& run) {
    const PositionSettings& position = run.settings.position;
    return uses_scheme(position, key.scheme()) || position.cross == key.scheme();
  });
}

Table table_of_runs(const ComparedRuns& runs, const std::string& title) {
  std::vector<Column> columns{words_column(title)};
  for (const StudyRun& run : runs.study.runs) columns.push_back(words_column(run.name));
  return Table(columns);
}

// The facts about the data of which some pair of runs has different ones.
void add_data_differences(const ComparedRuns& runs, Table& table) {
  const std::size_t count = runs.rows.size();
  const auto data_of = [&](std::size_t i) {
    return recorded_data(runs.rows[i].runs.front().record);
  };
  std::vector<std::pair<std::string, std::vector<Cell>>> rows;
  for (std::size_t i = 1; i < count; ++i) {
    for (const DataDifference& fact : data_differences(data_of(0), data_of(i))) {
      auto row = std::ranges::find(rows, fact.title, [](const auto& one) { return one.first; });
      if (row == rows.end()) {
        row = rows.insert(row, {fact.title, std::vector<Cell>(count, Cell(fact.one))});
      }
      row->second[i] = fact.other;
    }
  }
  for (auto& [title, cells] : rows) {
    cells.insert(cells.begin(), Cell(title));
    table.add_row(std::move(cells));
  }
}

// The names of the figures that the tasks of all runs have, in the order of the first run's task.
std::vector<std::string> shared_figures(const ComparedRuns& runs) {
  std::vector<std::string> names;
  const auto is_shared = [&](const std::string& name) {
    return std::ranges::all_of(runs.rows, [&](const StudyRow& row) {
      return runs.of_one_task || row.runs.front().figures.contains(name);
    });
  };
  const auto is_measured = [&](const std::string& name) {
    return std::ranges::any_of(
        runs.rows, [&](const StudyRow& row) { return row.runs.front().figures.contains(name); });
  };
  const Settings& settings = runs.study.runs.front().settings;
  std::vector<std::string> all{"parameters", "steps"};
  for (const TaskFigure& figure : task_facts(settings.task).figures(settings)) {
    add_once(all, figure.metric);
  }
  if (!runs.of_one_task && task_facts(settings.task).labelled) all.emplace_back("score");
  for (const char* const name : {"minutes", "tokens_per_second", "peak_memory"}) {
    all.emplace_back(name);
  }
  for (const std::string& name : all) {
    if (is_shared(name) && is_measured(name)) names.push_back(name);
  }
  return names;
}

}  // namespace

void sort_runs(std::vector<StoredRun>& runs, RunOrder order) {
  std::ranges::stable_sort(runs, {}, &StoredRun::name);
  if (order == RunOrder::age) std::ranges::stable_sort(runs, {}, &StoredRun::age);
  if (order == RunOrder::size) std::ranges::stable_sort(runs, std::greater(), &StoredRun::bytes);
  if (order == RunOrder::state) std::ranges::stable_sort(runs, {}, &StoredRun::state);
  if (order == RunOrder::best) std::ranges::stable_sort(runs, {}, rank_of);
}

std::string best_words(const StoredRun& run) {
  const ValidationRecord* const best = run.readable() ? run.so_far.best() : nullptr;
  return best == nullptr ? "" : figure_words(run, *best);
}

Table run_list(const std::vector<StoredRun>& runs, TableUse use) {
  if (use == TableUse::data) return data_list(runs);
  const auto right = [](const char* title) {
    Column column = words_column(title);
    column.alignment = Column::Alignment::right;
    return column;
  };
  Table table({words_column("run"), words_column("task"), words_column("scheme"),
               words_column("state"), right("steps"), right("best"), right("size"), right("age")});
  for (const StoredRun& run : runs) {
    table.add_row({run.name, words_or_nothing(task_word(run)), words_or_nothing(scheme_word(run)),
                   state_word(run.state), words_or_nothing(progress_words(run)),
                   words_or_nothing(best_words(run)), format_bytes(run.bytes), age_words(run.age)});
  }
  return table;
}

std::string state_sentence(const StoredRun& run) {
  std::string words = state_word(run.state);
  const std::string progress = progress_words(run);
  const bool trained = run.state == StoredState::training || run.state == StoredState::stopped ||
                       run.state == StoredState::finished || run.state == StoredState::diverged;
  if (trained && !progress.empty()) {
    words += (run.state == StoredState::finished ? " after step " : ", step ") + progress;
  }
  return run.remark.empty() ? words : words + ": " + run.remark;
}

Table run_facts(const StoredRun& run, const std::vector<std::string>& children) {
  Table table({words_column("what"), words_column("of the run")});
  const auto add = [&](const char* title, const std::string& text) {
    if (!text.empty()) table.add_row({title, text});
  };
  const Settings& settings = run.settings();
  const auto fact = [&](const char* pointer) { return recorded_text(run.record, pointer); };
  add("state", state_sentence(run));
  add("task", fmt::format("{} ({})", to_word(settings.task), task_facts(settings.task).title));
  add("scheme", all_schemes(settings));
  add("data", data_words(run));
  add("model", model_words(run));
  add("schedule", schedule_words(settings));
  std::string precision = fact("/precision");
  if (const std::string why = fact("/precision_reason"); !why.empty()) precision += ", " + why;
  add("precision", precision);
  if (run.so_far.consumed.minutes > 0) {
    add("trained", fmt::format("{}, {} tokens", format_duration(60 * run.so_far.consumed.minutes),
                               format_count(run.so_far.consumed.tokens)));
  }
  add("began", fact("/started"));
  add("on", machine_words(run));
  add("command", fact("/command"));
  add("program", program_words(run));
  add("starts from", settings.model.from.string());
  add("imported from", fact("/data/imported_from"));
  add("average of", fact("/data/average_of"));
  add("is the start of", few_of(children));
  add("study", study_of(run.folder).string());
  add("folder", fmt::format("{}, {}", run.folder.string(), format_bytes(run.bytes)));
  return table;
}

Table figure_table(const StoredRun& run) {
  Table table({words_column("figure"), words_column("best"), words_column("last")});
  const ValidationRecord* const best = run.so_far.best();
  if (run.so_far.validations.empty()) return table;
  const ValidationRecord& last = run.so_far.validations.back();
  const auto step = [](const ValidationRecord& record) {
    return fmt::format("step {}", format_count(record.step));
  };
  table.add_row({"validation at", best == nullptr ? Cell() : Cell(step(*best)), step(last)});
  const auto shown = [&](const ValidationRecord* record, const std::string& name) {
    const Column column = metric_column(metric_of(name, run.settings()));
    if (record == nullptr || !record->figures.contains(name)) return Cell();
    std::string text = format_number(record->figures.at(name), column.format);
    const auto error = record->figures.find(name + kStandardError);
    if (error != record->figures.end()) {
      text += " ± " + format_number(error->second, column.format);
    }
    return Cell(text);
  };
  for (const auto& [name, value] : last.figures) {
    if (name.ends_with(kStandardError)) continue;
    const Column column = metric_column(metric_of(name, run.settings()));
    table.add_row({column.heading(), shown(best, name), shown(&last, name)});
  }
  return table;
}

Table checkpoint_table(const StoredRun& run) {
  Table table({{
                   .title = "checkpoint",
                   .format = kCount,
               },
               words_column("which"),
               words_column("figure"),
               words_column("size")});
  std::vector<fs::path> best;
  try {
    best = best_checkpoints(run.folder / "checkpoints", "");
  } catch (const Error&) {  // the row below says that the state cannot be read
  }
  for (const fs::path& folder : run.checkpoints) {
    std::string which, figure;
    std::int64_t step = 0;
    try {
      const TrainingState state = read_training_state(folder);
      step = state.consumed.steps;
      if (state.current() != nullptr) figure = figure_words(run, *state.current());
    } catch (const Error&) {
      figure = "its state cannot be read";
    }
    if (!best.empty() && folder == best.front()) which = "best";
    if (folder == run.checkpoints.back()) which += which.empty() ? "last" : ", last";
    std::uint64_t bytes = 0;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
      if (entry.is_regular_file(error)) bytes += entry.file_size(error);
    }
    table.add_row({step, words_or_nothing(which), words_or_nothing(figure), format_bytes(bytes)});
  }
  return table;
}

ComparedRuns compared_runs(const std::vector<StoredRun>& runs) {
  ComparedRuns compared{.study = {.name = "comparison", .axes = {{.key = "run"}}}};
  for (const StoredRun& run : runs) {
    compared.study.axes.front().values.push_back(run.name);
    StudyRun& one = compared.study.runs.emplace_back(*run.run);
    one.name = run.name;
    one.values = {run.name};
    compared.rows.push_back({.labels = {run.name}, .runs = {result_so_far(one)}});
    compared.of_one_task &= run.settings().task == runs.front().settings().task;
  }
  return compared;
}

Table setting_differences(const ComparedRuns& runs) {
  Table table = table_of_runs(runs, "key");
  std::set<std::string> different;
  const Settings& first = runs.study.runs.front().settings;
  for (const StudyRun& run : runs.study.runs) {
    for (const std::string& name : diff(first, run.settings)) different.insert(name);
  }
  for (const Key& key : schema()) {
    if (!different.contains(key.name) || !key.is_compared() || !is_used(key, runs)) continue;
    std::vector<Cell> cells{key.name};
    for (const StudyRun& run : runs.study.runs) {
      const std::string value = key.get(run.settings);
      cells.emplace_back(value.empty() ? "(empty)" : value);
    }
    table.add_row(std::move(cells));
  }
  add_data_differences(runs, table);
  return table;
}

Table compared_figures(const ComparedRuns& runs, const std::vector<StoredRun>& stored) {
  std::vector<Column> columns{words_column("run")};
  if (!runs.of_one_task) columns.push_back(words_column("task"));
  columns.push_back(words_column("scheme"));
  columns.push_back(words_column("state"));
  const std::vector<std::string> names = shared_figures(runs);
  for (const std::string& name : names) {
    Column column = metric_column_of(runs.study, runs.rows, name);
    if (!runs.of_one_task) column.best = Column::Best::none;
    columns.push_back(std::move(column));
  }
  Table table(columns);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const RunResult& result = runs.rows[i].runs.front();
    std::vector<Cell> cells{stored[i].name};
    if (!runs.of_one_task) cells.emplace_back(task_word(stored[i]));
    cells.emplace_back(scheme_word(stored[i]));
    cells.emplace_back(state_word(stored[i].state));
    for (const std::string& name : names) {
      const auto figure = result.figures.find(name);
      cells.push_back(figure == result.figures.end() ? Cell() : Cell(figure->second));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

std::vector<std::string> shared_curves(const ComparedRuns& runs) {
  std::vector<std::string> names;
  const Settings& settings = runs.study.runs.front().settings;
  const auto ranked = metric_of(ranking_of(settings).figure, settings);
  std::vector<std::string> all{ranked};
  for (const TaskFigure& figure : task_facts(settings.task).figures(settings)) {
    add_once(all, figure.metric);
  }
  if (!runs.of_one_task) all.emplace_back("score");
  all.insert(all.end(), {"training_loss", "learning_rate"});
  for (const std::string& name : all) {
    const bool shared = std::ranges::all_of(
        runs.rows, [&](const StudyRow& row) { return row.runs.front().curves.contains(name); });
    if (shared) names.push_back(name);
  }
  return names;
}

}  // namespace roformer
