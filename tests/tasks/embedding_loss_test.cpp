// The losses of embeddings against sentence-transformers' (make_embedding_losses.py), and what a
// search for partners finds.
#include <ATen/ATen.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.h"
#include "catch.h"
#include "tasks/embedding/embedding_loss.h"
#include "tasks/embedding/embedding_set.h"

using namespace roformer;

namespace {

at::Tensor tensor_of(const nlohmann::json& rows) {
  std::vector<float> values;
  for (const auto& row : rows) {
    for (const auto& value : row) values.push_back(value.get<float>());
  }
  return at::tensor(values).view({static_cast<std::int64_t>(rows.size()), -1});
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

// A set whose texts 0, 1, ... are the rows of `vectors`.
EmbeddingSet set_of(std::vector<EmbeddingExample> examples, std::int64_t texts) {
  EmbeddingSet set;
  set.source.examples = std::move(examples);
  set.texts.resize(static_cast<std::size_t>(texts));
  return set;
}

}  // namespace

TEST_CASE("the losses of embeddings and their gradients are those of sentence-transformers") {
  const auto cases = nlohmann::json::parse(
      read_file(std::filesystem::path(FIXTURES) / "embedding" / "losses.json"));
  REQUIRE(cases.size() == 5);
  for (const auto& one : cases) {
    CAPTURE(one["name"].get<std::string>());
    EmbeddingSettings settings;
    settings.temperature = one.value("temperature", 1.0);
    settings.symmetric = one.value("symmetric", false);
    const bool scored = !one["scores"].empty();
    if (scored) settings.loss = EmbeddingLoss::cosine;
    std::vector<at::Tensor> leaves;
    for (const auto& rows : one["vectors"]) {
      leaves.push_back(tensor_of(rows).requires_grad_());
    }
    const std::int64_t count = leaves[0].size(0);
    std::vector<EmbeddingExample> examples;
    constexpr double kScale = 5;
    for (std::int64_t i = 0; i < count; ++i) {
      examples.push_back({.first = i, .second = count + i, .negative = 2 * count + i});
      if (scored) {
        examples.back().score = kScale * one["scores"][static_cast<std::size_t>(i)].get<double>();
      }
    }
    ExampleVectors vectors{.first = leaves[0], .second = leaves[1]};
    if (leaves.size() > 2) vectors.negative = leaves[2];
    const at::Tensor loss = embedding_loss_sum(settings, examples, vectors, kScale) / count;
    CHECK(loss.item<double>() == Approx(one["loss"].get<double>()).epsilon(1e-6));
    loss.backward();
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      CHECK(difference(leaves[i].grad(), tensor_of(one["gradients"][i])) < 2e-6);
    }
  }
}

TEST_CASE("a candidate that is the same text is no negative") {
  const at::Tensor rows = at::tensor({1.F, 0.F, 0.6F, 0.8F, 0.F, 1.F, 0.8F, 0.6F}).view({4, 2});
  const auto loss_of = [&](std::vector<EmbeddingExample> examples,
                           std::vector<std::int64_t> second) {
    std::vector<std::int64_t> first;
    for (const EmbeddingExample& one : examples) first.push_back(one.first);
    return embedding_loss_sum({}, examples,
                              {.first = rows.index_select(0, at::tensor(first)),
                               .second = rows.index_select(0, at::tensor(second))},
                              1)
        .item<double>();
  };
  const double alone = loss_of({{.first = 0, .second = 1}}, {1});
  CHECK(alone == Approx(0).margin(1e-6));
  // Twice the same pair, and a pair in both directions.
  CHECK(loss_of({{.first = 0, .second = 1}, {.first = 0, .second = 1}}, {1, 1}) ==
        Approx(0).margin(1e-6));
  CHECK(loss_of({{.first = 0, .second = 1}, {.first = 1, .second = 0}}, {1, 0}) ==
        Approx(0).margin(1e-6));
  // Other texts are: both cosines are 0.6 with the partner and 0.8 with the other one.
  CHECK(loss_of({{.first = 0, .second = 1}, {.first = 2, .second = 3}}, {1, 3}) ==
        Approx(2 * std::log(1 + std::exp(0.2 / 0.05))).epsilon(1e-5));
}

TEST_CASE("partners are ranked among all partners and negatives of a set") {
  // Text 0 is nearer to 4 than to 3, text 1 nearer to 3; text 2 points away from both, less from 4.
  const at::Tensor vectors =
      at::tensor({1.F, 0.F, 0.F, 1.F, -1.F, -1.F, 1.F, 1.F, 1.F, 0.5F}).view({5, 2});
  const EmbeddingSet pairs =
      set_of({{.first = 0, .second = 3}, {.first = 1, .second = 3}, {.first = 2, .second = 4}}, 5);
  CHECK(partner_ranks(pairs, vectors) == std::vector<std::int64_t>{2, 1, 1});
  CHECK(retrieval_accuracy({2, 1, 1}) == Approx(2 / 3.0));
  CHECK(mean_reciprocal_rank({2, 1, 1}) == Approx(2.5 / 3));
  // Known partners of the same text are left out, and equal vectors find nothing.
  const EmbeddingSet known = set_of({{.first = 0, .second = 3}, {.first = 0, .second = 4}}, 5);
  CHECK(partner_ranks(known, vectors) == std::vector<std::int64_t>{1, 1});
  CHECK(partner_ranks(pairs, at::ones({5, 2})) == std::vector<std::int64_t>{2, 2, 2});
  // A text is no candidate for itself.
  const EmbeddingSet both = set_of({{.first = 0, .second = 3}, {.first = 3, .second = 0}}, 5);
  CHECK(partner_ranks(both, vectors) == std::vector<std::int64_t>{1, 1});
  EmbeddingSet triplets = set_of({{.first = 0, .second = 3, .negative = 4}}, 5);
  triplets.source.triplets = true;
  CHECK(partner_ranks(triplets, vectors) == std::vector<std::int64_t>{2});
}
