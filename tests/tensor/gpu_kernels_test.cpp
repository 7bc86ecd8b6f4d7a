// The sources of the GPU kernels, run on the CPU (gpu/emulation.h), against the CPU's own loops:
// results and gradients in every type. And whether NVRTC takes them, where it is installed.
#include <ATen/ATen.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/driver.h"
#include "tensor/gpu/emulation.h"
#include "tensor/operations.h"
#include "tensor/rotation.h"

using namespace roformer;

namespace {

using Tensors = std::vector<at::Tensor>;

// Of differences, as a share of the numbers and beside it.
struct Allowed {
  double share;
  double absolute;
};
Allowed allowed(at::ScalarType type) {
  if (type == at::kDouble) return {1e-12, 1e-11};
  if (type == at::kFloat) return {2e-5, 2e-5};
  return {1.0 / 64, 5e-2};  // the loops round every partial sum to bfloat16, the kernels once
}

// Results and gradients of `run` on leaves with these numbers.
Tensors results_of(const Tensors& numbers, const std::function<Tensors(const Tensors&)>& run) {
  Tensors leaves;
  for (const at::Tensor& number : numbers) {
    leaves.push_back(number.defined() ? number.clone().requires_grad_() : number);
  }
  Tensors results = run(leaves);
  at::Tensor sum;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].requires_grad()) continue;
    const at::Tensor weight =
        at::sin(at::arange(results[i].numel(), at::kDouble) * (0.7 + 0.1 * static_cast<double>(i)))
            .view(results[i].sizes());
    const at::Tensor part = (results[i].to(at::kDouble) * weight).sum();
    sum = sum.defined() ? sum + part : part;
  }
  sum.backward();
  for (at::Tensor& result : results) result = result.detach();
  for (const at::Tensor& leaf : leaves) {
    if (leaf.defined()) results.push_back(leaf.grad());
  }
  return results;
}

// Whether loops and kernels come to the same; `run` returns tensors with and without graph.
void compare_forms(at::ScalarType type, const Tensors& numbers,
                   const std::function<Tensors(const Tensors&)>& run) {
  const Tensors by_loops = results_of(numbers, run);
  Tensors by_kernels;
  {
    int launches = 0;
    const gpu::KernelEmulation emulation([&](const gpu::Launch& what) {
      ++launches;
      emulate_kernel(what);
    });
    by_kernels = results_of(numbers, run);
    CHECK(launches >= 1);
  }
  REQUIRE(by_loops.size() == by_kernels.size());
  const Allowed limits = allowed(type);
  for (std::size_t i = 0; i < by_loops.size(); ++i) {
    CAPTURE(i);
    REQUIRE(by_loops[i].defined() == by_kernels[i].defined());
    if (!by_loops[i].defined()) continue;
    REQUIRE(by_loops[i].scalar_type() == by_kernels[i].scalar_type());
    const at::Tensor exact = by_loops[i].to(at::kDouble), got = by_kernels[i].to(at::kDouble);
    const at::Tensor error = (got - exact).abs();
    CAPTURE(error.max().item<double>());
    CHECK((error <= exact.abs() * limits.share + limits.absolute).all().item<bool>());
  }
}

at::Tensor normal(at::IntArrayRef sizes, at::ScalarType type) {
  return at::randn(sizes, at::kDouble).to(type);
}

at::ScalarType wide(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

at::ScalarType any_type() {
  return GENERATE(at::kDouble, at::kFloat, at::kBFloat16);
}

}  // namespace

TEST_CASE("GPU kernels of bias and activation equal the loops") {
  const at::ScalarType type = any_type();
  const std::int64_t columns = GENERATE(29, 132);
  const auto kind = GENERATE(ActivationKind::gelu, ActivationKind::gelu_tanh, ActivationKind::relu,
                             ActivationKind::swish);
  const bool biased = GENERATE(true, false);
  at::manual_seed(1);
  const at::Tensor bias = biased ? normal({columns}, wide(type)) : at::Tensor();
  compare_forms(type, {normal({37, columns}, type), bias},
                [&](const Tensors& in) { return Tensors{bias_activation(in[0], in[1], kind)}; });
}

