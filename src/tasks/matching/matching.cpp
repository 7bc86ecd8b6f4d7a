// `roformer evaluate` and `roformer predict` for the run of a matcher.
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/progress.h"
#include "metrics/statistics.h"
#include "tasks/evaluation.h"
#include "tasks/matching/matching_task.h"
#include "tasks/stored_data.h"
#include "tasks/task_definition.h"
#include "tasks/untrained.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// The beginning of a text, cut to fill one line.
std::string first_words(const std::string& text, std::size_t characters = 60) {
  std::string result;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (begins && characters-- == 0) return clean_line(result) + "…";
    result += c == '\n' || c == '\t' || c == '\r' ? ' ' : c;
  }
  return clean_line(result);
}

Table shares_table(const MatchingEvaluation& evaluation) {
  const NumberFormat percent{NumberFormat::Style::percent, 1};
  Table table({{.title = "longest text", .alignment = Column::Alignment::left},
               {.title = "examples", .format = {NumberFormat::Style::count, 0}},
               {.title = "accuracy", .format = percent},
               {.title = "95 % from", .format = percent},
               {.title = "to", .format = percent}});
  const auto add = [&](const MatchingShare& share) {
    const Interval interval = share.interval();
    table.add_row({share.name, share.examples, share.accuracy(), interval.low, interval.high});
  };
  add(evaluation.all);
  for (const MatchingShare& share : evaluation.by_length) add(share);
  return table;
}

void print_matching_example(const MatchingSet& set, const MatchingEvaluation& evaluation,
                            std::size_t i, EvaluationText& text) {
  const MatchingExample& example = set.source.examples[i];
  if (set.source.triplets) {
    text.line(fmt::format("  line {}: {:.3f} for the closer, {:.3f} for the farther text",
                          example.line, evaluation.scores[2 * i], evaluation.scores[2 * i + 1]));
  } else {
    text.line(fmt::format("  line {}: {:.3f}, {}", example.line, evaluation.scores[i],
                          example.matches ? "is a match" : "is none"));
  }
  text.line("      A       " + first_words(example.anchor));
  text.line((set.source.triplets ? "      closer  " : "      B       ") +
            first_words(example.closer));
  if (set.source.triplets) text.line("      farther " + first_words(example.farther));
}

nlohmann::ordered_json example_json(const MatchingSet& set, const MatchingEvaluation& evaluation,
                                    std::size_t i) {
  const MatchingExample& example = set.source.examples[i];
  const std::vector<double>& scores = evaluation.scores;
  if (set.source.triplets) {
    return {{"line", example.line},          {"A", example.anchor},
            {"closer", example.closer},      {"farther", example.farther},
            {"score_closer", scores[2 * i]}, {"score_farther", scores[2 * i + 1]}};
  }
  return {{"line", example.line},
          {"A", example.anchor},
          {"B", example.closer},
          {"match", example.matches},
          {"score", scores[i]}};
}

Settings at_length(Settings settings, std::optional<std::int64_t> length, const std::string& what) {
  constexpr std::int64_t kLeast = 5;  // [CLS], two [SEP] and a token of each text
  if (!length) return settings;
  if (*length < kLeast) {
    throw_usage(what,
                fmt::format("{} leaves no token of two texts beside [CLS] and [SEP]", *length),
                "5 at least");
  }
  require_positions(settings, what, *length);
  settings.data.length = *length;
  return settings;
}

// A set, and how both models answered it.
struct Answered {
  const TrainedClassifier& model;
  Settings settings;  // with the requested length and data
  MatchingSet set;
  MatchingEvaluation evaluation = {};
  std::optional<AnswerComparison> comparison = {};
  std::vector<std::size_t> worst = {};
};

std::optional<std::int64_t> one_length(const std::vector<std::int64_t>& lengths) {
  if (lengths.size() > 1) throw_usage("--length", "is one number for the run of a matcher");
  return lengths.empty() ? std::nullopt : std::optional(lengths.front());
}

nlohmann::ordered_json to_json(const Answered& answered, Split split) {
  nlohmann::ordered_json object = to_json(answered.evaluation);
  object["model"] = answered.model.checkpoint.string();
  object["data"] = answered.settings.data.directory.string();
  object["split"] = to_string(split);
  object["length"] = answered.settings.data.length;
  if (const auto changed = overrides_json(answered.model); !changed.empty()) {
    object["overrides"] = changed;
  }
  if (answered.comparison) object["against"] = to_json(*answered.comparison);
  for (const std::size_t i : answered.worst) {
    object["errors"].push_back(example_json(answered.set, answered.evaluation, i));
  }
  return object;
}

