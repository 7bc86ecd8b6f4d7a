// What must be equal for every scheme: unpadded and alone, a decoding step and the last row, fused
// and explicit, shifted and not; and gradients against differences.
#include <ATen/ATen.h>

#include <vector>

#include "attention/attend.h"
#include "attention/fused_attention.h"
#include "attention/self_attention.h"
#include "catch.h"
#include "config/schemes/formula.h"
#include "distance.h"
#include "schemes.h"
#include "tensor/profile.h"

using namespace roformer;

namespace {

struct Layer {
  at::Tensor weight = at::randn({3 * SmallScheme::kInner, SmallScheme::kWidth}, at::kDouble) * 0.5;
  at::Tensor bias = at::randn({3 * SmallScheme::kInner}, at::kDouble) * 0.1;

  at::Tensor operator()(const SmallScheme& small, const at::Tensor& x, const TokenLayout& layout,
                        const Positions& positions, const AttentionSettings& attention = {},
                        const DropoutSpec& dropout = {}) const {
    const at::ScalarType type = x.scalar_type();
    PositionSession session({.scheme = *small.scheme,
                             .attention = attention,
                             .queries = positions,
                             .keys = positions,
                             .causal = small.causal,
                             .type = type});
    at::Tensor input = x;
    if (const at::Tensor table = small.scheme->embedding(positions); table.defined()) {
      std::vector<at::Tensor> rows;
      for (const TokenBlock& block : layout.blocks) {
        rows.push_back(table.narrow(0, 0, block.length).repeat({block.sequences, 1}));
      }
      input = input + at::cat(rows, 0);
    }
    const at::Tensor w = weight.to(type);
    return self_attention(
        {.projected = at::matmul(input, w.t()),
         .bias = bias.to(type),
         .layout = layout,
         .heads = SmallScheme::kHeads,
         .layer = 1,
         .projections = {.query_weight = w.narrow(0, 0, SmallScheme::kInner),
                         .key_weight = w.narrow(0, SmallScheme::kInner, SmallScheme::kInner)},
         .dropout = dropout,
         .input = input},
        session);
  }
};

}  // namespace

TEST_CASE("sequences end to end give what each gives alone") {
  at::manual_seed(4);
  const Layer layer;
  const std::vector<std::int64_t> lengths{9, 9, 3, 14};
  const TokenLayout layout = TokenLayout::of_lengths(lengths);
  for (const std::string& name : position_names()) {
    for (const bool causal : {false, true}) {
      const SmallScheme small(name, causal);
      const at::Tensor x = at::randn({layout.tokens, SmallScheme::kWidth}, at::kDouble);
      const at::Tensor together = layer(small, x, layout, Positions::range(0, layout.longest));
      std::int64_t begin = 0;
      for (const std::int64_t length : lengths) {
        const at::Tensor alone =
            layer(small, x.narrow(0, begin, length), TokenLayout::uniform(1, length),
                  Positions::range(0, length));
        INFO(name << (small.causal ? ", causal" : "") << ", length " << length);
        // FIRE's, ALiBi's and all others' terms depend on positions alone, never on the batch.
        CHECK(distance(together.narrow(0, begin, length), alone) < 1e-12);
        begin += length;
      }
    }
  }
}

TEST_CASE("each sequence of a batch has its own dropout") {
  at::manual_seed(14);
  const Layer layer;
  const SmallScheme small("rope");
  const TokenLayout layout = TokenLayout::of_lengths(std::vector<std::int64_t>{6, 6, 3, 6});
  const at::Tensor once = at::randn({6, SmallScheme::kWidth}, at::kDouble);
  const at::Tensor x = at::cat({once, once, once.narrow(0, 0, 3), once}, 0);
  const at::Tensor output =
      layer(small, x, layout, Positions::range(0, 6), {}, {.probability = 0.5, .key = 8});
  CHECK(distance(output.narrow(0, 0, 6), output.narrow(0, 6, 6)) > 0.01);
  CHECK(distance(output.narrow(0, 0, 6), output.narrow(0, 15, 6)) > 0.01);
}

TEST_CASE("only distances matter to a shift-invariant scheme, positions to the others") {
  at::manual_seed(5);
  const Layer layer;
  const TokenLayout layout = TokenLayout::uniform(2, 12);
  const at::Tensor x = at::randn({24, SmallScheme::kWidth}, at::kDouble);
  for (const std::string& name : position_names()) {
    const SmallScheme small(name);
    const at::Tensor here = layer(small, x, layout, Positions::range(0, 12));
    const at::Tensor there = layer(small, x, layout, Positions::range(37, 12));
    INFO(name);
    if (find_position_facts(name)->shift_invariant) {
      CHECK(distance(here, there) < 1e-11);
    } else {
      CHECK(distance(here, there) > 1e-6);
    }
  }
}

