#include "tasks/embedding/embedding_set.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

#include "metrics/agreement.h"
#include "tasks/embedding/embedder.h"
#include "tasks/example_training.h"
#include "tasks/task_model.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

// Rows of cosines that are in memory at once.
constexpr std::int64_t kRankedAtOnce = 512;

// The rows of the texts that `text` names, one for each example.
template <class Text>
at::Tensor rows_of(const EmbeddingSet& set, const at::Tensor& vectors, Text text) {
  std::vector<std::int64_t> rows;
  for (const EmbeddingExample& example : set.source.examples) rows.push_back(text(example));
  return vectors.index_select(0, copy_to(rows, at::kCPU));
}

// Mean over the examples of the loss of groups of consecutive examples.
double mean_loss(const Settings& settings, const EmbeddingSet& set, const ExampleVectors& vectors,
                 double scale) {
  const std::span<const EmbeddingExample> all(set.source.examples);
  const std::int64_t batch = settings.training.batch;
  double sum = 0;
  for (std::int64_t begin = 0; begin < std::ssize(all); begin += batch) {
    const std::int64_t count = std::min(batch, std::ssize(all) - begin);
    const auto part = [&](const at::Tensor& rows) {
      return rows.defined() ? rows.narrow(0, begin, count) : at::Tensor();
    };
    const ExampleVectors group{.first = part(vectors.first),
                               .second = part(vectors.second),
                               .negative = part(vectors.negative)};
    sum += embedding_loss_sum(
               settings.embedding,
               all.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)), group,
               scale)
               .item<double>();
  }
  return sum / static_cast<double>(all.size());
}

// The texts that are candidates of a search, each once, and the place of a text among them.
struct Candidates {
  std::vector<std::int64_t> texts;
  std::vector<std::int64_t> place;  // [texts of the set]; -1: no candidate

  explicit Candidates(const EmbeddingSet& set) : place(set.texts.size(), -1) {
    const auto add = [&](std::int64_t text) {
      std::int64_t& at = place[static_cast<std::size_t>(text)];
      if (at >= 0) return;
      at = std::ssize(texts);
      texts.push_back(text);
    };
    for (const EmbeddingExample& example : set.source.examples) {
      add(example.second);
      if (set.source.triplets) add(example.negative);
    }
  }
};

}  // namespace

EmbeddingSet encode_embedding_set(const Settings& settings, const Tokenizer& tokenizer,
                                  EmbeddingExamples examples, const std::string& name) {
  EmbeddingSet set{.source = std::move(examples)};
  for (const std::string& text : set.source.texts) {
    set.texts.push_back(encode_text(tokenizer, text, {}, settings.data.length));
  }
  warn_of_unknown(set.texts, name, tokenizer);
  set.cut = warn_of_cut(set.texts, name, "texts", settings.data.length);
  return set;
}

ExampleVectors example_vectors(const EmbeddingSet& set, const at::Tensor& vectors) {
  ExampleVectors result{
      .first = rows_of(set, vectors, [](const EmbeddingExample& one) { return one.first; }),
      .second = rows_of(set, vectors, [](const EmbeddingExample& one) { return one.second; })};
  if (set.source.triplets) {
    result.negative =
        rows_of(set, vectors, [](const EmbeddingExample& one) { return one.negative; });
  }
  return result;
}

std::vector<double> cosines_of(const ExampleVectors& vectors) {
  const at::Tensor cosines = example_cosines(vectors).to(at::kDouble).contiguous();
  const double* const values = cosines.const_data_ptr<double>();
  return {values, values + cosines.numel()};
}

std::vector<std::int64_t> partner_ranks(const EmbeddingSet& set, const at::Tensor& vectors) {
  const c10::AutoGradMode no_gradient(false);
  const std::vector<EmbeddingExample>& examples = set.source.examples;
  const Candidates candidates(set);
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> partners;  // of each first text
  for (const EmbeddingExample& example : examples) {
    partners[example.first].push_back(candidates.place[static_cast<std::size_t>(example.second)]);
  }
  const at::Tensor units = unit_rows(vectors);
  const at::Tensor columns =
      units.index_select(0, copy_to(candidates.texts, at::kCPU)).t().contiguous();
  std::vector<std::int64_t> ranks;
  for (std::int64_t begin = 0; begin < std::ssize(examples); begin += kRankedAtOnce) {
    const std::int64_t end = std::min(begin + kRankedAtOnce, std::ssize(examples));
    std::vector<std::int64_t> rows;
    for (std::int64_t i = begin; i < end; ++i) {
      rows.push_back(examples[static_cast<std::size_t>(i)].first);
    }
    at::Tensor cosines = at::mm(units.index_select(0, copy_to(rows, at::kCPU)), columns);
    float* row = cosines.mutable_data_ptr<float>();
    for (std::int64_t i = begin; i < end; ++i, row += candidates.texts.size()) {
      const EmbeddingExample& example = examples[static_cast<std::size_t>(i)];
      const float own = row[candidates.place[static_cast<std::size_t>(example.second)]];
      constexpr float kNever = -2;
      for (const std::int64_t partner : partners[example.first]) row[partner] = kNever;
      const std::int64_t itself = candidates.place[static_cast<std::size_t>(example.first)];
      if (itself >= 0) row[itself] = kNever;
      // NaN, of a model that diverged, counts as found by nothing.
      const auto before = std::count_if(row, row + candidates.texts.size(),
                                        [&](float cosine) { return !(cosine < own); });
      ranks.push_back(1 + before);
    }
  }
  return ranks;
}

double retrieval_accuracy(const std::vector<std::int64_t>& ranks) {
  return static_cast<double>(std::ranges::count(ranks, 1)) / static_cast<double>(ranks.size());
}

double mean_reciprocal_rank(const std::vector<std::int64_t>& ranks) {
  double sum = 0;
  for (const std::int64_t rank : ranks) sum += 1 / static_cast<double>(rank);
  return sum / static_cast<double>(ranks.size());
}

std::map<std::string, double> embedding_figures(const Settings& settings, const EmbeddingSet& set,
                                                const at::Tensor& vectors, double scale) {
  const c10::AutoGradMode no_gradient(false);
  const ExampleVectors rows = example_vectors(set, vectors);
  const std::vector<double> cosines = cosines_of(rows);
  const auto [low, high] = std::ranges::minmax(cosines);
  std::map<std::string, double> figures = {{"loss", mean_loss(settings, set, rows, scale)},
                                           {"collapsed", low == high ? 1.0 : 0.0}};
  if (set.source.scored) {
    std::vector<double> scores;
    for (const EmbeddingExample& example : set.source.examples) scores.push_back(example.score);
    const ScorePairs pairs{.predictions = cosines, .targets = scores};
    figures["spearman"] = spearman(pairs).value;
    figures["pearson"] = pearson(pairs).value;
  } else {
    figures["retrieval_accuracy"] = retrieval_accuracy(partner_ranks(set, vectors));
  }
  return figures;
}

}  // namespace roformer
