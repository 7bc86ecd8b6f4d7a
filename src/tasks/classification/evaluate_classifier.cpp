// `roformer evaluate` for a classifier: the metrics of its validation sets, precision and recall of
// each class, the confusion matrix, and the most confident mistakes.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/origin.h"
#include "base/printable.h"
#include "report/html.h"
#include "tasks/classification/classification_figures.h"
#include "tasks/classification/classification_task.h"
#include "tasks/evaluation.h"
#include "tasks/stored_data.h"
#include "tasks/untrained.h"

namespace roformer {
namespace {

struct EvaluatedSet {
  EncodedSet set;
  std::map<std::string, double> figures;
  std::vector<Prediction> predictions;
  std::vector<Mistake> mistakes;
  std::vector<ClassCounts> counts;                   // of each class
  std::vector<std::vector<std::int64_t>> confusion;  // [actual][predicted], for one class per text
  std::optional<AnswerComparison> against;
};

EvaluatedSet evaluate_set(const TrainedClassifier& trained, const Targets& targets, EncodedSet set,
                          std::int64_t errors) {
  EvaluatedSet result{.set = std::move(set)};
  const at::Tensor outputs =
      predict_with_bar(*trained.model, result.set.texts, "classifying " + result.set.name, "texts");
  const std::vector<LabelledText>& examples = result.set.source.examples;
  result.figures = figures_with_warnings(targets, outputs, examples);
  result.predictions = predictions_of(targets, outputs);
  result.mistakes =
      mistakes_of(targets, examples, result.predictions, static_cast<std::size_t>(errors));
  if (!targets.is_regression()) {
    result.counts = class_counts(targets, examples, result.predictions);
  }
  if (targets.kind == TargetKind::single) {
    result.confusion = confusion_matrix(targets, examples, result.predictions);
  }
  return result;
}

// Throws Error (usage) if the other run cannot be compared with this one.
TrainedClassifier open_other(const Settings& settings, const Targets& targets,
                             const EvaluationRequest& request) {
  if (targets.is_regression()) {
    throw_usage("--against", fmt::format("the scores of {} are no answers that are right or wrong",
                                         targets.title));
  }
  TrainedClassifier other(request.open_other());
  if (other.settings.task != settings.task ||
      (settings.task == TaskKind::glue && other.settings.glue.task != settings.glue.task)) {
    throw_usage("--against", fmt::format("{} was trained for {}, the run for {}", request.against,
                                         targets_of(other.settings).title, targets.title));
  }
  if (targets_of(other.settings).classes != targets.classes) {
    throw_usage("--against",
                fmt::format("{} has other classes than the run, or another order of them",
                            request.against));
  }
  return other;
}

// The other run's answers to the examples of a set that this run has answered.
AnswerComparison compare_with(const TrainedClassifier& other, const Targets& targets,
                              const EvaluatedSet& evaluated) {
  EncodedSet set{.name = evaluated.set.name, .source = evaluated.set.source};
  for (const LabelledText& example : set.source.examples) {
    std::optional<std::string_view> second;
    if (set.source.pairs) second = example.second;
    set.texts.push_back(
        encode_text(*other.tokenizer, example.first, second, other.settings.data.length));
  }
  const EvaluatedSet theirs = evaluate_set(other, targets, std::move(set), 0);
  const auto right = [](const EvaluatedSet& answered) {
    return right_labels(answered.set.source.examples, answered.predictions);
  };
  return compare_answers(right(evaluated), right(theirs));
}

nlohmann::ordered_json classes_json(const Targets& targets, const EvaluatedSet& evaluated) {
  nlohmann::ordered_json classes = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < evaluated.counts.size(); ++i) {
    const ClassCounts& count = evaluated.counts[i];
    classes.push_back({{"class", targets.names[i]},
                       {"precision", count.precision()},
                       {"recall", count.recall()},
                       {"f1", count.f1()},
                       {"examples", count.actual},
                       {"predicted", count.predicted}});
  }
  return classes;
}

nlohmann::ordered_json to_json(const Targets& targets, const EvaluatedSet& evaluated) {
  nlohmann::ordered_json mistakes = nlohmann::ordered_json::array();
  for (const Mistake& mistake : evaluated.mistakes) {
    const LabelledText& example = evaluated.set.source.examples[mistake.example];
    nlohmann::ordered_json object = {
        {"index", example.index},
        {"label", label_text(targets, example)},
        {"predicted", prediction_text(targets.classes, evaluated.predictions[mistake.example])},
        {targets.is_regression() ? "distance" : "probability", mistake.weight},
        {"first", example.first}};
    if (evaluated.set.source.pairs) object["second"] = example.second;
    mistakes.push_back(std::move(object));
  }
  nlohmann::ordered_json object = {{"set", evaluated.set.name},
                                   {"examples", std::ssize(evaluated.set.texts)},
                                   {"figures", evaluated.figures}};
  if (!evaluated.counts.empty()) object["classes"] = classes_json(targets, evaluated);
  if (!evaluated.confusion.empty()) object["confusion"] = evaluated.confusion;
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
    cells.emplace_back(evaluated.set.name);
    cells.emplace_back(static_cast<std::int64_t>(evaluated.set.texts.size()));
    for (const auto& [name, value] : evaluated.figures) {
      if (name != "collapsed") cells.emplace_back(value);
    }
    table.add_row(std::move(cells));
  }
  return table;
}

