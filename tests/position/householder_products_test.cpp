// Products of many matrices in chunks: beyond one chunk, and with the keys of earlier steps.
#include "position/scheme_parts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "catch.h"
#include "tensor/householder_attention.h"

using namespace roformer;

namespace {

constexpr std::int64_t kLength = 150, kWidth = 6;

struct Text {
  at::Tensor query, key, w, beta;

  explicit Text(at::ScalarType type = at::kDouble) {
    at::manual_seed(3);
    const auto random = [&] { return at::randn({2, 3, kLength, kWidth}, at::kDouble); };
    query = random().to(type);
    key = random().to(type);
    const at::Tensor direction = random();
    w = (direction / direction.norm(2, -1, true)).to(type);
    beta = (2 * at::rand({2, 3, kLength}, at::kDouble)).to(type);
  }
  HouseholderInputs all() const {
    return {.query = query, .key = key, .w = w, .beta = beta, .scale = 0.5};
  }
};

// One matrix after the other, on all keys that came before it.
at::Tensor one_by_one(const Text& text) {
  at::Tensor keys = text.key.narrow(2, 0, 0);
  std::vector<at::Tensor> rows;
  for (std::int64_t i = 0; i < kLength; ++i) {
    const at::Tensor w = text.w.narrow(2, i, 1);
    const at::Tensor along = at::matmul(keys, w.transpose(-2, -1));
    keys = keys - along * w * text.beta.narrow(2, i, 1).unsqueeze(-1);
    keys = at::cat({keys, text.key.narrow(2, i, 1)}, 2);
    const at::Tensor row = at::matmul(text.query.narrow(2, i, 1), keys.transpose(-2, -1)) * 0.5;
    rows.push_back(at::constant_pad_nd(row, {0, kLength - 1 - i}));
  }
  return at::cat(rows, 2);
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace

TEST_CASE("products in chunks are those of one matrix after the other, with gradients") {
  Text text;
  const at::Tensor outer = at::randn({2, 3, kLength, kLength}, at::kDouble);
  const auto gradients = [&](bool chunks) {
    const std::vector<at::Tensor> leaves{text.query, text.key, text.w, text.beta};
    for (const at::Tensor& x : leaves) {
      x.set_requires_grad(true);
      x.mutable_grad() = at::Tensor();
    }
    const at::Tensor scores = chunks ? householder_scores(text.all()) : one_by_one(text);
    (scores * outer).sum().backward();
    std::vector<at::Tensor> result{scores.detach()};
    for (const at::Tensor& x : leaves) result.push_back(x.grad().clone());
    return result;
  };
  const auto fast = gradients(true), plain = gradients(false);
  for (std::size_t i = 0; i < fast.size(); ++i) {
    CAPTURE(i);
    CHECK(difference(fast[i], plain[i]) < 1e-9);
  }
}

TEST_CASE("products in float32 are near those in float64") {
  const at::Tensor wide = householder_scores(Text().all());
  const at::Tensor narrow = householder_scores(Text(at::kFloat).all());
  CHECK(difference(narrow.to(at::kDouble), wide) < 2e-5);
}

TEST_CASE("keys that earlier steps kept give the scores of the whole text") {
  const Text text;
  const at::Tensor whole = householder_scores(text.all());
  at::Tensor keys = text.key.narrow(2, 0, 0);
  std::int64_t begin = 0;
  for (const std::int64_t count : {70, 1, 1, 3, 75}) {
    const HouseholderInputs step{.query = text.query.narrow(2, begin, count),
                                 .key = at::cat({keys, text.key.narrow(2, begin, count)}, 2),
                                 .w = text.w.narrow(2, begin, count),
                                 .beta = text.beta.narrow(2, begin, count),
                                 .settled = begin,
                                 .scale = 0.5};
    const at::Tensor rows = whole.narrow(2, begin, count).narrow(3, 0, begin + count);
    CHECK(difference(householder_scores(step), rows) < 1e-10);
    keys = settled_keys(step);
    begin += count;
  }
  // The last queries alone, with the keys as they are.
  HouseholderInputs last = text.all();
  last.query = text.query.narrow(2, kLength - 5, 5);
  CHECK(difference(householder_scores(last), whole.narrow(2, kLength - 5, 5)) < 1e-10);
}

TEST_CASE("unit directions are those of LibTorch's operations, with gradients") {
  at::manual_seed(5);
  constexpr std::int64_t kHeads = 3, kTaps = 3, kTokens = 9;
  const double epsilon = 1e-3;
  const auto compute = [&](const std::vector<at::Tensor>& x, bool loops) {
    if (loops) return householder_directions(x[0].narrow(3, 0, kWidth), x[1], epsilon);
    const at::Tensor seen = at::constant_pad_nd(x[0].narrow(3, 0, kWidth), {0, 0, kTaps - 1, 0});
    at::Tensor sum = at::zeros({}, x[0].options());
    for (std::int64_t t = 0; t < kTaps; ++t) {
      sum = sum + seen.narrow(2, t, kTokens) * x[1].select(1, t).view({kHeads, 1, kWidth});
    }
    const at::Tensor direction = at::silu(sum);
    return direction / (direction.square().sum(-1, true) + epsilon).sqrt();
  };
  const std::vector<at::Tensor> drawn{
      at::randn({2, kTokens, kHeads, kWidth + 1}, at::kDouble).transpose(1, 2),
      at::randn({kHeads * kWidth, kTaps}, at::kDouble),
      at::randn({2, kHeads, kTokens, kWidth}, at::kDouble)};
  const auto leaf = [](const at::Tensor& x) { return x.detach().clone().requires_grad_(true); };
  const auto results = [&](at::ScalarType type, bool loops) {
    const std::vector<at::Tensor> x{leaf(drawn[0].to(type)), leaf(drawn[1].to(type))};
    const at::Tensor output = compute(x, loops);
    (output * drawn[2].to(type)).sum().backward();
    return std::vector<at::Tensor>{output.detach(), x[0].grad(), x[1].grad()};
  };
  for (const auto& [type, bound] : {std::pair{at::kDouble, 1e-12}, {at::kFloat, 1e-5}}) {
    const auto fast = results(type, true), plain = results(type, false);
    for (std::size_t i = 0; i < fast.size(); ++i) {
      CAPTURE(i, c10::toString(type));
      CHECK(difference(fast[i], plain[i]) < bound);
    }
  }
}
