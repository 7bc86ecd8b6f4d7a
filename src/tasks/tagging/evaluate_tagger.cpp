// `roformer evaluate` for a run of the task tagging: the figures of labelled sentences by type of
// entity, and the sentences with the surest mistakes.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/progress.h"
#include "tasks/evaluation.h"
#include "tasks/stored_data.h"
#include "tasks/tagging/tagging_figures.h"
#include "tasks/tagging/tagging_task.h"
#include "tasks/untrained.h"

namespace roformer {
namespace {

struct Evaluated {
  TaggingFigures figures;
  PredictedTags predicted;
  std::vector<std::vector<std::string>> tags;  // predicted, of each sentence
  std::vector<bool> right;                     // whether all tags of a sentence are
};

// A sentence with a wrong tag.
struct WrongSentence {
  std::size_t sentence = 0;
  double probability = 0;  // of its surest wrong tag
};

TaggedSet open_set(const EvaluationRequest& request, const Settings& settings) {
  if (!request.data.empty()) return read_tagged_set(request.data, settings);
  const std::filesystem::path& file =
      settings.data.validation.empty() ? settings.data.train : settings.data.validation;
  if (file.empty() || !is_present(file)) {
    throw_failure(file.string(), "the sentences that the run was validated on are not there",
                  "say where they are: --data FILE");
  }
  return read_validation_set(settings);
}

Evaluated evaluate(const TrainedTagger& trained, const TaggedSet& set) {
  const Settings& settings = trained.settings;
  const WordEncoder encoder(*trained.tokenizer, settings.data.length);
  const std::vector<WordWindow> windows = windows_of(set.sentences, encoder);
  const at::Tensor outputs =
      predict_with_bar(*trained.model, windows, "tagging " + set.file, "sentences");
  const std::vector<std::string>& classes = settings.tagging.classes;
  Evaluated result{.figures = tagging_figures(outputs, set.sentences, classes,
                                              entity_rule(tagging_scheme(settings))),
                   .predicted = predicted_tags(outputs)};
  result.tags = tags_by_sentence(result.predicted, set.sentences, classes);
  for (std::size_t i = 0; i < set.sentences.size(); ++i) {
    result.right.push_back(result.tags[i] == set.sentences[i].tags);
  }
  return result;
}

std::vector<WrongSentence> surest_mistakes(const TaggedSet& set, const Evaluated& evaluated,
                                           std::int64_t count) {
  std::vector<WrongSentence> wrong;
  std::size_t word = 0;
  for (std::size_t i = 0; i < set.sentences.size(); ++i) {
    WrongSentence mistake{.sentence = i};
    for (std::size_t j = 0; j < set.sentences[i].tags.size(); ++j, ++word) {
      if (evaluated.tags[i][j] == set.sentences[i].tags[j]) continue;
      mistake.probability = std::max(mistake.probability, evaluated.predicted.probabilities[word]);
    }
    if (!evaluated.right[i]) wrong.push_back(mistake);
  }
  std::ranges::stable_sort(wrong, std::ranges::greater{}, &WrongSentence::probability);
  wrong.resize(std::min(wrong.size(), static_cast<std::size_t>(count)));
  return wrong;
}

// The other run's answers. McNemar's test takes whole sentences, because the tags of a sentence
// depend on each other.
AnswerComparison compare_with_other(const TaggedSet& set, const Evaluated& evaluated,
                                    const TrainedTagger& trained,
                                    const EvaluationRequest& request) {
  const TrainedTagger other(request.open_other());
  std::vector<std::string> ours = trained.settings.tagging.classes,
                           theirs = other.settings.tagging.classes;
  std::ranges::sort(ours);
  std::ranges::sort(theirs);
  if (ours != theirs) {
    throw_usage("--against", request.against + " has other tags than the run");
  }
  return compare_answers(evaluated.right, evaluate(other, set).right);
}

struct ReportRow {
  std::string name;
  PrecisionRecall figures;
  std::int64_t support = 0;
};

// The rows of seqeval's classification_report: the types, then the averages.
std::vector<ReportRow> report_types(const EntityScores& entities) {
  std::vector<ReportRow> rows;
  for (const auto& [type, counts] : entities.types()) {
    rows.push_back({type, counts.figures(), counts.labelled});
  }
  return rows;
}

std::vector<ReportRow> report_averages(const EntityScores& entities) {
  const EntityCounts total = entities.total();
  return {{"micro avg", total.figures(), total.labelled},
          {"macro avg", entities.macro(), total.labelled},
          {"weighted avg", entities.weighted(), total.labelled}};
}

nlohmann::ordered_json to_json(const std::vector<ReportRow>& rows) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const ReportRow& row : rows) {
    object[row.name] = {{"precision", row.figures.precision},
                        {"recall", row.figures.recall},
                        {"f1", row.figures.f1},
                        {"support", row.support}};
  }
  return object;
}