TEST_CASE("positions with gaps give what contiguous positions give around the gap") {
  at::manual_seed(6);
  const Layer layer;
  const at::Tensor x = at::randn({6, SmallScheme::kWidth}, at::kDouble);
  for (const std::string& name : position_names()) {
    const SmallScheme small(name, true);
    if (small.scheme->capabilities().scores != ContentScores::none && name == "cope")
      continue;  // counts keys, not positions
    const Positions gaps = Positions::of({0, 1, 4, 5, 9, 10});
    const at::Tensor with_gaps = layer(small, x, TokenLayout::uniform(1, 6), gaps);
    // The first two positions are as without gaps and see nothing after them.
    const at::Tensor without =
        layer(small, x.narrow(0, 0, 2), TokenLayout::uniform(1, 2), Positions::range(0, 2));
    INFO(name);
    CHECK(distance(with_gaps.narrow(0, 0, 2), without) < 1e-12);
  }
}

TEST_CASE("a decoding step is the last row, with the keys as the scheme caches them") {
  at::manual_seed(7);
  for (const std::string& name : position_names()) {
    const SmallScheme small(name, true);
    const std::int64_t length = 11;
    const auto random = [&] {
      return at::randn({2, SmallScheme::kHeads, length, SmallScheme::kHeadWidth}, at::kDouble);
    };
    const at::Tensor q = random(), k = random(), v = random();
    const LayerProjections projections{
        .query_weight = at::randn({SmallScheme::kInner, 12}, at::kDouble),
        .key_weight = at::randn({SmallScheme::kInner, 12}, at::kDouble)};
    AttentionContext context{.queries = Positions::range(0, length),
                             .keys = Positions::range(0, length),
                             .layer = 1,
                             .causal = true,
                             .type = at::kDouble,
                             .projections = projections};
    context.mask = causal_mask(context.queries, context.keys);
    if (const at::Tensor token_inputs =
            small.token_inputs(at::randn({2, length, SmallScheme::kWidth}, at::kDouble));
        token_inputs.defined()) {
      context.token_inputs = small.scheme->cached_token_inputs(token_inputs, {});
    }
    const auto run = [&](const at::Tensor& query, const KeyValue& cached,
                         const AttentionContext& at, CachedKeys keys) {
      return attend({.query = query,
                     .key = cached.key,
                     .value = cached.value,
                     .scheme = *small.scheme,
                     .attention = {},
                     .context = at,
                     .bias = small.scheme->bias(at),
                     .keys = keys})
          .output;
    };
    const at::Tensor full = run(q, {.key = k, .value = v}, context, CachedKeys::unrotated);
    AttentionContext step = context;
    step.queries = Positions::range(length - 1, 1);
    step.mask = at::Tensor();
    KeyValue cached = to_cache(*small.scheme, context, {.key = k, .value = v});
    if (small.scheme->capabilities().changes_keys) {  // by the tokens in front of the last
      AttentionContext before = context;
      before.queries = before.keys = Positions::range(0, length - 1);
      before.token_inputs = context.token_inputs.narrow(2, 0, length - 1);
      const at::Tensor changed =
          small.scheme->changed_keys(before, cached.key.narrow(2, 0, length - 1));
      cached.key = at::cat({changed, cached.key.narrow(2, length - 1, 1)}, 2);
    }
    const at::Tensor last =
        run(q.narrow(2, length - 1, 1), cached, step, small.scheme->capabilities().cached_keys);
    INFO(name);
    CHECK(distance(full.narrow(2, length - 1, 1), last) < 1e-12);
  }
}

