#include "data/embedding_examples.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/as_number.h"
#include "base/blank.h"
#include "base/error.h"
#include "base/few_of.h"
#include "base/parts.h"
#include "base/printable.h"
#include "base/random.h"
#include "base/text_hash.h"
#include "config/embedding_scores.h"
#include "data/table_reader.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr double kUsualFraction = 0.1;

// Gives equal texts the same number.
class TextNumbers {
 public:
  explicit TextNumbers(std::vector<std::string>& texts) : texts_(texts) {}

  std::int64_t operator()(std::string text) {
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    const auto number = std::ssize(texts_);
    numbers_.emplace(text, number);
    texts_.push_back(std::move(text));
    return number;
  }

 private:
  std::vector<std::string>& texts_;
  std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>> numbers_;
};

struct Columns {
  std::vector<std::size_t> texts;  // two or three
  std::optional<std::size_t> score;
};

std::string score_column(const EmbeddingSettings& settings) {
  return settings.score.empty() ? "score" : settings.score;
}

Columns find_columns(const TableReader& table, const EmbeddingSettings& settings,
                     ScoresOfFile scores) {
  Columns columns{.texts = embedding_text_columns(table, settings)};
  const std::string name = score_column(settings);
  const bool read =
      scores == ScoresOfFile::needed || (scores == ScoresOfFile::if_there && table.has(name));
  if (read) columns.score = table.column(name, "embedding.score");
  return columns;
}

double parse_score(const std::string& text, const std::string& location) {
  const std::optional<double> score = as_number<double>(trimmed(text, " \t"));
  if (score && std::isfinite(*score)) return *score;
  throw_failure(location, fmt::format("the score is {}, wanted a number", printable(text)));
}

// The hash of a text as a share from 0 to 1.
bool is_held_out(const std::string& text, double fraction) {
  const double share =
      static_cast<double>(mix(XXH3_64bits(text.data(), text.size())) >> 11) * 0x1.0p-53;
  return share < fraction;
}

EmbeddingExamples part_of(const EmbeddingExamples& whole, bool held_out, double fraction) {
  EmbeddingExamples part{
      .triplets = whole.triplets, .scored = whole.scored, .ignores_scores = whole.ignores_scores};
  TextNumbers number(part.texts);
  const auto text = [&](std::int64_t i) { return whole.texts[static_cast<std::size_t>(i)]; };
  for (const EmbeddingExample& example : whole.examples) {
    if (is_held_out(text(example.first), fraction) != held_out) continue;
    const std::int64_t first = number(text(example.first)), second = number(text(example.second));
    part.examples.push_back({.first = first,
                             .second = second,
                             .negative = whole.triplets ? number(text(example.negative)) : -1,
                             .score = example.score});
  }
  return part;
}

}  // namespace

std::vector<std::string> usual_embedding_names(const EmbeddingSettings& settings) {
  if (!settings.text.empty()) return settings.text;
  return {"sentence1", "sentence2", "anchor", "positive"};
}

std::vector<std::size_t> embedding_text_columns(const TableReader& table,
                                                const EmbeddingSettings& settings,
                                                std::size_t most) {
  constexpr const char* kKey = "embedding.text";
  std::vector<std::string> names = settings.text;
  if (names.empty()) {
    if (table.has("sentence1") && table.has("sentence2")) {
      names = {"sentence1", "sentence2"};
    } else if (table.has("anchor") && table.has("positive")) {
      names = {"anchor", "positive"};
      if (table.has("negative") && settings.loss == EmbeddingLoss::in_batch) {
        names.push_back("negative");
      }
    } else {
      constexpr std::size_t kFew = 8;
      throw_usage(kKey,
                  table.file() + " has neither sentence1 and sentence2 nor anchor and positive",
                  fmt::format("name the columns of the two texts: --embedding.text [A,B]; its "
                              "columns: {}",
                              clean_line(few_of(table.names(), kFew))));
    }
  }
  if (names.size() < 2 || names.size() > 3) {
    throw_usage(kKey,
                fmt::format("got {} {}", names.size() == 1 ? "one column," : "the columns",
                            clean_line(few_of(names))),
                "two for pairs, three for triplets: --embedding.text [A,B]");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::count(names, names[i]) == 1) continue;
    throw_usage(kKey, fmt::format("names the column {} twice", printable(names[i])));
  }
  if (names.size() == 3 && settings.loss == EmbeddingLoss::cosine) {
    throw_usage(kKey, "names three columns, and embedding.loss cosine compares two texts",
                "leave out the third, or --embedding.loss in_batch");
  }
  names.resize(std::min(names.size(), most));
  std::vector<std::size_t> columns;
  for (const std::string& name : names) columns.push_back(table.column(name, kKey));
  return columns;
}

EmbeddingExamples read_embedding_examples(const fs::path& file, const Settings& settings,
                                          ScoresOfFile scores) {
  TableReader table(file, {.header = settings.data.header});
  const Columns columns = find_columns(table, settings.embedding, scores);
  EmbeddingExamples result{.triplets = columns.texts.size() == 3,
                           .scored = columns.score.has_value()};
  result.ignores_scores = !result.scored && table.has(score_column(settings.embedding));
  TextNumbers number(result.texts);
  while (table.next()) {
    std::vector<std::int64_t> texts;
    for (const std::size_t column : columns.texts) {
      std::string text = table.text(column);
      if (is_blank(text)) {
        throw_failure(table.location(),
                      fmt::format("{} is empty", printable(table.names()[column])));
      }
      texts.push_back(number(std::move(text)));
    }
    EmbeddingExample& example =
        result.examples.emplace_back(EmbeddingExample{.first = texts[0], .second = texts[1]});
    if (result.triplets) example.negative = texts[2];
    if (columns.score) example.score = parse_score(table.text(*columns.score), table.location());
  }
  table.lines().warn_of_replaced();
  if (result.examples.empty()) throw_failure(file.string(), "has no examples");
  return result;
}

double embedding_validation_fraction(const Settings& settings) {
  const double fraction = settings.data.validation_fraction;
  return fraction > 0 ? fraction : kUsualFraction;
}

EmbeddingExamples read_embedding_split(const Settings& settings, Split split) {
  const bool held_out = split != Split::train, scores = validates_by_scores(settings.embedding);
  const bool divided = settings.data.validation.empty();
  // in_batch learns from no scores.
  const bool needs_scores =
      scores && (held_out || settings.embedding.loss == EmbeddingLoss::cosine);
  const fs::path& file = held_out && !divided ? settings.data.validation : settings.data.train;
  EmbeddingExamples whole = read_embedding_examples(
      file, settings, needs_scores ? ScoresOfFile::needed : ScoresOfFile::not_read);
  if (!divided) return whole;
  const double fraction = embedding_validation_fraction(settings);
  EmbeddingExamples part = part_of(whole, held_out, fraction);
  if (part.examples.empty()) {
    throw_failure(
        file.string(),
        fmt::format("none of its {} examples is for {}, with data.validation_fraction {}",
                    whole.examples.size(), held_out ? "validation" : "training", fraction),
        "another fraction, or --data.validation FILE");
  }
  return part;
}

double score_scale(const EmbeddingExamples& examples, const std::string& file) {
  const auto [low, high] = std::ranges::minmax(examples.examples, {}, &EmbeddingExample::score);
  if (high.score <= 1 && low.score >= -1) return 1;
  if (low.score >= 0) return high.score;
  throw_usage("embedding.score",
              fmt::format("{} has scores from {} to {}, but a cosine lies between -1 and 1", file,
                          low.score, high.score),
              "scores from -1 to 1, or from 0 to any number");
}

}  // namespace roformer
