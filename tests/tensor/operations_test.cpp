// The fused operations against the same formulas written with LibTorch's plain ones.
#include "tensor/operations.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "tensor/parallel.h"
#include "tensor/products.h"

using namespace roformer;

namespace {

at::Tensor random(std::vector<std::int64_t> shape, at::ScalarType type = at::kDouble) {
  static at::Generator generator = [] {
    at::manual_seed(5);
    return at::globalContext().defaultGenerator(at::kCPU);
  }();
  return at::randn(shape, generator, at::TensorOptions().dtype(type)).requires_grad_(true);
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  REQUIRE(a.defined());
  REQUIRE(b.defined());
  REQUIRE(a.sizes() == b.sizes());
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

// Largest difference of the outputs and of every input's gradient between two ways of computing.
template <typename Fused, typename Plain>
double compare(const std::vector<at::Tensor>& inputs, const Fused& fused, const Plain& plain) {
  const at::Tensor first = fused();
  const at::Tensor weight = at::randn(first.sizes(), first.options().requires_grad(false));
  (first * weight).sum().backward();
  std::vector<at::Tensor> gradients;
  for (at::Tensor input : inputs) {
    gradients.push_back(input.grad().clone());
    input.mutable_grad() = at::Tensor();
  }
  const at::Tensor second = plain();
  (second * weight).sum().backward();
  double worst = difference(first, second);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    worst = std::max(worst, difference(gradients[i], inputs[i].grad()));
    at::Tensor input = inputs[i];
    input.mutable_grad() = at::Tensor();
  }
  return worst;
}

double tolerance(at::ScalarType type) {
  return type == at::kDouble ? 1e-11 : 2e-4;
}

}  // namespace

TEST_CASE("sums of columns equal LibTorch's, whatever the number of rows and threads") {
  const auto type = GENERATE(at::kDouble, at::kFloat, at::kBFloat16);
  const auto rows = GENERATE(0, 1, 3, 17, 130);
  const at::Tensor x = random({rows, 37}, at::kFloat).detach().to(type);
  const at::Tensor sums = column_sums(x);
  CHECK(sums.scalar_type() == (type == at::kDouble ? at::kDouble : at::kFloat));
  CHECK(difference(sums, x.to(at::kDouble).sum(0)) < 1e-4);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  CHECK(at::equal(column_sums(x), sums));
  at::set_num_threads(threads);
}

TEST_CASE("bias and activation in one pass equal LibTorch's functions") {
  const auto type = GENERATE(at::kDouble, at::kFloat);
  const at::Tensor x = random({37, 29}, type), bias = random({29}, type);
  CHECK(compare(
            {x, bias}, [&] { return bias_activation(x, bias, ActivationKind::gelu); },
            [&] { return at::gelu(x + bias); }) < tolerance(type));
  CHECK(compare(
            {x, bias}, [&] { return bias_activation(x, bias, ActivationKind::gelu_tanh); },
            [&] { return at::gelu(x + bias, "tanh"); }) < tolerance(type));
  CHECK(compare(
            {x, bias}, [&] { return bias_activation(x, bias, ActivationKind::swish); },
            [&] { return at::silu(x + bias); }) < tolerance(type));
  CHECK(compare(
            {x, bias}, [&] { return bias_activation(x, bias, ActivationKind::relu); },
            [&] { return at::relu(x + bias); }) < tolerance(type));
}

TEST_CASE(
    "bias and activation of bf16 numbers are theirs but for the rounding of output and slope") {
  const auto activation = GENERATE(ActivationKind::gelu, ActivationKind::gelu_tanh,
                                   ActivationKind::relu, ActivationKind::swish);
  const at::Tensor x = random({37, 29}, at::kBFloat16), bias = random({29}, at::kFloat);
  const at::Tensor weight = at::randn({37, 29}).to(at::kBFloat16);
  const auto run = [&](at::ScalarType type) {
    at::Tensor input = x.detach().to(type).requires_grad_();
    at::Tensor added = bias.detach().to(type == at::kBFloat16 ? at::kFloat : type).requires_grad_();
    const at::Tensor output = bias_activation(input, added, activation);
    (output * weight.to(type)).sum().backward();
    return std::vector<at::Tensor>{output.detach().to(at::kDouble), input.grad().to(at::kDouble),
                                   added.grad().to(at::kDouble)};
  };
  const auto narrow = run(at::kBFloat16), wide = run(at::kDouble);
  // A rounding moves a number by a 256th of it at most; the gradient of the input has two, and that
  // of the bias is a sum of numbers that have one.
  const std::vector<at::Tensor> allowed{wide[0].abs() / 256, wide[1].abs() / 127,
                                        wide[1].abs().sum(0) / 256};
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    CAPTURE(i);
    CHECK(((narrow[i] - wide[i]).abs() <= allowed[i] + 1e-5).all().item<bool>());
    CHECK(wide[i].abs().max().item<double>() > 0.1);
  }
}