TEST_CASE("fused attention with a bias is the explicit softmax, with gradients") {
  at::manual_seed(8);
  Layer layer;
  const std::vector<std::int64_t> lengths{7, 7, 12};
  const TokenLayout layout = TokenLayout::of_lengths(lengths);
  const std::int64_t window = GENERATE(0, 5);
  for (const std::string& name : position_names()) {
    for (const bool causal : {false, true}) {
      SmallScheme small(name, causal);
      const SchemeCapabilities capabilities = small.scheme->capabilities();
      if (capabilities.scores != ContentScores::none && !capabilities.relative_form) continue;
      const at::Tensor outer = at::randn({layout.tokens, SmallScheme::kInner}, at::kDouble);
      at::Tensor x = at::randn({layout.tokens, SmallScheme::kWidth}, at::kDouble);
      x.set_requires_grad(true);
      // The general path is taken where log-n scaling asks for it; by 1 it changes nothing.
      const auto gradients = [&](bool fused) {
        x.mutable_grad() = at::Tensor();
        for (const Parameter& p : small.parameters.all()) p.value.mutable_grad() = at::Tensor();
        AttentionSettings attention;
        attention.window = window;
        if (!fused) {
          attention.log_n = LogNScaling::query;
          attention.log_n_length = 1000;
        }
        const at::Tensor output =
            layer(small, x, layout, Positions::range(0, layout.longest), attention);
        (output * outer).sum().backward();
        std::vector<at::Tensor> result{output.detach(), x.grad().clone()};
        for (const Parameter& p : small.parameters.all()) {
          if (p.value.grad().defined()) result.push_back(p.value.grad().clone());
        }
        return result;
      };
      const auto fast = gradients(true), plain = gradients(false);
      INFO(name << (small.causal ? ", causal" : ""));
      REQUIRE(fast.size() == plain.size());
      for (std::size_t i = 0; i < fast.size(); ++i) CHECK(distance(fast[i], plain[i]) < 1e-10);
    }
  }
}

TEST_CASE("a bias of the distance alone is never made for all pairs") {
  constexpr std::int64_t kLength = 1024;
  at::manual_seed(15);
  const TokenLayout layout = TokenLayout::uniform(1, kLength);
  const at::Tensor packed = at::randn({kLength, 3 * SmallScheme::kInner});
  const auto peak = [&](const SmallScheme& small, std::int64_t window) {
    AttentionSettings attention;
    attention.window = window;
    const at::Tensor leaf = packed.clone().set_requires_grad(true);
    const MemoryMeter meter;
    PositionSession session({.scheme = *small.scheme,
                             .attention = attention,
                             .queries = Positions::range(0, kLength),
                             .keys = Positions::range(0, kLength),
                             .causal = small.causal,
                             .training = true});
    self_attention(
        {.projected = leaf * 1, .layout = layout, .heads = SmallScheme::kHeads, .layer = 1},
        session)
        .sum()
        .backward();
    return meter.peak();
  };
  for (const bool causal : {false, true}) {
    for (const char* name : {"alibi", "t5", "kerple", "sandwich", "formula"}) {
      INFO(name << (causal ? ", causal" : ""));
      CHECK(peak(SmallScheme(name, causal, at::kFloat), 0) < 3 * kLength * kLength);
    }
    CHECK(peak(SmallScheme("rope", causal, at::kFloat), 128) < 3 * kLength * kLength);
    // What depends on both positions has a number for each pair.
    CHECK(peak(SmallScheme("fire", causal, at::kFloat), 0) > 4 * kLength * kLength);
  }
}

TEST_CASE("gradients are those of differences in float64") {
  at::manual_seed(9);
  Layer layer;
  const TokenLayout layout = TokenLayout::uniform(2, 7);
  constexpr double kStep = 1e-5;
  for (const std::string& name : position_names()) {
    SmallScheme small(name);
    at::Tensor x = at::randn({14, SmallScheme::kWidth}, at::kDouble);
    const at::Tensor outer = at::randn({14, SmallScheme::kInner}, at::kDouble);
    const auto loss = [&] {
      return (layer(small, x, layout, Positions::range(0, 7)) * outer).sum();
    };
    x.set_requires_grad(true);
    loss().backward();
    std::vector<at::Tensor> leaves{x};
    for (const Parameter& p : small.parameters.all()) leaves.push_back(p.value);
    for (std::size_t n = 0; n < leaves.size(); ++n) {
      at::Tensor direction = at::randn(leaves[n].sizes(), at::kDouble);
      if (!leaves[n].grad().defined()) continue;  // of the other layer
      const at::Tensor values = leaves[n].detach();
      values.add_(direction, kStep);
      const double above = loss().item<double>();
      values.add_(direction, -2 * kStep);
      const double below = loss().item<double>();
      values.add_(direction, kStep);
      const double wanted = (above - below) / (2 * kStep);
      const double got = (leaves[n].grad() * direction).sum().item<double>();
      INFO(name << ", " << (n == 0 ? "input" : small.parameters.all()[n - 1].spec.name));
      CHECK(got == Approx(wanted).epsilon(1e-5).margin(1e-7));
    }
  }
}

TEST_CASE("float32 is near float64 for every scheme") {
  at::manual_seed(10);
  const Layer layer;
  const TokenLayout layout = TokenLayout::uniform(1, 20);
  const at::Tensor x = at::randn({20, SmallScheme::kWidth}, at::kDouble);
  for (const std::string& name : position_names()) {
    const SmallScheme wide(name), narrow(name, false, at::kFloat);
    const Positions positions = Positions::range(0, 20);
    INFO(name);
    CHECK(distance(layer(wide, x, layout, positions),
                   layer(narrow, x.to(at::kFloat), layout, positions)) < 2e-5);
  }
}