TEST_CASE("GPU kernels of gated activations equal the loops") {
  const at::ScalarType type = any_type();
  const std::int64_t columns = GENERATE(29, 132);
  const auto kind =
      GENERATE(ActivationKind::swiglu, ActivationKind::geglu, ActivationKind::geglu_tanh);
  at::manual_seed(2);
  compare_forms(type, {normal({37, 2 * columns}, type), normal({2 * columns}, wide(type))},
                [&](const Tensors& in) { return Tensors{gated_activation(in[0], in[1], kind)}; });
}

TEST_CASE("GPU kernels of residual, bias, dropout and norm equal the loops") {
  const at::ScalarType type = any_type();
  // Odd; more than a block has threads; of eight neighbours, by two groups a thread.
  const std::int64_t columns = GENERATE(20, 37, 300, 304, 1030, 1540);
  const NormKind norm = GENERATE(NormKind::layer_norm, NormKind::rms_norm);
  const double dropped = GENERATE(0.0, 0.3);
  at::manual_seed(3);
  const at::Tensor input = normal({9, columns}, type), bias = normal({columns}, wide(type));
  const at::Tensor residual = normal({9, columns}, type), gain = normal({columns}, wide(type));
  const at::Tensor shift = normal({columns}, wide(type));
  const auto run = [&](const Tensors& in) {
    const NormedSum made = residual_norm({.input = in[0],
                                          .bias = in[1],
                                          .residual = in[2],
                                          .gain = in[3],
                                          .shift = in[4],
                                          .norm = norm,
                                          .epsilon = 1e-5,
                                          .dropout = {.probability = dropped, .key = 77}});
    return made.normed.defined() ? Tensors{made.sum, made.normed} : Tensors{made.sum};
  };
  compare_forms(type, {input, bias, residual, gain, shift}, run);
  compare_forms(type, {input, {}, residual, gain, {}}, run);
  compare_forms(type, {{}, {}, residual, gain, shift}, run);
  compare_forms(type, {input, bias, residual, {}, {}}, run);
  if (dropped > 0) compare_forms(type, {input, bias, {}, {}, {}}, run);
}

TEST_CASE("GPU kernels drop the same elements as the loops, wherever the rows begin") {
  const DropoutSpec spec{.probability = 0.4, .key = 0x8edf00d5c0ffee11ULL, .first_row = 1 << 20};
  const at::Tensor x = at::ones({40, 52});
  const at::Tensor by_loops = dropout(x, spec);
  const gpu::KernelEmulation emulation(emulate_kernel);
  CHECK(at::equal(dropout(x, spec), by_loops));
}

TEST_CASE("a GPU kernel's rotation equals the loops'") {
  const at::ScalarType type = any_type();
  const auto layout = GENERATE(RotaryLayout::interleaved, RotaryLayout::half);
  const std::int64_t rotary = GENERATE(8, 12);
  const bool even = GENERATE(true, false);  // texts as rows of one piece, or one by one
  at::manual_seed(4);
  const at::Tensor angles = at::rand({7, rotary / 2}, wide(type)) * 6;
  const Rotation rotation{.cosine = at::cos(angles), .sine = at::sin(angles), .layout = layout};
  const at::Tensor packed = normal({3, even ? 7 : 8, 5, 12}, type);
  compare_forms(type, {packed}, [&](const Tensors& in) {
    const at::Tensor heads = in[0].narrow(1, 0, 7).transpose(1, 2);
    return Tensors{rotated(heads, rotation)};
  });
}

TEST_CASE("a GPU kernel's cross entropy equals the loops'") {
  const at::ScalarType type = any_type();
  const std::int64_t vocabulary = GENERATE(30, 701);
  const double smoothing = GENERATE(0.0, 0.1);
  at::manual_seed(5);
  const at::Tensor labels = at::randint(vocabulary, {13}, at::kLong);
  compare_forms(type,
                {normal({13, 6}, type), normal({vocabulary, 6}, wide(type)),
                 normal({vocabulary}, wide(type))},
                [&](const Tensors& in) {
                  const CrossEntropy made =
                      linear_cross_entropy(in[0], in[1], in[2], labels, smoothing);
                  return Tensors{made.loss_sum, made.losses, made.correct.to(at::kFloat)};
                });
}

