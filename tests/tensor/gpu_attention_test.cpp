// The GPU's kernels of attention, run on the CPU (gpu/emulation.h), against the softmax as the
// formula says.
#include <ATen/ATen.h>

#include <cmath>
#include <set>
#include <string>

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
  std::set<std::string> wanted{"attention_forward", "attention_shift", "attention_query_gradient",
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