TEST_CASE("a gated activation in one pass equals LibTorch's functions") {
  const auto type = GENERATE(at::kDouble, at::kFloat);
  const at::Tensor x = random({37, 58}, type), bias = random({58}, type);
  const auto halves = [](const at::Tensor& sum) { return sum.chunk(2, 1); };
  CHECK(compare(
            {x, bias}, [&] { return gated_activation(x, bias, ActivationKind::swiglu); },
            [&] { return at::silu(halves(x + bias)[0]) * halves(x + bias)[1]; }) < tolerance(type));
  CHECK(compare(
            {x, bias}, [&] { return gated_activation(x, bias, ActivationKind::geglu); },
            [&] { return at::gelu(halves(x + bias)[0]) * halves(x + bias)[1]; }) < tolerance(type));
  CHECK(compare(
            {x, bias}, [&] { return gated_activation(x, bias, ActivationKind::geglu_tanh); },
            [&] { return at::gelu(halves(x + bias)[0], "tanh") * halves(x + bias)[1]; }) <
        tolerance(type));
  CHECK(compare(
            {x}, [&] { return gated_activation(x, {}, ActivationKind::swiglu); },
            [&] { return at::silu(halves(x)[0]) * halves(x)[1]; }) < tolerance(type));
  CHECK(compare(
            {x}, [&] { return bias_activation(x, {}, ActivationKind::gelu); },
            [&] { return at::gelu(x); }) < tolerance(type));
}

TEST_CASE("a gated activation of bf16 numbers is theirs but for one rounding, backward too") {
  const auto activation =
      GENERATE(ActivationKind::swiglu, ActivationKind::geglu, ActivationKind::geglu_tanh);
  const at::Tensor x = random({37, 58}, at::kBFloat16), bias = random({58}, at::kFloat);
  const at::Tensor weight = at::randn({37, 29}).to(at::kBFloat16);
  const auto run = [&](at::ScalarType type) {
    at::Tensor input = x.detach().to(type).requires_grad_();
    at::Tensor added = bias.detach().to(type == at::kBFloat16 ? at::kFloat : type).requires_grad_();
    const at::Tensor output = gated_activation(input, added, activation);
    (output * weight.to(type)).sum().backward();
    return std::vector<at::Tensor>{output.detach(), input.grad(), added.grad()};
  };
  const auto narrow = run(at::kBFloat16), wide = run(at::kDouble);
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    CAPTURE(i);
    const at::Tensor exact = wide[i].to(at::kDouble);
    const at::Tensor error = (narrow[i].to(at::kDouble) - exact).abs();
    CHECK((error <= exact.abs() / 256 + 1e-3).all().item<bool>());
  }
}

TEST_CASE("RMSNorm and a norm without shift equal their formulas, by loops and composed") {
  const auto type = GENERATE(at::kDouble, at::kFloat);
  const at::Tensor x = random({33, 20}, type), residual = random({33, 20}, type);
  const at::Tensor gain = random({20}, type);
  ResidualNormInputs inputs{.input = x, .residual = residual, .gain = gain, .epsilon = 1e-5};
  const auto both = [](const NormedSum& made) { return made.sum * 0.5 + made.normed; };
  SECTION("RMSNorm") {
    inputs.norm = NormKind::rms_norm;
    const auto plain = [&] {
      const at::Tensor sum = x + residual;
      return sum * 0.5 + sum / at::sqrt(sum.square().mean(1, true) + 1e-5) * gain;
    };
    CHECK(compare(
              {x, residual, gain}, [&] { return both(residual_norm(inputs)); }, plain) <
          tolerance(type));
    CHECK(compare(
              {x, residual, gain}, [&] { return both(composed::residual_norm(inputs)); }, plain) <
          tolerance(type));
  }
  SECTION("LayerNorm without shift") {
    const auto plain = [&] {
      const at::Tensor sum = x + residual;
      return sum * 0.5 + at::layer_norm(sum, {20}, gain, {}, 1e-5);
    };
    CHECK(compare(
              {x, residual, gain}, [&] { return both(residual_norm(inputs)); }, plain) <
          tolerance(type));
    CHECK(compare(
              {x, residual, gain}, [&] { return both(composed::residual_norm(inputs)); }, plain) <
          tolerance(type));
  }
}

