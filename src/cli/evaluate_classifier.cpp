#include "cli/evaluate_classifier.h"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/printable.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "experiments/metric.h"
#include "report/table.h"
#include "runs/answer_comparison.h"
#include "runs/glue_prediction.h"
#include "runs/stored_data.h"
#include "runs/untrained.h"

namespace roformer {
namespace {

struct EvaluatedSet {
  std::string name;  // "MRPC", "MNLI (mismatched)"
  GlueSet set;
  std::map<std::string, double> figures;
  std::vector<GluePrediction> predictions;
  std::vector<GlueMistake> mistakes;
  std::optional<AnswerComparison> against;
};

EvaluatedSet evaluate_split(const TrainedClassifier& trained, const Settings& settings,
                            GlueSplit split, std::int64_t errors) {
  const GlueTask task = settings.glue.task;
  EvaluatedSet result{.name = glue_task_facts(task).folder,
                      .set = load_glue_set(settings, *trained.tokenizer, split)};
  if (split == GlueSplit::validation_mismatched) result.name += " (mismatched)";
  ProgressBar bar("classifying " + result.name, static_cast<std::uint64_t>(result.set.texts.size()),
                  "texts");
  bar.begin();
  const auto texts = std::ssize(result.set.texts);
  const at::Tensor outputs =
      trained.classifier->predict(result.set.texts, [&](std::int64_t done, std::int64_t of) {
        bar.advance_to(static_cast<std::uint64_t>(texts * done / of));
      });
  bar.clear();
  const std::vector<GlueExample>& examples = result.set.source.examples;
  result.figures = glue_figures_with_warnings(task, outputs, examples);
  result.predictions = glue_predictions(task, outputs);
  result.mistakes =
      glue_mistakes(task, examples, result.predictions, static_cast<std::size_t>(errors));
  return result;
}

// Throws Error (usage) where it cannot be compared with the run.
TrainedClassifier open_other(const Settings& settings, const ClassifierEvaluation& options) {
  const GlueTask task = settings.glue.task;
  if (glue_task_facts(task).is_regression()) {
    throw_usage("--against", fmt::format("the scores of {} are no answers that are right or wrong",
                                         glue_task_facts(task).folder));
  }
  TrainedModelOptions opening = options.opening;
  opening.overrides = computing_overrides(opening.overrides);
  TrainedClassifier other = open_trained_classifier(options.against, opening);
  if (other.settings.glue.task != task) {
    throw_usage("--against", fmt::format("{} was trained for {}, the run for {}", options.against,
                                         glue_task_facts(other.settings.glue.task).folder,
                                         glue_task_facts(task).folder));
  }
  return other;
}

// The other's answers to the examples of a set that the run has answered.
AnswerComparison compare_with(const TrainedClassifier& other, const Settings& settings,
                              GlueSplit split, const EvaluatedSet& evaluated) {
  Settings others = other.settings;
  others.data.directory = settings.data.directory;
  const EvaluatedSet theirs = evaluate_split(other, others, split, 0);
  const auto right = [](const EvaluatedSet& set) {
    return right_labels(set.set.source.examples, set.predictions);
  };
  return compare_answers(right(evaluated), right(theirs));
}

nlohmann::ordered_json to_json(GlueTask task, const EvaluatedSet& evaluated) {
  nlohmann::ordered_json mistakes = nlohmann::ordered_json::array();
  for (const GlueMistake& mistake : evaluated.mistakes) {
    const GlueExample& example = evaluated.set.source.examples[mistake.example];
    nlohmann::ordered_json object = {
        {"index", example.index},
        {"label", label_text(task, example)},
        {"predicted", prediction_text(task, evaluated.predictions[mistake.example])},
        {glue_task_facts(task).is_regression() ? "distance" : "probability", mistake.weight},
        {"first", example.first}};
    if (glue_task_facts(task).pairs) object["second"] = example.second;
    mistakes.push_back(std::move(object));
  }
  nlohmann::ordered_json object = {{"set", evaluated.name},
                                   {"examples", std::ssize(evaluated.set.texts)},
                                   {"figures", evaluated.figures}};
  if (evaluated.against) object["against"] = to_json(*evaluated.against);
  if (!mistakes.empty()) object["errors"] = std::move(mistakes);
  return object;
}

Table figures_table(const std::vector<EvaluatedSet>& sets) {
  std::vector<Column> columns{{.title = "set", .alignment = Column::Alignment::left},
                              {.title = "examples", .format = {NumberFormat::Style::count, 0}}};
  for (const auto& [name, value] : sets.front().figures) {
    if (name != "collapsed") columns.push_back(metric_column(name));
  }
  Table table(columns);
  for (const EvaluatedSet& evaluated : sets) {
    std::vector<Cell> cells;
    cells.emplace_back(evaluated.name);
    cells.emplace_back(static_cast<std::int64_t>(evaluated.set.texts.size()));
    for (const auto& [name, value] : evaluated.figures) {
      if (name != "collapsed") cells.emplace_back(value);
    }
    table.add_row(std::move(cells));
  }
  return table;
}

void print_mistakes(GlueTask task, const EvaluatedSet& evaluated) {
  const GlueTaskFacts& facts = glue_task_facts(task);
  if (evaluated.mistakes.empty()) return;
  std::cout << fmt::format("\n{}: {}\n", evaluated.name,
                           facts.is_regression() ? "farthest from their score" : "surest mistakes");
  for (const GlueMistake& mistake : evaluated.mistakes) {
    const GlueExample& example = evaluated.set.source.examples[mistake.example];
    const std::string sure =
        facts.is_regression() ? "" : fmt::format(" ({:.1f} %)", 100 * mistake.weight);
    std::cout << fmt::format("  {}{}, is {}: {}\n",
                             prediction_text(task, evaluated.predictions[mistake.example]), sure,
                             label_text(task, example), clean_line(example.first));
    if (facts.pairs) std::cout << fmt::format("      {}\n", clean_line(example.second));
  }
}

}  // namespace

void evaluate_classifier(const TrainedClassifier& trained, const ClassifierEvaluation& options) {
  Settings settings = trained.settings;
  settings.data.directory = open_stored(options.data, trained.settings,
                                        [](const std::filesystem::path& folder) { return folder; });
  const GlueTask task = settings.glue.task;
  std::optional<TrainedClassifier> other;  // opened before anything is computed
  if (!options.against.empty()) other.emplace(open_other(settings, options));
  prepare_threads(settings.threads);  // which the other has set to its own
  warn_of_short_start(trained);
  std::vector<EvaluatedSet> sets;
  for (const GlueSplit split : validation_splits(task)) {
    sets.push_back(evaluate_split(trained, settings, split, options.errors));
    if (other) sets.back().against = compare_with(*other, settings, split, sets.back());
  }
  if (options.json) {
    nlohmann::ordered_json object = {{"model", trained.checkpoint.string()},
                                     {"data", settings.data.directory.string()},
                                     {"evaluations", nlohmann::ordered_json::array()}};
    if (const auto changed = overrides_json(trained); !changed.empty()) {
      object["overrides"] = changed;
    }
    for (const EvaluatedSet& evaluated : sets) {
      object["evaluations"].push_back(to_json(task, evaluated));
    }
    std::cout << object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    return;
  }
  const std::string head =
      fmt::format("{} on {}, position {}, length {}{}", trained.checkpoint.string(),
                  settings.data.directory.string(), settings.position.scheme, settings.data.length,
                  with_overrides(trained));
  std::cout << fmt::format("{}\n\n{}", clean_line(head),
                           to_text(figures_table(sets), {.width = terminal_width()}));
  for (const EvaluatedSet& evaluated : sets) {
    if (!evaluated.against) continue;
    const std::string text =
        fmt::format("{}: {}", evaluated.name, comparison_text(*evaluated.against, options.against));
    std::cout << '\n' << wrapped(text, terminal_width()) << '\n';
  }
  for (const EvaluatedSet& evaluated : sets) print_mistakes(task, evaluated);
}

}  // namespace roformer