constexpr std::size_t kMostClassesShown = 20;

// Precision, recall and F1 of each class.
Table class_table(const Targets& targets, const EvaluatedSet& evaluated) {
  const NumberFormat percent{NumberFormat::Style::percent, 1}, count{NumberFormat::Style::count, 0};
  Table table({{.title = "class", .alignment = Column::Alignment::left},
               {.title = "precision", .unit = "%", .format = percent},
               {.title = "recall", .unit = "%", .format = percent},
               {.title = "F1", .unit = "%", .format = percent},
               {.title = "examples", .format = count},
               {.title = "predicted", .format = count}});
  for (std::size_t i = 0; i < evaluated.counts.size(); ++i) {
    const ClassCounts& counts = evaluated.counts[i];
    table.add_row({clean_line(targets.names[i]), counts.precision(), counts.recall(), counts.f1(),
                   counts.actual, counts.predicted});
  }
  return table;
}

// One row for each actual class, one column for each predicted class.
Table confusion_table(const Targets& targets, const EvaluatedSet& evaluated) {
  std::vector<Column> columns{{.title = "is \\ predicted", .alignment = Column::Alignment::left}};
  for (const std::string& name : targets.names) {
    columns.push_back({.title = clean_line(name), .format = {NumberFormat::Style::count, 0}});
  }
  Table table(columns);
  for (std::size_t i = 0; i < evaluated.confusion.size(); ++i) {
    std::vector<Cell> cells{clean_line(targets.names[i])};
    for (const std::int64_t count : evaluated.confusion[i]) cells.emplace_back(count);
    table.add_row(std::move(cells));
  }
  return table;
}