Table entity_table(const EntityScores& entities) {
  const NumberFormat percent{NumberFormat::Style::percent, 1};
  Table table({{.title = "type", .alignment = Column::Alignment::left},
               {.title = "precision", .unit = "%", .format = percent},
               {.title = "recall", .unit = "%", .format = percent},
               {.title = "F1", .unit = "%", .format = percent},
               {.title = "support", .format = {NumberFormat::Style::count, 0}}});
  std::vector<ReportRow> rows = report_types(entities);
  for (ReportRow& row : report_averages(entities)) rows.push_back(std::move(row));
  for (const ReportRow& row : rows) {
    table.add_row({clean_line(row.name), row.figures.precision, row.figures.recall, row.figures.f1,
                   row.support});
  }
  return table;
}

Table figures_table(const TaggedSet& set, const TaggingFigures& figures) {
  const NumberFormat count{NumberFormat::Style::count, 0};
  std::vector<Column> columns{{.title = "sentences", .format = count},
                              {.title = "words", .format = count}};
  std::vector<Cell> cells{static_cast<std::int64_t>(set.sentences.size()), set.words()};
  for (const char* const name : {"loss", "accuracy", "precision", "recall", "entity_f1"}) {
    columns.push_back(figure_column(name));
    cells.emplace_back(figures.values.at(name));
  }
  Table table(columns);
  table.add_row(std::move(cells));
  return table;
}

// "Press [Ctrl is B-KEY, not O] + F ."
std::string marked_sentence(const TaggedSentence& sentence, const std::vector<std::string>& tags) {
  std::string text;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (i > 0) text += ' ';
    text += tags[i] == sentence.tags[i]
                ? sentence.words[i]
                : fmt::format("[{} is {}, not {}]", sentence.words[i], sentence.tags[i], tags[i]);
  }
  return text;
}

void print(const TrainedTagger& trained, const TaggedSet& set, const Evaluated& evaluated,
           const std::vector<WrongSentence>& mistakes, EvaluationText& text) {
  text.line(clean_line(fmt::format(
      "{} on {}, position {}, length {}{}", trained.checkpoint.string(), set.file,
      trained.settings.position.scheme, trained.settings.data.length, with_overrides(trained))));
  text.line("");
  text.table(figures_table(set, evaluated.figures));
  text.line("");
  text.table(entity_table(evaluated.figures.entities));
  if (mistakes.empty()) return;
  text.line("");
  text.line(fmt::format("{} of {} sentences have a wrong tag; the surest:",
                        format_count(std::ranges::count(evaluated.right, false)),
                        format_count(std::ssize(evaluated.right))));
  for (const WrongSentence& mistake : mistakes) {
    const TaggedSentence& sentence = set.sentences[mistake.sentence];
    text.line(
        clean_line(fmt::format("  {:.1f} %, line {}: {}", 100 * mistake.probability, sentence.line,
                               marked_sentence(sentence, evaluated.tags[mistake.sentence]))));
  }
}

nlohmann::ordered_json to_json(const TrainedTagger& trained, const TaggedSet& set,
                               const Evaluated& evaluated,
                               const std::vector<WrongSentence>& mistakes) {
  nlohmann::ordered_json object = {
      {"model", trained.checkpoint.string()},
      {"data", set.file},
      {"sentences", std::ssize(set.sentences)},
      {"words", set.words()},
      {"figures", evaluated.figures.values},
      {"types", to_json(report_types(evaluated.figures.entities))},
      {"averages", to_json(report_averages(evaluated.figures.entities))}};
  if (const auto changed = overrides_json(trained); !changed.empty()) object["overrides"] = changed;
  for (const WrongSentence& mistake : mistakes) {
    const TaggedSentence& sentence = set.sentences[mistake.sentence];
    object["errors"].push_back({{"line", sentence.line},
                                {"probability", mistake.probability},
                                {"tokens", sentence.words},
                                {"tags", sentence.tags},
                                {"predicted", evaluated.tags[mistake.sentence]}});
  }
  return object;
}

}  // namespace

EvaluationResult evaluate_tagger(OpenedRun run, const EvaluationRequest& request) {
  const TrainedTagger trained(std::move(run));
  const TaggedSet set = open_set(request, trained.settings);
  warn_of_foreign_tags(set, trained.settings.tagging.classes);
  warn_of_short_start(trained);
  const Evaluated evaluated = evaluate(trained, set);
  std::optional<AnswerComparison> against;
  if (!request.against.empty()) {
    against = compare_with_other(set, evaluated, trained, request);
  }
  const std::vector<WrongSentence> mistakes = surest_mistakes(set, evaluated, request.errors);
  if (request.text != nullptr) {
    print(trained, set, evaluated, mistakes, *request.text);
    if (against) {
      request.text->line("");
      request.text->paragraph("sentences with all tags right, " +
                              comparison_text(*against, request.against));
    }
  }
  EvaluationResult result{.json = to_json(trained, set, evaluated, mistakes)};
  if (against) result.json["against"] = to_json(*against);
  return result;
}

}  // namespace roformer