TEST_CASE("RMSNorm of bf16 numbers is theirs but for one rounding, backward too") {
  const at::Tensor x = random({33, 20}, at::kBFloat16), gain = random({20}, at::kFloat);
  const at::Tensor weight = at::randn({33, 20}).to(at::kBFloat16);
  const auto run = [&](at::ScalarType type) {
    at::Tensor input = x.detach().to(type).requires_grad_();
    at::Tensor scale = gain.detach().to(type == at::kBFloat16 ? at::kFloat : type).requires_grad_();
    const at::Tensor output =
        residual_norm(
            {.residual = input, .gain = scale, .norm = NormKind::rms_norm, .epsilon = 1e-5})
            .normed;
    (output * weight.to(type)).sum().backward();
    return std::vector<at::Tensor>{output.detach(), input.grad(), scale.grad()};
  };
  const auto narrow = run(at::kBFloat16), wide = run(at::kDouble);
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    CAPTURE(i);
    const at::Tensor exact = wide[i].to(at::kDouble);
    const at::Tensor error = (narrow[i].to(at::kDouble) - exact).abs();
    CHECK((error <= exact.abs() / 256 + 1e-3).all().item<bool>());
  }
}

TEST_CASE("the float GELU is exact to rounding over its whole range") {
  const at::Tensor x = at::linspace(-20, 20, 40001, at::kFloat).unsqueeze(1);
  const at::Tensor got = bias_activation(x, at::zeros({1}), ActivationKind::gelu);
  CHECK(difference(got, at::gelu(x.to(at::kDouble))) < 2e-6);
}

TEST_CASE("residual, bias and norm in one pass equal the formula") {
  const auto type = GENERATE(at::kDouble, at::kFloat);
  const at::Tensor x = random({33, 20}, type), bias = random({20}, type);
  const at::Tensor residual = random({33, 20}, type), gain = random({20}, type);
  const at::Tensor shift = random({20}, type);
  const auto inputs = [&] {
    return ResidualNormInputs{.input = x,
                              .bias = bias,
                              .residual = residual,
                              .gain = gain,
                              .shift = shift,
                              .epsilon = 1e-5};
  };
  SECTION("post-norm uses the norm alone") {
    CHECK(compare(
              {x, bias, residual, gain, shift}, [&] { return residual_norm(inputs()).normed; },
              [&] { return at::layer_norm(x + bias + residual, {20}, gain, shift, 1e-5); }) <
          tolerance(type));
  }
  SECTION("pre-norm uses sum and norm") {
    CHECK(compare(
              {x, bias, residual, gain, shift},
              [&] {
                const NormedSum both = residual_norm(inputs());
                return both.sum * 0.5 + both.normed;
              },
              [&] {
                const at::Tensor sum = x + bias + residual;
                return sum * 0.5 + at::layer_norm(sum, {20}, gain, shift, 1e-5);
              }) < tolerance(type));
  }
  SECTION("a norm alone") {
    CHECK(compare(
              {residual, gain, shift},
              [&] {
                return residual_norm(
                           {.residual = residual, .gain = gain, .shift = shift, .epsilon = 1e-12})
                    .normed;
              },
              [&] { return at::layer_norm(residual, {20}, gain, shift, 1e-12); }) <
          tolerance(type));
  }
}