TEST_CASE("a row of logits that no block can hold is taken from memory") {
  constexpr std::int64_t kVocabulary = 26003;
  at::manual_seed(8);
  const at::Tensor labels = at::randint(kVocabulary, {3}, at::kLong);
  compare_forms(at::kFloat,
                {normal({3, 2}, at::kFloat), normal({kVocabulary, 2}, at::kFloat),
                 normal({kVocabulary}, at::kFloat)},
                [&](const Tensors& in) {
                  const CrossEntropy made = linear_cross_entropy(in[0], in[1], in[2], labels);
                  return Tensors{made.loss_sum, made.losses};
                });
}

TEST_CASE("states after the labels change nothing and get no gradient") {
  const at::ScalarType type = any_type();
  at::manual_seed(9);
  const at::Tensor states = normal({67, 6}, type), table = normal({70, 6}, wide(type)),
                   bias = normal({70}, wide(type));
  const at::Tensor labels = at::randint(70, {63}, at::kLong);
  const auto of = [&](std::int64_t rows) {
    const at::Tensor leaf = states.narrow(0, 0, rows).clone().requires_grad_(true);
    const at::Tensor own = table.clone().requires_grad_(true);
    const CrossEntropy made = linear_cross_entropy(leaf, own, bias, labels);
    made.loss_sum.backward();
    return Tensors{made.losses, leaf.grad().narrow(0, 0, 63), own.grad(),
                   leaf.grad().narrow(0, 63, rows - 63)};
  };
  const auto check = [&] {
    const Tensors wanted = of(63), got = of(67);
    for (std::size_t i = 0; i < 3; ++i) CHECK(at::equal(got[i], wanted[i]));
    CHECK(at::equal(got[3], at::zeros_like(got[3])));
  };
  check();
  const gpu::KernelEmulation emulation(emulate_kernel);
  check();
}

TEST_CASE("a row without a label has no loss and no gradient, and changes no other") {
  const at::ScalarType type = any_type();
  const double smoothing = GENERATE(0.0, 0.1);
  at::manual_seed(10);
  const at::Tensor states = normal({6, 4}, type), table = normal({9, 4}, wide(type)),
                   bias = normal({9}, wide(type));
  const at::Tensor labels = at::tensor({3, -1, 8, 0, -1, -1}, at::kLong);
  const at::Tensor there = at::tensor({0, 2, 3}, at::kLong);
  const auto of = [&](const at::Tensor& rows, const at::Tensor& of_rows) {
    const at::Tensor leaf = rows.clone().requires_grad_(true);
    const at::Tensor own = table.clone().requires_grad_(true);
    const CrossEntropy made = linear_cross_entropy(leaf, own, bias, of_rows, smoothing);
    made.loss_sum.backward();
    return Tensors{made.losses, made.correct, made.loss_sum.detach(), leaf.grad(), own.grad()};
  };
  const auto check = [&] {
    const Tensors got = of(states, labels);
    const Tensors wanted = of(states.index_select(0, there), labels.index_select(0, there));
    CHECK(at::allclose(got[0], at::zeros_like(got[0]).index_copy(0, there, wanted[0])));
    CHECK(at::equal(got[1], at::zeros_like(got[1]).index_copy(0, there, wanted[1])));
    CHECK(at::allclose(got[2], wanted[2]));
    CHECK(at::allclose(got[3], at::zeros_like(got[3]).index_copy(0, there, wanted[3])));
    CHECK(at::allclose(got[4], wanted[4], 1e-4, 1e-5));
  };
  check();
  {
    const ComposedForms composed;
    check();
  }
  const gpu::KernelEmulation emulation(emulate_kernel);
  check();
}

