// `roformer evaluate` for a run of a GLUE task: the benchmark's metrics on its validation sets, and
// the model's most confident mistakes.
#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/printable.h"
#include "base/progress.h"
#include "tasks/classification/glue_figures.h"
#include "tasks/classification/glue_task.h"
#include "tasks/evaluation.h"
#include "tasks/stored_data.h"
#include "tasks/untrained.h"

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
      trained.model->predict(result.set.texts, [&](std::int64_t done, std::int64_t of) {
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

// Throws Error (usage) if the other run cannot be compared with this one.
TrainedClassifier open_other(const Settings& settings, const EvaluationRequest& request) {
  const GlueTask task = settings.glue.task;
  const std::string& folder = glue_task_facts(task).folder;
  if (glue_task_facts(task).is_regression()) {
    throw_usage("--against",
                fmt::format("the scores of {} are no answers that are right or wrong", folder));
  }
  TrainedClassifier other(request.open_other());
  if (other.settings.glue.task != task) {
    throw_usage("--against", fmt::format("{} was trained for {}, the run for {}", request.against,
                                         glue_task_facts(other.settings.glue.task).folder, folder));
  }
  return other;
}

// The other run's answers to the examples of a set that this run has answered.
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
    if (name != "collapsed") columns.push_back(figure_column(name));
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

void print_mistakes(GlueTask task, const EvaluatedSet& evaluated, EvaluationText& text) {
  const GlueTaskFacts& facts = glue_task_facts(task);
  if (evaluated.mistakes.empty()) return;
  text.line("");
  text.line(fmt::format("{}: {}", evaluated.name,
                        facts.is_regression() ? "farthest from their score" : "surest mistakes"));
  for (const GlueMistake& mistake : evaluated.mistakes) {
    const GlueExample& example = evaluated.set.source.examples[mistake.example];
    const std::string sure =
        facts.is_regression() ? "" : fmt::format(" ({:.1f} %)", 100 * mistake.weight);
    text.line(fmt::format("  {}{}, is {}: {}",
                          prediction_text(task, evaluated.predictions[mistake.example]), sure,
                          label_text(task, example), clean_line(example.first)));
    if (facts.pairs) text.line("      " + clean_line(example.second));
  }
}

nlohmann::ordered_json to_json(const TrainedClassifier& trained, const Settings& settings,
                               const std::vector<EvaluatedSet>& sets) {
  nlohmann::ordered_json object = {{"model", trained.checkpoint.string()},
                                   {"data", settings.data.directory.string()},
                                   {"evaluations", nlohmann::ordered_json::array()}};
  if (const auto changed = overrides_json(trained); !changed.empty()) object["overrides"] = changed;
  for (const EvaluatedSet& evaluated : sets) {
    object["evaluations"].push_back(to_json(settings.glue.task, evaluated));
  }
  return object;
}

void print(const TrainedClassifier& trained, const Settings& settings,
           const std::vector<EvaluatedSet>& sets, const std::string& against,
           EvaluationText& text) {
  text.line(
      clean_line(fmt::format("{} on {}, position {}, length {}{}", trained.checkpoint.string(),
                             settings.data.directory.string(), settings.position.scheme,
                             settings.data.length, with_overrides(trained))));
  text.line("");
  text.table(figures_table(sets));
  for (const EvaluatedSet& evaluated : sets) {
    if (!evaluated.against) continue;
    text.line("");
    text.paragraph(
        fmt::format("{}: {}", evaluated.name, comparison_text(*evaluated.against, against)));
  }
  for (const EvaluatedSet& evaluated : sets) print_mistakes(settings.glue.task, evaluated, text);
}

}  // namespace

EvaluationResult evaluate_classifier(OpenedRun run, const EvaluationRequest& request) {
  const TrainedClassifier trained(std::move(run));
  Settings settings = trained.settings;
  settings.data.directory = open_stored(request.data, trained.settings,
                                        [](const std::filesystem::path& folder) { return folder; });
  std::optional<TrainedClassifier> other;  // opened before the computation starts
  if (!request.against.empty()) other.emplace(open_other(settings, request));
  prepare_threads(settings.threads);  // the other run sets the plan to its own
  warn_of_short_start(trained);
  std::vector<EvaluatedSet> sets;
  for (const GlueSplit split : validation_splits(settings.glue.task)) {
    sets.push_back(evaluate_split(trained, settings, split, request.errors));
    if (other) sets.back().against = compare_with(*other, settings, split, sets.back());
  }
  if (request.text != nullptr) print(trained, settings, sets, request.against, *request.text);
  return {.json = to_json(trained, settings, sets)};
}

}  // namespace roformer