// The most frequent confusions, for more classes than a table can show.
Table confused_pairs(const Targets& targets, const EvaluatedSet& evaluated) {
  struct Confused {
    std::size_t actual, predicted;
    std::int64_t count;
  };
  std::vector<Confused> all;
  for (std::size_t i = 0; i < evaluated.confusion.size(); ++i) {
    for (std::size_t j = 0; j < evaluated.confusion.size(); ++j) {
      const std::int64_t count = evaluated.confusion[i][j];
      if (i != j && count > 0) all.push_back({i, j, count});
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater{}, &Confused::count);
  all.resize(std::min(all.size(), kMostClassesShown));
  Table table({{.title = "is", .alignment = Column::Alignment::left},
               {.title = "predicted", .alignment = Column::Alignment::left},
               {.title = "examples", .format = {NumberFormat::Style::count, 0}}});
  for (const Confused& confused : all) {
    table.add_row({clean_line(targets.names[confused.actual]),
                   clean_line(targets.names[confused.predicted]), confused.count});
  }
  return table;
}

void print_classes(const Targets& targets, const EvaluatedSet& evaluated, EvaluationText& text) {
  if (evaluated.counts.empty()) return;
  const bool few = evaluated.counts.size() <= kMostClassesShown;
  text.line("");
  if (few) {
    text.line(evaluated.set.name + ": classes");
    text.table(class_table(targets, evaluated));
  }
  if (evaluated.confusion.empty()) return;
  if (few) text.line("");
  text.line(evaluated.set.name + (few ? ": confusion" : ": most frequent confusions"));
  text.table(few ? confusion_table(targets, evaluated) : confused_pairs(targets, evaluated));
}

Table mistakes_table(const Targets& targets, const EvaluatedSet& evaluated) {
  std::vector<Column> columns{{.title = "predicted", .alignment = Column::Alignment::left},
                              {.title = "is", .alignment = Column::Alignment::left},
                              {.title = targets.is_regression() ? "distance" : "probability",
                               .format = {NumberFormat::Style::fixed, 3}},
                              {.title = "text", .alignment = Column::Alignment::left}};
  if (evaluated.set.source.pairs) {
    columns.push_back({.title = "second text", .alignment = Column::Alignment::left});
  }
  Table table(columns);
  for (const Mistake& mistake : evaluated.mistakes) {
    const LabelledText& example = evaluated.set.source.examples[mistake.example];
    std::vector<Cell> cells{
        clean_line(prediction_text(targets.classes, evaluated.predictions[mistake.example])),
        clean_line(label_text(targets, example)), mistake.weight, clean_line(example.first)};
    if (evaluated.set.source.pairs) cells.emplace_back(clean_line(example.second));
    table.add_row(std::move(cells));
  }
  return table;
}

// The confusion matrix as shares of each actual class.
HeatMap confusion_map(const Targets& targets, const EvaluatedSet& evaluated) {
  HeatMap map{.title = evaluated.set.name,
              .subtitle = "share of the examples of a class that are predicted as each class",
              .rows = {.title = "class"},
              .columns = {.title = "predicted class"},
              .value_title = "share"};
  for (std::size_t i = 0; i < evaluated.confusion.size(); ++i) {
    const auto total = static_cast<double>(evaluated.counts[i].actual);
    std::vector<double> shares;
    for (const std::int64_t count : evaluated.confusion[i]) {
      shares.push_back(total > 0 ? static_cast<double>(count) / total
                                 : std::numeric_limits<double>::quiet_NaN());
    }
    map.values.push_back(std::move(shares));
  }
  map.rows.names = targets.names;
  map.columns.names = targets.names;
  return map;
}

std::string chart_file(const std::string& file, const TrainedClassifier& trained,
                       const Targets& targets, const std::vector<EvaluatedSet>& sets) {
  if (is_picture(file)) {
    if (sets.size() == 1) return picture_file(draw(confusion_map(targets, sets.front())), file);
    HeatMapGrid grid{.title = "Confusion of the classes", .columns = sets.size()};
    for (const EvaluatedSet& set : sets) grid.maps.push_back(confusion_map(targets, set));
    return picture_file(draw(grid), file);
  }
  HtmlReport page({.title = "Evaluation of " + trained.checkpoint.string(),
                   .subtitle = "position " + trained.settings.position.scheme,
                   .footer = this_program().footer()});
  page.section("Figures");
  page.table(figures_table(sets));
  for (const EvaluatedSet& set : sets) {
    page.section(set.set.name);
    if (!set.confusion.empty()) page.chart(confusion_map(targets, set));
    if (!set.counts.empty()) page.table(class_table(targets, set), "classes");
    if (!set.mistakes.empty()) page.table(mistakes_table(targets, set), "worst errors");
  }
  return page.html();
}

void print_mistakes(const Targets& targets, const EvaluatedSet& evaluated, EvaluationText& text) {
  if (evaluated.mistakes.empty()) return;
  text.line("");
  text.line(fmt::format("{}: {}", evaluated.set.name,
                        targets.is_regression() ? "farthest from their score" : "surest mistakes"));
  for (const Mistake& mistake : evaluated.mistakes) {
    const LabelledText& example = evaluated.set.source.examples[mistake.example];
    const std::string sure =
        targets.is_regression() ? "" : fmt::format(" ({:.1f} %)", 100 * mistake.weight);
    text.line(clean_line(
        fmt::format("  {}{}, is {}: {}",
                    prediction_text(targets.classes, evaluated.predictions[mistake.example]), sure,
                    label_text(targets, example), example.first)));
    if (evaluated.set.source.pairs) text.line("      " + clean_line(example.second));
  }
}

nlohmann::ordered_json to_json(const TrainedClassifier& trained, const Targets& targets,
                               const std::string& data, const std::vector<EvaluatedSet>& sets) {
  nlohmann::ordered_json object = {{"model", trained.checkpoint.string()},
                                   {"data", data},
                                   {"evaluations", nlohmann::ordered_json::array()}};
  if (const auto changed = overrides_json(trained); !changed.empty()) object["overrides"] = changed;
  for (const EvaluatedSet& evaluated : sets) {
    object["evaluations"].push_back(to_json(targets, evaluated));
  }
  return object;
}

void print(const TrainedClassifier& trained, const Targets& targets, const std::string& data,
           const std::vector<EvaluatedSet>& sets, const std::string& against,
           EvaluationText& text) {
  text.line(clean_line(fmt::format(
      "{} on {}, position {}, length {}{}", trained.checkpoint.string(), data,
      trained.settings.position.scheme, trained.settings.data.length, with_overrides(trained))));
  text.line("");
  text.table(figures_table(sets));
  for (const EvaluatedSet& evaluated : sets) print_classes(targets, evaluated, text);
  for (const EvaluatedSet& evaluated : sets) {
    if (!evaluated.against) continue;
    text.line("");
    text.paragraph(
        fmt::format("{}: {}", evaluated.set.name, comparison_text(*evaluated.against, against)));
  }
  for (const EvaluatedSet& evaluated : sets) print_mistakes(targets, evaluated, text);
}

// The run's settings for its own data, or for those that the user names: a GLUE folder, or a file
// of labelled texts, all of which are evaluated.
Settings settings_for(const TrainedClassifier& trained, const std::string& given) {
  Settings settings = trained.settings;
  const auto found = [](const std::filesystem::path& path) { return path; };
  if (settings.task == TaskKind::glue) {
    settings.data.directory = open_stored(given, trained.settings, found);
  } else if (!given.empty()) {
    settings.data.validation = given;
  } else {
    for (const std::filesystem::path* file : {&settings.data.train, &settings.data.validation}) {
      const bool needed =
          file == &settings.data.train ? settings.data.validation.empty() : !file->empty();
      if (!needed || (!file->empty() && is_present(*file))) continue;
      throw_failure(file->string(), "the data that the run was trained on are not there",
                    "name a labelled file: --data FILE");
    }
  }
  return settings;
}

}  // namespace