TEST_CASE("the gradient at a target that is nearly certain is not rounded away") {
  const at::Tensor labels = at::tensor({1}, at::kLong), bias = at::zeros({3});
  const at::Tensor hidden = at::ones({1, 1}, at::kBFloat16);
  const double logit = 7;  // p = 1 - 0.0018, which bfloat16 rounds to 1
  const at::Tensor table = at::tensor({0.0, logit, 0.0}, at::kFloat).unsqueeze(1);
  const double rest = 2 / (std::exp(logit) + 2);
  const auto check = [&] {
    const at::Tensor own = table.clone().requires_grad_(true);
    linear_cross_entropy(hidden, own, bias, labels).loss_sum.backward();
    CHECK(own.grad()[1].item<double>() == Approx(-rest).epsilon(0.01));
    CHECK(own.grad()[0].item<double>() == Approx(rest / 2).epsilon(0.01));
  };
  check();
  {
    const ComposedForms composed;
    check();
  }
  const gpu::KernelEmulation emulation(emulate_kernel);
  check();
}

TEST_CASE("by a GPU kernel, too, a target is right when its label is the first of the largest") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const gpu::KernelEmulation emulation(emulate_kernel);
  const at::Tensor table = at::tensor({1.0, 3.0, 3.0, 2.0, 3.0}, at::kFloat).unsqueeze(1).to(type);
  const at::Tensor labels = at::tensor({0, 1, 2, 4}, at::kLong);
  const CrossEntropy made =
      linear_cross_entropy(at::ones({4, 1}, type), table, at::zeros({5}), labels);
  CHECK(at::equal(made.correct, at::tensor({0, 1, 0, 0}, at::kLong).to(at::kBool)));
}

TEST_CASE("composed forms take no kernels, and loops return when an emulation ends") {
  const at::Tensor x = at::ones({2, 4});
  {
    const gpu::KernelEmulation emulation(emulate_kernel);
    CHECK(form_of(x) == Form::gpu_kernels);
    const ComposedForms composed;
    CHECK(form_of(x) == Form::composed);
  }
  CHECK(form_of(x) == Form::loops);
}

TEST_CASE("NVRTC compiles the kernels' sources, keeps them and mends what was damaged") {
  if (!gpu::reason_against_compiler().empty()) {
    CHECK(gpu::reason_against_compiler().find("NVRTC") == 0);
    return;
  }
  const TemporaryFolder folder;
  // The widest of each kind: the others differ in numbers only. Of doubles what golden cases and
  // every step take.
  for (const auto& [source, kernel] : emulated_kernels()) {
    const bool narrow = source != "tiled_attention" && (kernel.find(", 1") != std::string::npos ||
                                                        kernel.find(", 2") != std::string::npos);
    const bool is_double = kernel.find("double") != std::string::npos;
    if (narrow || (is_double && source != "adamw" && source != "rotate")) continue;
    CAPTURE(source, kernel);
    const gpu::CompiledKernel made = gpu::compiled_kernel(source, kernel, "sm_90", folder.path);
    CHECK(made.image.substr(1, 3) == "ELF");
    CHECK(made.symbol.find(kernel.substr(0, kernel.find('<'))) != std::string::npos);
  }
  const auto kernel = [&] {
    return gpu::compiled_kernel("rotate", "rotate<float, 1, false>", "sm_90",
                                folder.path / "of-rotate");
  };
  const gpu::CompiledKernel made = kernel();
  std::filesystem::path file;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path / "of-rotate")) {
    CHECK(file.empty());
    file = entry.path();
  }
  const std::string whole = read_file(file);
  CHECK(kernel().image == made.image);
  write_file_atomically(file, whole.substr(0, whole.size() / 2));
  const gpu::CompiledKernel again = kernel();  // NVRTC does not always write the same bits
  CHECK(again.image.substr(1, 3) == "ELF");
  CHECK(again.symbol == made.symbol);
  CHECK(read_file(file).size() > whole.size() / 2);
  CHECK(kernel().image == again.image);
  CHECK_THROWS_WITH(
      gpu::compile_kernel("rotate", "rotate<nothing, 1, false>", "sm_90"),
      Catch::Contains("rotate.cu: rotate<nothing, 1, false> for sm_90 cannot be compiled"));
}
