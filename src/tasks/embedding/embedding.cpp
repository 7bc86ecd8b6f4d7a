// `roformer evaluate` and `roformer predict` for the run of an embedder.
#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/progress.h"
#include "config/embedding_scores.h"
#include "metrics/agreement.h"
#include "tasks/answered_texts.h"
#include "tasks/data_record.h"
#include "tasks/embedding/embedder.h"
#include "tasks/embedding/embedding_set.h"
#include "tasks/stored_data.h"
#include "tasks/untrained.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// The number that the training divided its scores by.
double recorded_scale(const OpenedCheckpoint& trained) {
  const nlohmann::json data = recorded_data_of(trained.checkpoint);
  if (!data.is_object()) return 1;
  const nlohmann::json scale = data.value("score_scale", nlohmann::json());
  return scale.is_number() && scale > 0 ? scale.get<double>() : 1;
}

// A validation set of the run, or the examples of a file that the user names.
struct Examples {
  EmbeddingExamples examples;
  std::string name;
};

Examples examples_to_measure(const OpenedCheckpoint& trained, const std::string& file) {
  Settings settings = trained.settings;
  if (!file.empty()) {
    const nlohmann::json data = recorded_data_of(trained.checkpoint);
    if (data.is_object() && is_present(file) &&
        data.value("fingerprint", "") == file_fingerprint(file)) {
      log::warn("{}: is the file that the run was trained on", file);
    }
    return {read_embedding_examples(file, settings, ScoresOfFile::if_there), file};
  }
  const bool divided = settings.data.validation.empty();
  const fs::path& own = divided ? settings.data.train : settings.data.validation;
  if (own.empty()) {
    throw_usage("--data", "is not given, and the run was trained on no file", "--data FILE");
  }
  if (!is_present(own)) {
    throw_failure(own.string(), "the data of the run are not there",
                  "say where they are: --data FILE");
  }
  return {read_embedding_split(settings, Split::validation),
          divided ? own.string() + " (validation)" : own.string()};
}

// A set with the vectors and figures of one model.
struct Measured {
  EmbeddingSet set;
  std::vector<double> cosines;
  std::vector<std::int64_t> ranks;
  std::map<std::string, double> figures;
};

// `scale`: of the scores that the loss learned.
Measured measure(const TrainedEmbedder& trained, const Settings& settings, const Examples& given,
                 double scale, const std::string& title) {
  prepare_threads(trained.settings.threads);
  Measured result{
      .set = encode_embedding_set(settings, *trained.tokenizer, given.examples, given.name)};
  const at::Tensor vectors = predict_with_bar(*trained.model, result.set.texts, title, "texts");
  result.cosines = cosines_of(example_vectors(result.set, vectors));
  result.figures = embedding_figures(settings, result.set, vectors, scale);
  // The loss of a run that learned no scores says nothing about pairs with scores, and vice versa.
  if (result.set.source.scored != validates_by_scores(settings.embedding)) {
    result.figures.erase("loss");
  }
  if (!result.set.source.scored) {
    result.ranks = partner_ranks(result.set, vectors);
    result.figures["mean_reciprocal_rank"] = mean_reciprocal_rank(result.ranks);
  }
  return result;
}

// The examples that the model is most wrong about: the partner is found late, or the cosine's rank
// is far from the score's.
std::vector<std::size_t> worst_of(const Measured& measured, std::int64_t count) {
  const std::vector<EmbeddingExample>& examples = measured.set.source.examples;
  std::vector<double> wrong(examples.size());
  if (measured.set.source.scored) {
    std::vector<double> scores;
    for (const EmbeddingExample& example : examples) scores.push_back(example.score);
    const std::vector<double> a = average_ranks(measured.cosines), b = average_ranks(scores);
    for (std::size_t i = 0; i < wrong.size(); ++i) wrong[i] = std::abs(a[i] - b[i]);
  } else {
    for (std::size_t i = 0; i < wrong.size(); ++i) {
      wrong[i] = static_cast<double>(measured.ranks[i] - 1);
    }
  }
  std::vector<std::size_t> order(examples.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return wrong[i]; });
  std::erase_if(order, [&](std::size_t i) { return wrong[i] == 0; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  return order;
}

const std::string& text_of(const Measured& measured, std::int64_t text) {
  return measured.set.source.texts[static_cast<std::size_t>(text)];
}

nlohmann::ordered_json example_json(const Measured& measured, std::size_t i) {
  const EmbeddingExample& example = measured.set.source.examples[i];
  nlohmann::ordered_json object = {{"cosine", measured.cosines[i]}};
  if (measured.set.source.scored) {
    object["score"] = example.score;
  } else {
    object["rank"] = measured.ranks[i];
  }
  object["first"] = text_of(measured, example.first);
  object["second"] = text_of(measured, example.second);
  return object;
}

void print_example(const Measured& measured, std::size_t i, EvaluationText& text) {
  const EmbeddingExample& example = measured.set.source.examples[i];
  text.line(fmt::format("  cosine {:.3f}, {}: {}", measured.cosines[i],
                        measured.set.source.scored
                            ? fmt::format("score {}", example.score)
                            : fmt::format("partner at rank {}", measured.ranks[i]),
                        clean_line(text_of(measured, example.first))));
  text.line("      " + clean_line(text_of(measured, example.second)));
}

Table figures_table(const std::vector<std::pair<std::string, const Measured*>>& models) {
  std::vector<Column> columns{{.title = "run", .alignment = Column::Alignment::left},
                              {.title = "examples", .format = {NumberFormat::Style::count, 0}}};
  const auto is_shown = [](const std::string& name) { return name != "collapsed"; };
  for (const auto& [name, value] : models.front().second->figures) {
    if (is_shown(name)) columns.push_back(figure_column(name));
  }
  Table table(columns);
  for (const auto& [model, measured] : models) {
    std::vector<Cell> cells{model, std::ssize(measured->set.source.examples)};
    for (const auto& [name, value] : measured->figures) {
      if (is_shown(name)) cells.emplace_back(value);
    }
    table.add_row(std::move(cells));
  }
  return table;
}

std::vector<bool> found_first(const Measured& measured) {
  std::vector<bool> right;
  for (const std::int64_t rank : measured.ranks) right.push_back(rank == 1);
  return right;
}

Settings at_given_length(Settings settings, const EvaluationRequest& request) {
  if (request.lengths.empty()) return settings;
  if (request.lengths.size() > 1) {
    throw_usage("--length", "is one number for the run of a text embedder");
  }
  constexpr std::int64_t kLeast = 3;  // [CLS], a token and [SEP]
  const std::int64_t length = request.lengths.front();
  if (length < kLeast) {
    throw_usage("--length", fmt::format("{} leaves no token beside [CLS] and [SEP]", length),
                "3 at least");
  }
  require_positions(settings, "--length", length);
  settings.data.length = length;
  return settings;
}

// The cosines of pairs of texts. Adds to `cut` how many texts were cut.
std::vector<double> cosines_of_pairs(const TrainedEmbedder& trained,
                                     const std::vector<GivenText>& pairs, std::int64_t& cut) {
  EmbeddingSet set;
  const auto add = [&](const std::string& text) {
    set.texts.push_back(encode_text(*trained.tokenizer, text, {}, trained.settings.data.length));
    cut += set.texts.back().cut ? 1 : 0;
    return std::ssize(set.texts) - 1;
  };
  for (const GivenText& pair : pairs) {
    const std::int64_t first = add(pair.first), second = add(*pair.second);
    set.source.examples.push_back({.first = first, .second = second});
  }
  return cosines_of(example_vectors(set, trained.model->predict(set.texts)));
}

}  // namespace