TEST_CASE("dropout keeps the mean, has its rate, and is a function of the key") {
  const at::Tensor x = at::ones({1000, 64});
  const DropoutSpec spec{.probability = 0.1, .key = 12345};
  const at::Tensor first = dropout(x, spec);
  CHECK((first == 0).to(at::kDouble).mean().item<double>() == Approx(0.1).margin(0.005));
  CHECK(first.max().item<double>() == Approx(1 / 0.9));
  CHECK(at::equal(first, dropout(x, spec)));
  CHECK_FALSE(at::equal(first, dropout(x, {.probability = 0.1, .key = 12346})));
  // Neighbouring rows and columns do not repeat each other.
  const at::Tensor dropped = (first == 0).to(at::kDouble);
  const double both = (dropped.narrow(0, 0, 999) * dropped.narrow(0, 1, 999)).mean().item<double>();
  CHECK(both == Approx(0.01).margin(0.003));
}

TEST_CASE("the gradient of dropout has the same mask") {
  const at::Tensor x = random({50, 16}), residual = random({50, 16}), bias = random({16});
  const DropoutSpec spec{.probability = 0.3, .key = 9};
  const at::Tensor mask = dropout(at::ones({50, 16}, at::kDouble), spec);
  CHECK(compare(
            {x, residual, bias},
            [&] {
              return residual_norm(
                         {.input = x, .bias = bias, .residual = residual, .dropout = spec})
                  .sum;
            },
            [&] { return (x + bias) * mask + residual; }) < 1e-12);
}

TEST_CASE(
    "composed of LibTorch's operations, dropout has the loops' mask and the norm its numbers") {
  const std::uint64_t key = GENERATE(0, 12345, 0x8edf00d5c0ffee11ULL);
  const double probability = GENERATE(0.1, 0.7);
  const DropoutSpec spec{.probability = probability, .key = key, .first_row = 1 << 20};
  const at::Tensor factors = dropout(at::ones({300, 70}), spec);
  CHECK(at::equal(factors == 0, composed::dropped(spec, 300, 70, at::kCPU)));
  const at::Tensor x = random({33, 20}), bias = random({20}), residual = random({33, 20});
  const at::Tensor gain = random({20}), shift = random({20});
  const ResidualNormInputs inputs{.input = x,
                                  .bias = bias,
                                  .residual = residual,
                                  .gain = gain,
                                  .shift = shift,
                                  .epsilon = 1e-5,
                                  .dropout = spec};
  CHECK(compare(
            {x, bias, residual, gain, shift}, [&] { return residual_norm(inputs).normed; },
            [&] { return composed::residual_norm(inputs).normed; }) < 2e-6);
}

TEST_CASE("rows are dropped by their number, wherever their tensor begins") {
  const DropoutSpec all{.probability = 0.5, .key = 3};
  DropoutSpec later = all;
  later.first_row = 7;
  const at::Tensor x = at::ones({20, 16});
  CHECK(at::equal(dropout(x, all).narrow(0, 7, 13), dropout(x, later).narrow(0, 0, 13)));
}

TEST_CASE("projection and embedding add to the gradient where it lives") {
  const at::Tensor x = random({7, 5}), weight = random({3, 5});
  CHECK(compare(
            {x, weight}, [&] { return project(x, weight); },
            [&] { return at::mm(x, weight.t()); }) < 1e-12);
  at::Tensor leaf = random({4, 3});
  leaf.mutable_grad() = at::ones({4, 3}, at::kDouble);
  const at::Tensor ids = at::tensor({1, 1, 3}, at::kLong);
  embedding_rows(leaf, ids).sum().backward();
  CHECK(at::equal(leaf.grad().select(1, 0), at::tensor({1.0, 3.0, 1.0, 2.0}, at::kDouble)));
  const at::Tensor rows = random({2, 3});
  project(rows, leaf).sum().backward();
  CHECK(difference(leaf.grad(), at::tensor({1.0, 3.0, 1.0, 2.0}, at::kDouble).unsqueeze(1) +
                                    rows.detach().sum(0)) < 1e-12);
}