void print(const Answered& answered, const EvaluationRequest& request, EvaluationText& text) {
  const auto& [model, settings, set, evaluation, comparison, worst] = answered;
  text.line(clean_line(fmt::format("{} on the {} set of {}, position {}, length {}{}",
                                   model.checkpoint.string(), to_string(request.split),
                                   settings.data.directory.string(), settings.position.scheme,
                                   settings.data.length, with_overrides(model))));
  text.line("");
  text.table(shares_table(evaluation));
  text.line("");
  text.line(fmt::format(
      "one standard error is {:.1f} points; loss {:.4f}; {} of {} pairs of texts were cut",
      100 * standard_error(evaluation.all.right, evaluation.all.examples),
      evaluation.figures.at("loss"), format_count(evaluation.cut),
      format_count(std::ssize(set.texts))));
  if (evaluation.ties > 0) {
    text.line(fmt::format("{} of {} triplets have a tied score, which counts as wrong",
                          format_count(evaluation.ties), format_count(evaluation.all.examples)));
  }
  if (comparison) text.paragraph(comparison_text(*comparison, request.against));
  if (worst.empty()) return;
  text.line("");
  text.line("most wrong");
  for (const std::size_t i : worst) print_matching_example(set, evaluation, i, text);
}

EvaluationResult evaluate_matcher(OpenedRun run, const EvaluationRequest& request) {
  const TrainedClassifier trained(std::move(run));
  const std::optional<std::int64_t> length = one_length(request.lengths);
  Answered answered{.model = trained, .settings = at_length(trained.settings, length, "--length")};
  Settings& settings = answered.settings;
  settings.data.directory =
      open_stored(request.data, settings, [](const fs::path& folder) { return folder; });
  refuse_other_division(trained, settings.data.directory);
  warn_of_untrained_rows(trained, settings.data.length);
  warn_of_short_start(trained);
  answered.set = load_matching_set(settings, *trained.tokenizer, request.split);
  std::optional<TrainedClassifier> other;  // opened before anything is computed
  MatchingSet same;
  if (!request.against.empty()) {
    other.emplace(request.open_other());
    Settings others = at_length(other->settings, length, "--length of " + request.against);
    others.data.directory = settings.data.directory;
    same = load_matching_set(others, *other->tokenizer, request.split);
  }
  prepare_threads(trained.settings.threads);  // which the other has set to its own
  const auto pairs = std::ssize(answered.set.texts);
  ProgressBar bar("comparing", static_cast<std::uint64_t>(pairs * (other ? 2 : 1)), "pairs");
  bar.begin();
  const auto progress_after = [&](std::int64_t passed) {
    return [&bar, pairs, passed](std::int64_t done, std::int64_t of) {
      bar.advance_to(static_cast<std::uint64_t>(passed + pairs * done / of));
    };
  };
  answered.evaluation =
      evaluate_matching(*trained.model, settings.matching, answered.set, progress_after(0));
  if (other) {
    prepare_threads(other->settings.threads);
    answered.comparison = compare_answers(
        answered.evaluation.right,
        evaluate_matching(*other->model, other->settings.matching, same, progress_after(pairs))
            .right);
  }
  bar.clear();
  answered.worst =
      worst_answers(answered.set, answered.evaluation, static_cast<std::size_t>(request.errors));
  if (request.text != nullptr) print(answered, request, *request.text);
  return {.json = to_json(answered, request.split)};
}

// Reads triplets or pairs, with or without labels, and writes one line for each line of the file.
void predict_matches(OpenedRun run, const PredictionRequest& request) {
  const TrainedClassifier trained(std::move(run));
  const bool json = request.json;
  const std::string name = request.file == "-" ? "standard input" : request.file;
  const MatchingSet set = encode_matching(
      trained.settings, *trained.tokenizer,
      read_matching_file(request.file, text_format(request.format), request.skip_broken), name);
  const std::vector<double> scores = matching_scores(*trained.model, set);
  std::string answers;
  if (!json) answers = set.source.triplets ? "closer\tscore(A,B)\tscore(A,C)\n" : "match\tscore\n";
  std::int64_t answered = set.source.header;
  for (std::size_t i = 0; i < set.source.examples.size(); ++i) {
    // A line without an example gets an empty line as its answer.
    for (++answered; answered < set.source.examples[i].line; ++answered) answers += '\n';
    nlohmann::ordered_json object;
    if (set.source.triplets) {
      // The fields as the file names them.
      const bool swapped = set.source.examples[i].swapped;
      const double b = scores[2 * i + (swapped ? 1 : 0)], c = scores[2 * i + (swapped ? 0 : 1)];
      const char* const closer = b > c ? "B" : b < c ? "C" : "neither";
      object = {{"closer", closer}, {"score_b", b}, {"score_c", c}};
      if (!json) answers += fmt::format("{}\t{:.4f}\t{:.4f}\n", closer, b, c);
    } else {
      object = {{"match", scores[i] > 0}, {"score", scores[i]}};
      if (!json) answers += fmt::format("{}\t{:.4f}\n", scores[i] > 0 ? 1 : 0, scores[i]);
    }
    if (json) answers += object.dump() + '\n';
  }
  request.print(answers);
}

}  // namespace

TaskDefinition define_matching() {
  return {.task = TaskKind::matching,
          .noun = "matcher",
          .open = open_matching_task,
          .data_record = matching_data_record,
          .make_model = [](const Settings& settings, const TranslationVocabularies& vocabularies,
                           const ComputePlan& plan) -> std::unique_ptr<TaskModel> {
            return std::make_unique<Classifier>(settings, vocabularies.source,
                                                matching_shape(settings.matching), plan);
          },
          .evaluate_flags = {"--data", "--split", "--length", "--errors", "--against"},
          .evaluate = evaluate_matcher,
          .predict = predict_matches};
}

}  // namespace roformer