EvaluationResult evaluate_embedder(OpenedRun run, const EvaluationRequest& request) {
  const TrainedEmbedder trained(std::move(run));
  const Settings settings = at_given_length(trained.settings, request);
  const Examples given = examples_to_measure(trained, request.data);
  warn_of_untrained_rows(trained, settings.data.length);
  warn_of_short_start(trained);
  std::optional<TrainedEmbedder> other;  // opened before anything is computed
  if (!request.against.empty()) other.emplace(request.open_other());
  const double scale = recorded_scale(trained);
  const Measured own = measure(trained, settings, given, scale, "embedding");
  std::optional<Measured> theirs;
  if (other) {
    // The same examples and figures, in the other run's length.
    Settings others = at_given_length(other->settings, request);
    others.embedding = settings.embedding;
    others.training.batch = settings.training.batch;
    theirs = measure(*other, others, given, scale, "embedding, " + request.against);
  }
  std::optional<AnswerComparison> comparison;
  if (theirs && !own.set.source.scored) {
    comparison = compare_answers(found_first(own), found_first(*theirs));
  }
  const std::vector<std::size_t> worst = worst_of(own, request.errors);

  nlohmann::ordered_json json = {{"model", trained.checkpoint.string()},
                                 {"data", given.name},
                                 {"length", settings.data.length},
                                 {"examples", std::ssize(own.set.source.examples)},
                                 {"figures", own.figures},
                                 {"cut", own.set.cut}};
  if (const auto changed = overrides_json(trained); !changed.empty()) json["overrides"] = changed;
  if (theirs) {
    json["against"] = {{"figures", theirs->figures}};
    if (comparison) json["against"].update(to_json(*comparison));
  }
  for (const std::size_t i : worst) json["errors"].push_back(example_json(own, i));

  if (request.text != nullptr) {
    EvaluationText& text = *request.text;
    text.line(clean_line(
        fmt::format("{} on {}, position {}, length {}{}", trained.checkpoint.string(), given.name,
                    settings.position.scheme, settings.data.length, with_overrides(trained))));
    text.line("");
    std::vector<std::pair<std::string, const Measured*>> models = {{"this", &own}};
    if (theirs) models.emplace_back(clean_line(request.against), &*theirs);
    text.table(figures_table(models));
    if (comparison) {
      text.line("");
      text.paragraph(comparison_text(*comparison, request.against));
    }
    if (!worst.empty()) {
      text.line("");
      text.line(own.set.source.scored ? "cosine and score farthest apart in rank"
                                      : "partners found last");
      for (const std::size_t i : worst) print_example(own, i, text);
    }
  }
  return {.json = std::move(json)};
}

void predict_cosines(OpenedRun run, const PredictionRequest& request) {
  const TrainedEmbedder trained(std::move(run));
  const EmbeddingSettings& settings = trained.settings.embedding;
  constexpr const char* kCosine = "cosine";
  const TextQuestions questions{
      .columns = {kCosine},
      .usual_names = usual_embedding_names(settings),
      .pair = {"sentence1", "sentence2"},
      .find_columns =
          [&](const TableReader& table) {
            const std::vector<std::size_t> columns = embedding_text_columns(table, settings, 2);
            return TextColumns{.first = columns[0], .second = columns[1]};
          },
      .answer =
          [&](const std::vector<GivenText>& pairs, std::int64_t& cut) {
            std::vector<TextAnswer> answers;
            for (const double cosine : cosines_of_pairs(trained, pairs, cut)) {
              answers.push_back({{fmt::format("{:.4f}", cosine)}, {{kCosine, cosine}}});
            }
            return answers;
          }};
  answer_texts(questions, trained.settings, request);
}

}  // namespace roformer