TEST_CASE("a row without visible keys gives zeros and no gradient") {
  const SmallScheme small("shaw");
  at::Tensor q = at::randn({1, 3, 4, 4}, at::kDouble).set_requires_grad(true);
  AttentionContext context{
      .queries = Positions::range(0, 4), .keys = Positions::range(0, 4), .type = at::kDouble};
  context.mask = at::ones({1, 1, 4, 4}, at::kBool);
  context.mask[0][0][2].fill_(false);
  const at::Tensor output = attend({.query = q,
                                    .key = q,
                                    .value = q,
                                    .scheme = *small.scheme,
                                    .attention = {},
                                    .context = context})
                                .output;
  CHECK(output.select(2, 2).abs().max().item<double>() == 0);
  output.sum().backward();
  CHECK(q.grad().isfinite().all().item<bool>());
}

TEST_CASE("scores that are a formula are attended to as its bias, with gradients") {
  at::manual_seed(33);
  const Layer layer;
  const TokenLayout layout = TokenLayout::uniform(SmallScheme::kHeads, 7);
  const Positions positions = Positions::range(0, 7);
  const at::Tensor x = at::randn({layout.tokens, SmallScheme::kWidth}, at::kDouble);
  const auto formula = [](const std::string& bias, const std::string& score) {
    return SmallScheme("formula", false, at::kDouble, [&](PositionSettings& position) {
      if (!bias.empty()) position.of<FormulaSettings>().bias = bias;
      position.of<FormulaSettings>().score = score;
    });
  };
  const auto attended = [&](const SmallScheme& small) {
    const at::Tensor leaf = x.clone().set_requires_grad(true);
    const at::Tensor output = layer(small, leaf, layout, positions);
    output.square().sum().backward();
    return std::vector<at::Tensor>{output.detach(), leaf.grad()};
  };
  const auto same = [&](const std::string& bias, const std::string& score) {
    CAPTURE(bias, score);
    const auto wanted = attended(formula(bias, "")), got = attended(formula("", score));
    CHECK(distance(got[0], wanted[0]) < 1e-12);
    CHECK(distance(got[1], wanted[1]) < 1e-12);
  };
  same("-abs(i - j)", "score - abs(i - j)");
  same("where(i == j, 0, -1)", "where(i == j, score, score - 1)");
  same("where(i - j < 3, 0, -1e30)", "where(i - j < 3, score, -1e30)");
  const auto equal = [&](const std::string& first, const std::string& second) {
    CAPTURE(first, second);
    const auto one = attended(formula("", first)), other = attended(formula("", second));
    CHECK(distance(one[0], other[0]) < 1e-12);
    CHECK(distance(one[1], other[1]) < 1e-9);
  };
  // Of positions alone, of a head alone, of nothing: as large as the scores all the same.
  equal("-abs(i - j)", "0 * score - abs(i - j)");
  equal("h * i", "0 * score + h * i");
  equal("0", "0 * score");
  // Operations whose gradients are computed from their results.
  for (const char* const outer :
       {"tanh(score)", "exp(score)", "sigmoid(score)", "sqrt(score * score + 1)", "2^score",
        "(score * score + 1)^1.5"}) {
    equal(outer, std::string("1 * (") + outer + ")");
  }
}

TEST_CASE("a table's entries at an index of a sum belong to heads and not to texts") {
  at::manual_seed(34);
  const Layer layer;
  const SmallScheme small("formula", false, at::kDouble, [](PositionSettings& position) {
    auto& formula = position.of<FormulaSettings>();
    formula.score = "score + sum(t, 0, 2, w[i - j + t] * score)";
    formula.parameters = {{.name = "w",
                           .per = FormulaScope::head,
                           .size = 9,
                           .outside = FormulaOutside::clamp,
                           .initial = "0.1 * h + 0.01 * index"}};
  });
  // As many texts as heads: the wrong side would fit.
  const std::int64_t texts = SmallScheme::kHeads, length = 5;
  const at::Tensor x = at::randn({texts * length, SmallScheme::kWidth}, at::kDouble);
  const Positions positions = Positions::range(0, length);
  const at::Tensor together = layer(small, x, TokenLayout::uniform(texts, length), positions);
  for (std::int64_t text = 0; text < texts; ++text) {
    const at::Tensor own = x.narrow(0, text * length, length);
    CHECK(distance(together.narrow(0, text * length, length),
                   layer(small, own, TokenLayout::uniform(1, length), positions)) < 1e-12);
  }
}