EvaluationResult evaluate_classifier(OpenedRun run, const EvaluationRequest& request) {
  const TrainedClassifier trained(std::move(run));
  const Settings settings = settings_for(trained, request.data);
  const Targets targets = targets_of(settings);
  std::optional<TrainedClassifier> other;  // opened before the computation starts
  if (!request.against.empty()) other.emplace(open_other(settings, targets, request));
  prepare_threads(settings.threads);  // the other run sets the plan to its own
  warn_of_short_start(trained);
  std::vector<EvaluatedSet> sets;
  for (EncodedSet& set : load_validation_sets(settings, *trained.tokenizer)) {
    sets.push_back(evaluate_set(trained, targets, std::move(set), request.errors));
    if (other) sets.back().against = compare_with(*other, targets, sets.back());
  }
  const std::filesystem::path& data = settings.task == TaskKind::glue    ? settings.data.directory
                                      : settings.data.validation.empty() ? settings.data.train
                                                                         : settings.data.validation;
  if (request.text != nullptr) {
    print(trained, targets, data.string(), sets, request.against, *request.text);
  }
  EvaluationResult result{.json = to_json(trained, targets, data.string(), sets)};
  if (!request.chart.empty()) {
    result.write_files = [page = chart_file(request.chart, trained, targets, sets),
                          file = request.chart] {
      write_file_atomically(InnerPath::named(file), page);
      log::info("chart: {}", file);
    };
  }
  return result;
}

}  // namespace roformer