TEST_CASE("a projection of any number of bfloat16 rows is the product, backward too") {
  const auto rows = GENERATE(0, 1, 3, 63, 64, 65, 67, 130);
  const at::Tensor x = random({rows, 48}, at::kBFloat16), weight = random({40, 48}, at::kFloat);
  const at::Tensor slope = at::randn({rows, 40}).to(at::kBFloat16);
  const at::Tensor product = project(x, weight);
  (product * slope).sum().backward();
  const auto wide = [](const at::Tensor& t) { return t.detach().to(at::kDouble); };
  const at::Tensor narrow = wide(weight.detach().to(at::kBFloat16));
  const auto near = [&](const at::Tensor& found, const at::Tensor& exact) {
    REQUIRE(found.sizes() == exact.sizes());
    return exact.numel() == 0 || difference(found, exact) <= exact.abs().max().item<double>() / 128;
  };
  CHECK(near(product.detach(), wide(x).mm(narrow.t())));
  CHECK(near(x.grad(), wide(slope).mm(narrow)));
  CHECK(near(weight.grad(), wide(slope).t().mm(wide(x))));
}

TEST_CASE("products of bfloat16 are added to a float gradient without a rounding between") {
  struct Shape {
    std::int64_t k, m, n;
  };
  const Shape shape = GENERATE(Shape{1, 5, 3}, Shape{37, 29, 31}, Shape{640, 96, 130});
  // Rows that lie apart, as those of a view do.
  const auto narrow = [](std::int64_t rows, std::int64_t columns) {
    return random({rows, columns + 7}).detach().to(at::kBFloat16).narrow(1, 3, columns);
  };
  const at::Tensor a = narrow(shape.k, shape.m), b = narrow(shape.k, shape.n);
  const at::Tensor before = random({shape.m, shape.n}, at::kFloat).detach();
  const at::Tensor wanted =
      before.to(at::kDouble) + at::mm(a.to(at::kDouble).t(), b.to(at::kDouble));
  at::Tensor total = before.clone();
  add_transposed_product(total, a, b);
  const double error =
      (total.to(at::kDouble) - wanted).norm().item<double>() / wanted.norm().item<double>();
  CHECK(error < (has_bfloat16_block_products() ? 1e-6 : 5e-3));
  at::Tensor same = before.to(at::kDouble);
  add_transposed_product(same, a.to(at::kDouble), b.to(at::kDouble));
  CHECK(difference(same, wanted) < 1e-11);
  add_transposed_product(same, a.narrow(0, 0, 0).to(at::kDouble),
                         b.narrow(0, 0, 0).to(at::kDouble));
  CHECK(difference(same, wanted) < 1e-11);
  at::Tensor unchanged = before.clone();
  add_transposed_product(unchanged, a.narrow(0, 0, 0), b.narrow(0, 0, 0));
  CHECK(at::equal(unchanged, before));
}

TEST_CASE("cross entropy by blocks equals LibTorch's over all logits") {
  const auto type = GENERATE(at::kDouble, at::kFloat);
  // More numbers than one block holds.
  const std::int64_t rows = 90, vocabulary = type == at::kFloat ? 100'000 : 500;
  const at::Tensor hidden = random({rows, 4}, type), table = random({vocabulary, 4}, type);
  const at::Tensor bias = random({vocabulary}, type);
  const at::Tensor labels = at::randint(vocabulary, {rows}, at::kLong);
  CHECK(
      compare(
          {hidden, table, bias},
          [&] { return linear_cross_entropy(hidden, table, bias, labels).loss_sum.to(type) * 0.5; },
          [&] {
            return at::cross_entropy_loss(at::mm(hidden, table.t()) + bias, labels, {},
                                          at::Reduction::Sum) *
                   0.5;
          }) < (type == at::kDouble ? 1e-9 : 1e-2));
  const CrossEntropy result = linear_cross_entropy(hidden, table, bias, labels);
  const at::Tensor best = (at::mm(hidden, table.t()) + bias).argmax(1);
  CHECK(at::equal(result.correct, best == labels));
  CHECK(result.losses.sum().item<double>() == Approx(result.loss_sum.item<double>()));
}

TEST_CASE("label smoothing is LibTorch's, with gradients, and leaves the plain losses") {
  const std::int64_t targets = 40, vocabulary = 300'000;  // several blocks
  const at::Tensor hidden = random({targets, 3}), table = random({vocabulary, 3});
  const at::Tensor bias = random({vocabulary});
  const at::Tensor labels = at::randint(vocabulary, {targets}, at::kLong);
  const auto reference = [&](double smoothing) {
    return at::cross_entropy_loss(at::mm(hidden, table.t()) + bias, labels, {}, at::Reduction::Sum,
                                  /*ignore_index=*/-100, smoothing);
  };
  CHECK(compare(
            {hidden, table, bias},
            [&] { return linear_cross_entropy(hidden, table, bias, labels, 0.1).loss_sum; },
            [&] { return reference(0.1); }) < 1e-9);
  CHECK(linear_cross_entropy(hidden, table, bias, labels, 0.1).losses.sum().item<double>() ==
        Approx(reference(0).item<double>()));
}

