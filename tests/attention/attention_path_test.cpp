// Which way each kind of scheme takes through attention on a CPU: an optimisation that no longer
// happens gives the right numbers all the same.
#include "attention/self_attention.h"

#include <ATen/ATen.h>

#include <string>

#include "catch.h"
#include "schemes.h"

using namespace roformer;

namespace {

constexpr std::int64_t kCount = 6;  // tokens

struct Asked {
  AttentionSettings attention = {};
  bool causal = false;
  double dropout = 0;
  bool cached = false;
};

AttentionPath path_of(const std::string& name, const Asked& asked = {}) {
  const SmallScheme small(name, asked.causal, at::kFloat);
  const Positions positions = Positions::range(0, kCount);
  PositionSession session({.scheme = *small.scheme,
                           .attention = asked.attention,
                           .queries = positions,
                           .keys = positions,
                           .causal = small.causal});
  const TokenLayout layout = TokenLayout::uniform(1, kCount);
  const SelfAttentionInputs inputs{.projected = at::zeros({kCount, 3 * SmallScheme::kInner}),
                                   .layout = layout,
                                   .heads = SmallScheme::kHeads,
                                   .layer = 1,
                                   .dropout = {.probability = asked.dropout}};
  return asked.cached ? cached_attention_path(inputs, session) : attention_path(inputs, session);
}

}  // namespace

TEST_CASE("rotations, fixed biases and running sums go through tiles") {
  for (const char* name : {"none", "rope", "xpos", "sinusoidal", "learned", "alibi", "t5", "kerple",
                           "fire", "sandwich", "tupe", "fox"}) {
    INFO(name);
    CHECK(path_of(name) == AttentionPath::tiles);
  }
  CHECK(path_of("rope", {.attention = {.window = 3}}) == AttentionPath::tiles);
  CHECK(path_of("fox", {.attention = {.window = 3}}) == AttentionPath::running_sums);
  CHECK(path_of("fope") == AttentionPath::kernel);
  CHECK(path_of("explicit_positions") == AttentionPath::kernel);
}

TEST_CASE("relative vectors go through tiles where nothing else is added") {
  for (const char* name : {"shaw", "nezha", "music_transformer", "transformer_xl", "deberta"}) {
    INFO(name);
    CHECK(path_of(name) == AttentionPath::tiles);
    CHECK(path_of(name, {.causal = true}) == AttentionPath::tiles);
    CHECK(path_of(name, {.attention = {.window = 3}}) == AttentionPath::scores);
    CHECK(path_of(name, {.dropout = 0.1}) == AttentionPath::scores);
    CHECK(path_of(name, {.causal = true, .cached = true}) == AttentionPath::scores);
  }
}

TEST_CASE("a window that hides nothing is none") {
  const auto path = [](std::int64_t window, bool causal) {
    return path_of("shaw", {.attention = {.window = window}, .causal = causal});
  };
  CHECK(path(kCount, true) == AttentionPath::tiles);
  CHECK(path(kCount - 1, true) == AttentionPath::scores);
  CHECK(path(2 * kCount - 1, false) == AttentionPath::tiles);
  CHECK(path(2 * kCount - 2, false) == AttentionPath::scores);
}

TEST_CASE("only what changes scores, or the probabilities, has them made") {
  for (const char* name : {"cope", "dape", "stick_breaking", "rerope", "streaming"}) {
    INFO(name);
    CHECK(path_of(name) == AttentionPath::scores);
  }
  CHECK(path_of("path") == AttentionPath::scheme);
  CHECK(path_of("path", {.attention = {.window = 3}}) == AttentionPath::scores);
  CHECK(path_of("rope", {.dropout = 0.1}) == AttentionPath::scores);
  CHECK(path_of("rope", {.attention = {.log_n = LogNScaling::query}}) == AttentionPath::scores);
  CHECK(path_of("rope", {.attention = {.kernel = AttentionKernel::elu}}) == AttentionPath::linear);
}

TEST_CASE("a step of decoding goes by LibTorch's kernel where the cache holds rotated keys") {
  const auto step = [](const char* name) {
    return path_of(name, {.causal = true, .cached = true});
  };
  CHECK(step("rope") == AttentionPath::kernel);
  CHECK(step("alibi") == AttentionPath::kernel);
  CHECK(step("fox") == AttentionPath::scores);
  CHECK(step("rerope") == AttentionPath::scores);
  CHECK(path_of("none", {.attention = {.kernel = AttentionKernel::favor},
                         .causal = true,
                         .cached = true}) == AttentionPath::linear);
}
