// The GPU's kernels of attention, run on the CPU (gpu/emulation.h), against the softmax as the
// formula says.
#include <ATen/ATen.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "attention_example.h"
#include "catch.h"
#include "distance.h"
#include "tensor/gpu/emulation.h"

using namespace roformer;

TEST_CASE("GPU kernels of attention are the softmax, with the gradients of rows and biases") {
  at::manual_seed(2);
  // Tiles of queries that stream past are smaller above a width of 64.
  const std::int64_t width = GENERATE(16, 48, 128);
  AttentionExample example{
      .width = width, .causal = GENERATE(false, true), .text = 140, .keys = 200};
  std::set<std::string> wanted{"attention_forward", "attention_query_gradient",
                               "attention_key_gradient"};
  switch (GENERATE(0, 1, 2, 3)) {
    case 1:
      example.add_biases();
      wanted.insert("attention_pair_gradient");
      break;
    case 2:
      example.add_tables();
      wanted.insert({"attention_windows", "attention_difference_sums"});
      break;
    case 3:
      example.add_windows();
      wanted.insert({"attention_windows", "attention_difference_sums"});
      break;
  }
  const std::vector<at::Tensor> expected = example.plain().all();
  std::set<std::string> launched;
  const gpu::KernelEmulation emulation([&](const gpu::Launch& what) {
    launched.insert(what.kernel.substr(0, what.kernel.find('<')));
    emulate_kernel(what);
  });
  const std::vector<at::Tensor> found = example.tiled(at::kBFloat16).all();
  CHECK(launched == wanted);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("result " << i);
    const double largest = expected[i].abs().max().item<double>();
    CHECK(distance(found[i].to(at::kDouble), expected[i]) < 0.02 * largest);
  }
}

namespace {

at::Tensor as_bfloat16(const at::Tensor& x) {
  return x.to(at::kBFloat16).to(at::kDouble);
}

// The first key of each text has a score 11 above the others', which leaves them 0.002 of the
// weight.
AttentionExample with_nearly_certain_keys(std::int64_t width) {
  AttentionExample example{.width = width, .text = 70, .keys = 130};
  example.packed.mul_(0.1);
  example.part(example.packed, 0).add_(4);
  for (const AttentionSegment& segment : example.segments) {
    example.part(example.packed, 1)
        .select(0, segment.key_begin)
        .fill_(11 / (0.4 * 4 * static_cast<double>(width)));
  }
  example.part(example.packed, 2).mul_(10);
  example.packed = as_bfloat16(example.packed);
  example.gradient = as_bfloat16(example.gradient);
  return example;
}

// In float64, but with the shifts of the slopes from a rounded output, as flash attention has them.
at::Tensor query_gradient_by_output(const AttentionExample& example) {
  std::vector<at::Tensor> all;
  for (const AttentionSegment& s : example.segments) {
    const auto heads = [&](const at::Tensor& rows, std::int64_t begin, std::int64_t count) {
      return rows.narrow(0, begin, count).unflatten(1, {2, example.width}).transpose(0, 1);
    };
    const auto part = [&](std::int64_t which, std::int64_t begin, std::int64_t count) {
      return heads(example.part(example.packed, which), begin, count);
    };
    const at::Tensor key = part(1, s.key_begin, s.key_length),
                     value = part(2, s.key_begin, s.key_length),
                     gradient = heads(example.gradient, s.query_begin, s.query_length);
    const at::Tensor p = at::softmax(
        at::matmul(part(0, s.query_begin, s.query_length), key.transpose(1, 2)) * 0.4, -1);
    const at::Tensor shift = (as_bfloat16(at::matmul(p, value)) * gradient).sum(-1, true);
    const at::Tensor slopes = p * (at::matmul(gradient, value.transpose(1, 2)) - shift);
    all.push_back((at::matmul(slopes, key) * 0.4).transpose(0, 1).flatten(1));
  }
  return at::cat(all);
}

double share_of_difference(const at::Tensor& found, const at::Tensor& wanted) {
  return ((found.to(at::kDouble) - wanted).norm() / wanted.norm()).item<double>();
}

}  // namespace

TEST_CASE("GPU kernels of attention keep what a nearly certain key leaves of the gradient") {
  at::manual_seed(41);
  const AttentionExample example = with_nearly_certain_keys(GENERATE(16, 64, 128));
  const AttentionResults expected = example.plain();
  const gpu::KernelEmulation emulation(emulate_kernel);
  const AttentionResults found = example.tiled(at::kBFloat16);
  CHECK(share_of_difference(found.query, expected.query) < 0.02);
  CHECK(share_of_difference(found.key, expected.key) < 0.02);
  CHECK(share_of_difference(query_gradient_by_output(example), expected.query) > 0.2);
}

TEST_CASE("GPU kernels of attention leave out the keys that a window hides") {
  at::manual_seed(5);
  AttentionExample example{.width = 16, .text = 100, .keys = 400};
  example.add_windows();
  // Keys and values of the second text that none of its queries sees, as numbers that are none.
  AttentionExample spoiled = example;
  spoiled.packed = example.packed.clone();
  for (const std::int64_t which : {1, 2}) {
    const at::Tensor rows = spoiled.part(spoiled.packed, which);
    rows.narrow(0, spoiled.text, spoiled.first_visible() - 4).fill_(NAN);
  }
  const gpu::KernelEmulation emulation(emulate_kernel);
  const AttentionResults whole = example.tiled(at::kBFloat16),
                         without = spoiled.tiled(at::kBFloat16);
  CHECK(at::equal(whole.output, without.output));
}

TEST_CASE("GPU kernels of attention make the gradients of the biases that are wanted alone") {
  at::manual_seed(6);
  AttentionExample example{.width = 16, .text = 100, .keys = 140};
  if (GENERATE(false, true)) {
    example.add_tables();
  } else {
    example.add_biases();
  }
  const gpu::KernelEmulation emulation(emulate_kernel);
  const std::vector<at::Tensor> all = example.tiled(at::kBFloat16).all();
  for (const std::size_t unwanted : {0, 1}) {
    const std::vector<at::Tensor> some = example.tiled(at::kBFloat16, unwanted).all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      CAPTURE(unwanted, i);
      if (i == 4 + unwanted) {
        CHECK_FALSE(some[i].defined());
      } else {
        CHECK(at::equal(some[i], all[i]));
      }
    }
  }
}

TEST_CASE("GPU kernels of attention take heads of bfloat16 and a multiple of 16 up to 128") {
  const gpu::KernelEmulation emulation(emulate_kernel);
  const at::Tensor rows = at::zeros({4, 256}, at::kBFloat16);
  CHECK(can_tile_attention(rows, 128));
  CHECK(can_tile_attention(rows, 16));
  CHECK_FALSE(can_tile_attention(rows, 24));
  CHECK_FALSE(can_tile_attention(rows, 256));
  CHECK_FALSE(can_tile_attention(rows.to(at::kFloat), 64));
}
