#include "cli/matching_commands.h"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "metrics/statistics.h"
#include "report/table.h"
#include "runs/answer_comparison.h"
#include "runs/matching_evaluation.h"
#include "runs/stored_data.h"
#include "runs/untrained.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// The beginning of a text, for a line of its own.
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
                            std::size_t i) {
  const MatchingExample& example = set.source.examples[i];
  if (set.source.triplets) {
    fmt::print("  line {}: {:.3f} for the closer, {:.3f} for the farther text\n", example.line,
               evaluation.scores[2 * i], evaluation.scores[2 * i + 1]);
  } else {
    fmt::print("  line {}: {:.3f}, {}\n", example.line, evaluation.scores[i],
               example.matches ? "is a match" : "is none");
  }
  fmt::print("      A       {}\n      {}  {}\n", first_words(example.anchor),
             set.source.triplets ? "closer" : "B     ", first_words(example.closer));
  if (set.source.triplets) fmt::print("      farther {}\n", first_words(example.farther));
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

}  // namespace

void evaluate_matcher(const TrainedClassifier& trained, const MatcherEvaluation& options) {
  Settings settings = at_length(trained.settings, options.length, "--length");
  settings.data.directory =
      open_stored(options.data, settings, [](const fs::path& folder) { return folder; });
  refuse_other_division(trained, settings.data.directory);
  warn_of_untrained_rows(trained, settings.data.length);
  warn_of_short_start(trained);
  const MatchingSet set = load_matching_set(settings, *trained.tokenizer, options.split);
  std::optional<TrainedClassifier> other;  // opened before anything is computed
  MatchingSet same;
  if (!options.against.empty()) {
    TrainedModelOptions opening = options.opening;
    opening.overrides = computing_overrides(opening.overrides);
    other.emplace(open_trained_matcher(options.against, opening));
    Settings others = at_length(other->settings, options.length, "--length of " + options.against);
    others.data.directory = settings.data.directory;
    same = load_matching_set(others, *other->tokenizer, options.split);
  }
  prepare_threads(trained.settings.threads);  // which the other has set to its own
  ProgressBar bar("comparing", static_cast<std::uint64_t>(set.texts.size() * (other ? 2 : 1)),
                  "pairs");
  bar.begin();
  const auto pairs = std::ssize(set.texts);
  const auto progress_after = [&](std::int64_t passed) {
    return [&bar, pairs, passed](std::int64_t done, std::int64_t of) {
      bar.advance_to(static_cast<std::uint64_t>(passed + pairs * done / of));
    };
  };
  const MatchingEvaluation evaluation =
      evaluate_matching(*trained.classifier, settings.matching, set, progress_after(0));
  std::optional<AnswerComparison> comparison;
  if (other) {
    prepare_threads(other->settings.threads);
    comparison = compare_answers(
        evaluation.right,
        evaluate_matching(*other->classifier, other->settings.matching, same, progress_after(pairs))
            .right);
  }
  bar.clear();
  const std::vector<std::size_t> worst =
      worst_answers(set, evaluation, static_cast<std::size_t>(options.errors));
  if (options.json) {
    nlohmann::ordered_json object = to_json(evaluation);
    object["model"] = trained.checkpoint.string();
    object["data"] = settings.data.directory.string();
    object["split"] = to_string(options.split);
    object["length"] = settings.data.length;
    if (const auto changed = overrides_json(trained); !changed.empty()) {
      object["overrides"] = changed;
    }
    if (comparison) object["against"] = to_json(*comparison);
    for (const std::size_t i : worst) {
      object["errors"].push_back(example_json(set, evaluation, i));
    }
    std::cout << object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    return;
  }
  const std::string head =
      fmt::format("{} on the {} set of {}, position {}, length {}{}", trained.checkpoint.string(),
                  to_string(options.split), settings.data.directory.string(),
                  settings.position.scheme, settings.data.length, with_overrides(trained));
  fmt::print("{}\n\n{}", clean_line(head),
             to_text(shares_table(evaluation), {.width = terminal_width()}));
  fmt::print(
      "\none standard error is {:.1f} points; loss {:.4f}; {} of {} pairs of texts were cut\n",
      100 * standard_error(evaluation.all.right, evaluation.all.examples),
      evaluation.figures.at("loss"), format_count(evaluation.cut),
      format_count(std::ssize(set.texts)));
  if (evaluation.ties > 0) {
    fmt::print("{} of {} triplets have the same score twice, which is not right\n",
               format_count(evaluation.ties), format_count(evaluation.all.examples));
  }
  if (comparison) {
    fmt::print("{}\n", wrapped(comparison_text(*comparison, options.against), terminal_width()));
  }
  if (!worst.empty()) fmt::print("\nmost wrong\n");
  for (const std::size_t i : worst) print_matching_example(set, evaluation, i);
}

void predict_matches(const TrainedClassifier& trained, const MatchPredictions& options) {
  const auto& [file, format, skip_broken, json] = options;
  const std::string name = file == "-" ? "standard input" : file;
  const MatchingSet set =
      encode_matching(trained.settings, *trained.tokenizer,
                      read_matching_file(file, text_format(format), skip_broken), name);
  const std::vector<double> scores = matching_scores(*trained.classifier, set);
  if (!json)
    fmt::print("{}\n", set.source.triplets ? "closer\tscore(A,B)\tscore(A,C)" : "match\tscore");
  std::int64_t answered = set.source.header;
  for (std::size_t i = 0; i < set.source.examples.size(); ++i) {
    // A line without an example is answered by an empty one.
    for (++answered; answered < set.source.examples[i].line; ++answered) fmt::print("\n");
    nlohmann::ordered_json object;
    if (set.source.triplets) {
      // As the file has them.
      const bool swapped = set.source.examples[i].swapped;
      const double b = scores[2 * i + (swapped ? 1 : 0)], c = scores[2 * i + (swapped ? 0 : 1)];
      const char* const closer = b > c ? "B" : b < c ? "C" : "neither";
      object = {{"closer", closer}, {"score_b", b}, {"score_c", c}};
      if (!json) fmt::print("{}\t{:.4f}\t{:.4f}\n", closer, b, c);
    } else {
      object = {{"match", scores[i] > 0}, {"score", scores[i]}};
      if (!json) fmt::print("{}\t{:.4f}\n", scores[i] > 0 ? 1 : 0, scores[i]);
    }
    if (json) fmt::print("{}\n", object.dump());
  }
}

}  // namespace roformer