TEST_CASE("a target is right when its label is the first of the largest logits") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const at::Tensor hidden = at::ones({4, 1}, type), bias = at::zeros({5}, at::kFloat);
  const at::Tensor table = at::tensor({1.0, 3.0, 3.0, 2.0, 3.0}, at::kFloat).unsqueeze(1).to(type);
  const at::Tensor labels = at::tensor({0, 1, 2, 4}, at::kLong);
  const at::Tensor first = at::tensor({0, 1, 0, 0}, at::kLong).to(at::kBool);
  CHECK(at::equal(linear_cross_entropy(hidden, table, bias, labels).correct, first));
  const at::Tensor logits = at::mm(hidden, table.t());
  CHECK(at::equal(composed::cross_entropy(logits, bias, labels, 0).correct, first));
}

TEST_CASE(
    "composed of LibTorch's operations, the losses and their gradient are those of the loops") {
  const double smoothing = GENERATE(0.0, 0.2);
  const at::Tensor logits = random({6, 30}).detach(), bias = random({30}).detach();
  const at::Tensor labels = at::randint(30, {6}, at::kLong);
  // With the identity for a table the gradient of the states is that of the logits.
  const at::Tensor leaf = logits.clone().requires_grad_(true);
  const CrossEntropy loops =
      linear_cross_entropy(leaf, at::eye(30, at::kDouble), bias, labels, smoothing);
  loops.loss_sum.backward();
  const composed::BlockLosses found = composed::cross_entropy(logits, bias, labels, smoothing);
  CHECK(difference(found.losses, loops.losses) < 1e-12);
  CHECK(difference(found.smoothed.sum(), loops.loss_sum.detach()) < 1e-11);
  CHECK(at::equal(found.correct, loops.correct));
  CHECK(difference(logits, leaf.grad()) < 1e-12);
}

TEST_CASE("losses and gradients of 100,000 targets in bfloat16 are as near as those of a few") {
  const std::int64_t targets = 100'000, vocabulary = 512, width = 8;
  const auto leaf = [](const at::Tensor& x, at::ScalarType type) {
    return x.to(type).detach().clone().requires_grad_(true);
  };
  const at::Tensor states = random({targets, width}, at::kFloat).detach().to(at::kBFloat16);
  const at::Tensor rows = random({vocabulary, width}, at::kFloat).detach().to(at::kBFloat16);
  const at::Tensor labels = at::randint(vocabulary, {targets}, at::kLong);
  const auto run = [&](at::ScalarType type) {
    const at::ScalarType stored = type == at::kBFloat16 ? at::kFloat : type;
    const at::Tensor hidden = leaf(states, type), table = leaf(rows, stored);
    const at::Tensor bias = leaf(at::zeros({vocabulary}), stored);
    table.mutable_grad() = at::zeros_like(table);
    const at::Tensor loss = linear_cross_entropy(hidden, table, bias, labels).loss_sum;
    loss.backward();
    return std::vector<at::Tensor>{loss.detach(), hidden.grad(), table.grad(), bias.grad()};
  };
  const auto narrow = run(at::kBFloat16), wide = run(at::kDouble);
  for (std::size_t i = 0; i < wide.size(); ++i) {
    CHECK((narrow[i].to(at::kDouble) - wide[i]).norm().item<double>() <
          0.005 * wide[i].norm().item<double>());
  }
}

TEST_CASE("column sums do not depend on the number of threads") {
  const at::Tensor x = random({1000, 33}, at::kFloat), bias = random({33}, at::kFloat);
  const auto gradient = [&](int threads) {
    at::set_num_threads(threads);
    at::Tensor leaf = bias.detach().clone().requires_grad_(true);
    bias_activation(x, leaf, ActivationKind::gelu).sum().backward();
    return leaf.grad();
  };
  CHECK(at::equal(gradient(1), gradient(2)));
}
