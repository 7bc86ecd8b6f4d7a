// Attention of some queries after the other against that of all at once, for every scheme.
#include "attention/attend.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attention/position_session.h"
#include "catch.h"
#include "distance.h"
#include "position/one_position.h"
#include "schemes.h"

using namespace roformer;

namespace {

constexpr std::int64_t kTokens = 13, kBatch = 2;

struct PartSides {
  at::Tensor query, key, value, input, outer;
};

// The output and the gradients of q, k, v, of the layer's input and of the scheme's parameters.
std::vector<at::Tensor> run_parts(const SmallScheme& small, const PartSides& sides,
                                  at::ScalarType type, std::int64_t most_queries) {
  const auto leaf = [&](const at::Tensor& x) { return x.to(type).detach().requires_grad_(true); };
  const at::Tensor query = leaf(sides.query), key = leaf(sides.key), value = leaf(sides.value),
                   input = leaf(sides.input);
  for (const Parameter& parameter : small.parameters.all()) {
    at::Tensor(parameter.value).mutable_grad() = at::Tensor();
  }
  const at::ScalarType stored = type == at::kDouble ? at::kDouble : at::kFloat;
  const AttentionSettings attention{.log_n = LogNScaling::query, .log_n_length = 4};
  const Positions positions = Positions::range(0, kTokens);
  PositionSession session({.scheme = *small.scheme,
                           .attention = attention,
                           .queries = positions,
                           .keys = positions,
                           .causal = small.causal,
                           .type = stored});
  const Extent extent = Extent::square(kTokens);
  AttentionContext context = session.context(1, extent);
  context.mask = session.mask(1, extent);
  const at::Tensor weight =
      at::full({SmallScheme::kInner, SmallScheme::kWidth}, 0.1, input.options().dtype(stored));
  context.projections = {.query_weight = weight, .key_weight = weight};
  const at::Tensor token_inputs = small.token_inputs(input);
  if (token_inputs.defined())
    context.token_inputs = small.scheme->cached_token_inputs(token_inputs, {});
  const SchemeCapabilities capabilities = small.scheme->capabilities();
  const at::Tensor output =
      attend({.query = query,
              .key = key,
              .value = value,
              .scheme = *small.scheme,
              .attention = attention,
              .context = context,
              .bias = capabilities.bias_of_positions ? small.scheme->bias(context)
                                                     : session.bias(1, extent),
              .most_queries = most_queries})
          .output;
  (output * sides.outer.to(type)).sum().backward();
  std::vector<at::Tensor> result{output.detach(), query.grad(), key.grad(), value.grad()};
  if (token_inputs.defined()) result.push_back(input.grad());
  for (const Parameter& parameter : small.parameters.all()) {
    if (parameter.value.grad().defined()) result.push_back(parameter.value.grad().clone());
  }
  return result;
}

double largest_distance(const SmallScheme& small, const PartSides& sides, at::ScalarType type) {
  const auto parts = run_parts(small, sides, type, 5),
             whole = run_parts(small, sides, type, kTokens);
  REQUIRE(parts.size() == whole.size());
  double largest = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    largest = std::max(largest, distance(parts[i], whole[i]));
  }
  return largest;
}

}  // namespace

TEST_CASE("attention by parts of the queries is that of all at once, with gradients") {
  at::manual_seed(41);
  const auto random = [] {
    return at::randn({kBatch, SmallScheme::kHeads, kTokens, SmallScheme::kHeadWidth}, at::kDouble);
  };
  const PartSides sides{.query = random(),
                        .key = random(),
                        .value = random(),
                        .input = at::randn({kBatch, kTokens, SmallScheme::kWidth}, at::kDouble),
                        .outer = random()};
  const auto bound = [](at::ScalarType type) {
    return type == at::kDouble ? 1e-11 : type == at::kFloat ? 1e-4 : 0.1;
  };
  for (const std::string& name : position_names()) {
    for (const bool causal : {false, true}) {
      for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16}) {
        const at::ScalarType stored = type == at::kDouble ? at::kDouble : at::kFloat;
        INFO(name << (causal ? ", causal, " : ", ") << type);
        CHECK(largest_distance(SmallScheme(name, causal, stored), sides, type) < bound(type));
      }
    }
  }
}

TEST_CASE("a long text is attended to in parts as it would be at once") {
  // Longer than a part by default, and than a part of those whose keys change.
  constexpr std::int64_t kLong = 200;
  at::manual_seed(42);
  const auto random = [] {
    return at::randn({1, SmallScheme::kHeads, kLong, SmallScheme::kHeadWidth}, at::kDouble);
  };
  const at::Tensor query = random(), key = random(), value = random();
  const at::Tensor input = at::randn({1, kLong, SmallScheme::kWidth}, at::kDouble);
  const Positions positions = Positions::range(0, kLong);
  const auto check = [&](const SmallScheme& small, const PositionScheme& scheme) {
    AttentionContext context{.queries = positions,
                             .keys = positions,
                             .layer = 1,
                             .causal = true,
                             .mask = causal_mask(positions, positions),
                             .type = at::kDouble};
    const at::Tensor token_inputs = small.token_inputs(input);
    if (token_inputs.defined())
      context.token_inputs = small.scheme->cached_token_inputs(token_inputs, {});
    const auto output = [&](std::int64_t most_queries) {
      return attend({.query = query,
                     .key = key,
                     .value = value,
                     .scheme = scheme,
                     .attention = {},
                     .context = context,
                     .most_queries = most_queries})
          .output;
    };
    CHECK(distance(output(0), output(kLong)) < 1e-11);
  };
  for (const char* name : {"shaw", "cope", "path", "stick_breaking"}) {
    INFO(name);
    const SmallScheme small(name, true);
    check(small, *small.scheme);
    check(small, OnePosition(*small.scheme, WithoutPositions::one_position));
  }
  const SmallScheme neighbours("dape", true, at::kDouble, [](PositionSettings& settings) {
    settings.of<DapeSettings>().kernel = 3;
  });
  check(neighbours, *neighbours.scheme);
  check(neighbours, OnePosition(*neighbours.scheme, WithoutPositions::one_position));
}

TEST_CASE("a part of the queries sees no more keys than they do") {
  const auto context_of = [](bool causal) {
    return AttentionContext{.queries = Positions::range(4, 6),
                            .keys = Positions::range(0, 10),
                            .causal = causal,
                            .mask = at::ones({1, 1, 6, 10}, at::kBool)};
  };
  const std::vector<QueryPart> past = query_parts(context_of(true), 4);
  REQUIRE(past.size() == 2);
  CHECK(past[0].keys == 8);
  CHECK(past[1].first == 4);
  CHECK(past[1].count == 2);
  CHECK(past[1].keys == 10);
  const AttentionContext part = part_of(context_of(true), past[0]);
  CHECK(part.queries == Positions::range(4, 4));
  CHECK(part.keys == Positions::range(0, 8));
  CHECK(part.mask.sizes() == at::IntArrayRef({1, 1, 4, 8}));
  CHECK(query_parts(context_of(false), 4)[0].keys == 10);
}
