// What positions add to queries and keys, where it is known and where texts are of unequal length.
#include "analysis/text_sums.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/random.h"
#include "catch.h"

using namespace roformer;

namespace {

constexpr std::int64_t kLongest = 6;

// Texts of one feature: by_position, and noise of their own at every position.
std::vector<std::vector<double>> texts_of(const std::vector<std::int64_t>& lengths,
                                          const std::vector<double>& by_position, double noise,
                                          std::uint64_t seed = 11) {
  Random random(seed);
  std::vector<std::vector<double>> texts;
  for (const std::int64_t length : lengths) {
    std::vector<double>& text = texts.emplace_back();
    for (std::int64_t i = 0; i < length; ++i) {
      text.push_back(by_position[static_cast<std::size_t>(i)] + noise * random.normal());
    }
  }
  return texts;
}

// The texts in one PositionMoments, one by one, and how many reach each position.
std::vector<double> estimated(const std::vector<std::vector<double>>& texts) {
  PositionMoments moments(kLongest);
  at::Tensor counts = at::zeros({kLongest, 1}, at::kDouble);
  for (const std::vector<double>& text : texts) {
    const auto length = static_cast<std::int64_t>(text.size());
    moments.add(at::tensor(text, at::kDouble).view({1, 1, length, 1}));
    counts.narrow(0, 0, length).add_(1);
  }
  const at::Tensor means = moments.means(counts).flatten().to(at::kDouble);
  return {means.data_ptr<double>(), means.data_ptr<double>() + means.numel()};
}

// The same as the formula reads, position by position.
std::vector<double> by_hand(const std::vector<std::vector<double>>& texts) {
  struct AtPosition {
    double mean = 0, variance = 0, count = 0;
  };
  std::vector<AtPosition> known;
  for (std::size_t i = 0; i < kLongest; ++i) {
    std::vector<double> here;
    for (const std::vector<double>& text : texts) {
      if (i < text.size()) here.push_back(text[i]);
    }
    if (here.size() < 2) continue;
    AtPosition& at = known.emplace_back(AtPosition{.count = static_cast<double>(here.size())});
    for (const double x : here) at.mean += x / at.count;
    for (const double x : here) at.variance += (x - at.mean) * (x - at.mean) / (at.count - 1);
  }
  const auto positions = static_cast<double>(known.size());
  double centre = 0, of_text = 0, noise = 0, seen = 0;
  for (const AtPosition& at : known) {
    centre += at.mean / positions;
    of_text += at.variance / positions;
  }
  for (const AtPosition& at : known) {
    noise += of_text / at.count;
    seen += (at.mean - centre) * (at.mean - centre);
  }
  const double of_positions =
      std::max(0.0, (seen - noise * (positions - 1) / positions) / (positions - 1));
  std::vector<double> means(kLongest, 0.0);
  for (std::size_t i = 0; i < known.size(); ++i) {
    const double kept = of_positions / (of_positions + of_text / known[i].count);
    means[i] = (known[i].mean - centre) * kept;
  }
  return means;
}

const std::vector<double> kSlope = {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5};

}  // namespace

TEST_CASE("positions that all texts agree on are known exactly") {
  const std::vector<double> means = estimated(texts_of({6, 6, 6}, kSlope, 0));
  for (std::size_t i = 0; i < kLongest; ++i) CHECK(means[i] == Approx(kSlope[i]));
}

TEST_CASE("what positions add in texts of unequal length is the formula's") {
  // One text alone tells nothing about the last position.
  const std::vector<std::int64_t> lengths = {6, 5, 5, 4, 3, 3, 3, 2, 2};
  for (const double noise : {0.3, 1.0, 3.0}) {
    INFO("noise " << noise);
    const auto texts = texts_of(lengths, kSlope, noise);
    const std::vector<double> means = estimated(texts), wanted = by_hand(texts);
    for (std::size_t i = 0; i < kLongest; ++i) CHECK(means[i] == Approx(wanted[i]).margin(1e-6));
    CHECK(means.back() == 0);
  }
}

TEST_CASE("a mean of few texts is drawn further towards 0 than one of many") {
  std::vector<std::int64_t> lengths(40, 3);
  lengths.insert(lengths.end(), {6, 6, 6});
  const auto texts = texts_of(lengths, {-1, 1, -1, 1, -1, 1}, 1);
  const std::vector<double> means = estimated(texts);
  const auto kept = [&](std::size_t i) {
    double sum = 0, count = 0, centre = 0;
    for (std::size_t j = 0; j < kLongest; ++j) {
      double mean = 0, n = 0;
      for (const std::vector<double>& text : texts) {
        if (j < text.size()) mean += text[j], ++n;
      }
      centre += mean / n / kLongest;
      if (j == i) sum = mean, count = n;
    }
    return means[i] / (sum / count - centre);
  };
  CHECK(kept(0) > 0.9);
  CHECK(kept(0) == Approx(kept(2)));
  CHECK(kept(3) == Approx(kept(5)));
  CHECK(kept(3) < kept(0) - 0.1);
}

TEST_CASE("of noise without positions little is taken for what positions add") {
  const std::vector<double> nothing(kLongest, 0.0);
  double kept = 0, seen = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto texts = texts_of({6, 6, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2}, nothing, 1, seed);
    for (const double mean : estimated(texts)) kept += mean * mean;
    for (std::size_t i = 0; i < kLongest; ++i) {
      double mean = 0, count = 0;
      for (const std::vector<double>& text : texts) {
        if (i < text.size()) mean += text[i], ++count;
      }
      seen += mean * mean / (count * count);
    }
  }
  INFO("kept " << kept << " of " << seen);
  CHECK(kept < seen / 4);
}
