// The recurrent state of linear attention against the whole text computed at once.
#include "attention/linear_attention.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "schemes.h"

using namespace roformer;

namespace {

constexpr std::int64_t kTexts = 2, kLength = 40, kWidth = 8;

struct Text {
  SmallScheme scheme;
  AttentionSettings attention;
  at::Tensor matrix;
  at::Tensor query = at::randn({kTexts, 3, kLength, kWidth}, at::kDouble);
  at::Tensor key = at::randn({kTexts, 3, kLength, kWidth}, at::kDouble);
  at::Tensor value = at::randn({kTexts, 3, kLength, kWidth}, at::kDouble);

  explicit Text(const std::string& name, const AttentionSettings& settings)
      : scheme(name, true), attention(settings) {
    if (attention.kernel == AttentionKernel::favor) matrix = favor_matrix(12, kWidth, 3);
    key = key * at::linspace(0.3, 2, kLength, at::kDouble).view({1, 1, kLength, 1});
  }

  LinearAttentionInputs inputs(std::int64_t begin, std::int64_t count) const {
    return {.query = query.narrow(2, begin, count),
            .key = key.narrow(2, begin, count),
            .scheme = *scheme.scheme,
            .attention = attention,
            .context = {.queries = Positions::range(begin, count),
                        .keys = Positions::range(begin, count),
                        .causal = true,
                        .type = at::kDouble},
            .matrix = matrix};
  }
  // The last `count` rows of the first `length` tokens.
  at::Tensor whole(std::int64_t length, std::int64_t count) const {
    return linear_attention(linear_features(inputs(0, length)), value.narrow(2, 0, length), true)
        .narrow(2, length - count, count);
  }
};

std::vector<AttentionSettings> linear_kernels() {
  return {{.kernel = AttentionKernel::elu},
          {.kernel = AttentionKernel::favor, .favor_stabilize = false},
          {.kernel = AttentionKernel::favor, .favor_stabilize = true, .favor_epsilon = 0},
          {.kernel = AttentionKernel::favor, .favor_stabilize = true, .favor_epsilon = 1e-2},
          {.kernel = AttentionKernel::favor,
           .favor_stabilize = true,
           .favor_epsilon = 1e-2,
           .linear_rotation = LinearRotation::before}};
}

}  // namespace

TEST_CASE("a state fed in pieces gives what the text so far gives at once") {
  at::manual_seed(5);
  for (const std::string name : {"none", "rope"}) {
    for (const AttentionSettings& settings : linear_kernels()) {
      CAPTURE(name, static_cast<int>(settings.kernel), settings.favor_epsilon);
      const Text text(name, settings);
      LinearState state;
      std::int64_t begin = 0;
      for (const std::int64_t count : {9, 1, 1, 5, 1, 20, 1, 1, 1}) {
        const at::Tensor output =
            state.append(text.inputs(begin, count), text.value.narrow(2, begin, count));
        begin += count;
        CHECK((output - text.whole(begin, count)).abs().max().item<double>() < 1e-11);
      }
      CHECK(begin == kLength);
    }
  }
}

TEST_CASE("a state goes on with other texts after a reorder") {
  at::manual_seed(6);
  for (const AttentionSettings& settings : linear_kernels()) {
    Text text("rope", settings);
    LinearState state;
    state.append(text.inputs(0, 20), text.value.narrow(2, 0, 20));
    const std::vector<std::int64_t> sources{1, 1, 0};
    state.reorder(sources);
    const at::Tensor rows = at::tensor(sources, at::kLong);
    for (at::Tensor* part : {&text.query, &text.key, &text.value})
      *part = part->index_select(0, rows);
    const at::Tensor output = state.append(text.inputs(20, 3), text.value.narrow(2, 20, 3));
    CHECK((output - text.whole(23, 3)).abs().max().item<double>() < 1e-11);
  }
}
