// Linear attention head by head (tensor/linear_heads.h) against its composed form, with gradients.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <limits>
#include <string>
#include <vector>

#include "attention/linear_attention.h"
#include "catch.h"
#include "distance.h"
#include "tensor/dispatch.h"

using namespace roformer;

namespace {

constexpr std::int64_t kLinearTexts = 2, kLinearHeads = 3, kLinearWidth = 6, kLinearFeatures = 10;

struct LinearKind {
  AttentionSettings attention;
  std::string scheme = "rope";
  bool causal = true;
};

struct LinearExample {
  explicit LinearExample(std::int64_t length) : length(length) {}

  std::int64_t length;
  // Heads side by side in the memory of a token, as projections leave them.
  at::Tensor tokens =
      at::randn({kLinearTexts, length, 3 * kLinearHeads, kLinearWidth}, at::kDouble);
  at::Tensor outer = at::randn({kLinearTexts, kLinearHeads, length, kLinearWidth}, at::kDouble);
  at::Tensor matrix = at::randn({kLinearFeatures, kLinearWidth}, at::kDouble);

  // The output and the gradient of `tokens`, in float64.
  std::vector<at::Tensor> run(const LinearKind& kind, at::ScalarType type) const {
    PositionSettings settings;
    settings.scheme = kind.scheme;
    ParameterStore parameters(1);
    const auto scheme = make_scheme({.settings = settings,
                                     .shape = {.layers = 1,
                                               .width = kLinearHeads * kLinearWidth,
                                               .heads = kLinearHeads,
                                               .head_width = kLinearWidth},
                                     .parameters = parameters});
    const at::Tensor x = tokens.to(type).detach().clone().requires_grad_();
    const std::vector<at::Tensor> parts =
        at::split_with_sizes(x.transpose(1, 2), {kLinearHeads, kLinearHeads, kLinearHeads}, 1);
    const bool favor = kind.attention.kernel == AttentionKernel::favor;
    const at::Tensor output = attend_linearly({.query = parts[0],
                                               .key = parts[1],
                                               .scheme = *scheme,
                                               .attention = kind.attention,
                                               .context = {.queries = Positions::range(0, length),
                                                           .keys = Positions::range(0, length),
                                                           .causal = kind.causal,
                                                           .type = accumulate_type(type)},
                                               .matrix = favor ? matrix : at::Tensor()},
                                              parts[2], kind.causal);
    CHECK(output.scalar_type() == type);
    (output * outer.to(type)).sum().backward();
    return {output.detach().to(at::kDouble), x.grad().to(at::kDouble)};
  }
  std::vector<at::Tensor> composed(const LinearKind& kind,
                                   at::ScalarType type = at::kDouble) const {
    const ComposedForms forms;
    return run(kind, type);
  }
};

std::vector<LinearKind> linear_kinds() {
  std::vector<LinearKind> result;
  for (const bool causal : {true, false}) {
    for (const AttentionKernel kernel : {AttentionKernel::elu, AttentionKernel::favor}) {
      for (const bool stabilized : {true, false}) {
        if (kernel == AttentionKernel::elu && !stabilized) continue;
        for (const LinearRotation rotation : {LinearRotation::before, LinearRotation::numerator}) {
          AttentionSettings attention{.kernel = kernel};
          attention.linear_rotation = rotation;
          attention.favor_epsilon = 1e-4;
          attention.favor_stabilize = stabilized;
          result.push_back({.attention = attention, .causal = causal});
        }
        result.push_back(
            {.attention = result.back().attention, .scheme = "none", .causal = causal});
      }
    }
  }
  return result;
}

void check_linear(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& wanted,
                  double allowed) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO("result " << i);
    REQUIRE(got[i].sizes() == wanted[i].sizes());
    CHECK(distance(got[i], wanted[i]) < allowed * wanted[i].abs().max().item<double>());
  }
}

}  // namespace

TEST_CASE("linear attention head by head is that of LibTorch's operations, gradients included") {
  at::manual_seed(3);
  const LinearExample example(GENERATE(1, 2, 31, 32, 33, 70));
  INFO("length " << example.length);
  for (const LinearKind& kind : linear_kinds()) {
    INFO(kind.scheme << ", causal " << kind.causal << ", kernel "
                     << static_cast<int>(kind.attention.kernel) << ", rotation "
                     << static_cast<int>(kind.attention.linear_rotation));
    const std::vector<at::Tensor> wanted = example.composed(kind);
    check_linear(example.run(kind, at::kDouble), wanted, 1e-11);
    // Some denominators of FAVOR+ without a stabiliser are small.
    check_linear(example.run(kind, at::kFloat), wanted, 1e-4);
  }
}

TEST_CASE("linear attention of bfloat16 sums in float, gradients included") {
  at::manual_seed(4);
  LinearExample example(70);
  example.tokens = example.tokens.to(at::kBFloat16).to(at::kDouble);
  example.outer = example.outer.to(at::kBFloat16).to(at::kDouble);
  for (const LinearKind& kind : linear_kinds()) {
    if (kind.attention.kernel == AttentionKernel::favor && !kind.attention.favor_stabilize)
      continue;
    check_linear(example.run(kind, at::kBFloat16), example.composed(kind), 0.01);
  }
}

TEST_CASE("linear attention is the same on any number of threads") {
  at::manual_seed(5);
  const LinearExample example(70);
  const int threads = at::get_num_threads();
  for (const LinearKind& kind : linear_kinds()) {
    at::set_num_threads(1);
    const std::vector<at::Tensor> one = example.run(kind, at::kFloat);
    at::set_num_threads(3);
    const std::vector<at::Tensor> three = example.run(kind, at::kFloat);
    at::set_num_threads(threads);
    for (std::size_t i = 0; i < one.size(); ++i) CHECK(at::equal(one[i], three[i]));
  }
}

TEST_CASE("linear attention does not hide NaN") {
  LinearExample example(40);
  example.tokens[0][5][0][0] = std::numeric_limits<double>::quiet_NaN();             // of a query
  example.tokens[1][5][kLinearHeads][0] = std::numeric_limits<double>::quiet_NaN();  // of a key
  for (const LinearKind& kind : linear_kinds()) {
    const at::Tensor output = example.run(kind, at::kFloat)[0];
    for (const std::int64_t text : {0, 1}) {
      CHECK(output[text][0][5].isnan().any().item<bool>());
    }
  }
}

TEST_CASE("linear attention head by head counts its small denominators") {
  at::manual_seed(6);
  LinearExample example(50);
  example.tokens *= 4;
  for (const LinearKind& kind : linear_kinds()) {
    const auto counted = [&](bool composed) {
      const DenominatorCheck check;
      composed ? example.composed(kind) : example.run(kind, at::kDouble);
      return check.figures();
    };
    const DenominatorFigures got = counted(false), wanted = counted(true);
    CHECK(got.count == wanted.count);
    CHECK(got.small == wanted.small);
    CHECK(got.least == Approx(wanted.least).epsilon(1e-9));
  }
}
