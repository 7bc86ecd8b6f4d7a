// Products of many matrices in chunks: beyond one chunk, and with the keys of earlier steps.
#include "position/path.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "catch.h"

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

TEST_CASE("keys that steps left behind give the scores of the whole text") {
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
