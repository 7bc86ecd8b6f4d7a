#include "analysis/reference_attention.h"

#include <ATen/ops/conv1d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/einsum.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "attention/position_session.h"
#include "base/error.h"
#include "config/schemes/cope.h"
#include "config/schemes/dape.h"
#include "config/schemes/deberta.h"
#include "config/schemes/dual_chunk.h"
#include "config/schemes/explicit_positions.h"
#include "config/schemes/fope.h"
#include "config/schemes/fox.h"
#include "config/schemes/music_transformer.h"
#include "config/schemes/nezha.h"
#include "config/schemes/path.h"
#include "config/schemes/rerope.h"
#include "config/schemes/self_extend.h"
#include "config/schemes/shaw.h"
#include "config/schemes/sinusoidal.h"
#include "config/schemes/stick_breaking.h"
#include "config/schemes/streaming.h"
#include "config/schemes/transformer_xl.h"
#include "position/relative_index.h"
#include "position/rotary_table.h"
#include "position/scheme_parts.h"
#include "position/sinusoidal.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

using Inputs = ReferenceAttentionInputs;

at::Tensor parameter(const Inputs& in, const std::string& name) {
  const Parameter* found = in.parameters.find(name);
  ROFORMER_ASSERT(found != nullptr);
  return found->value;
}

at::Tensor layer_tensor(const Inputs& in, const std::string& name) {
  return parameter(in, layer_parameter(in.context.layer, name));
}

// row(j - i) of every pair, [L, L] int64.
at::Tensor rows_of_pairs(const Inputs& in, const std::function<std::int64_t(std::int64_t)>& row) {
  const Positions &queries = in.context.queries, &keys = in.context.keys;
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < queries.count(); ++i) {
    for (std::int64_t j = 0; j < keys.count(); ++j) rows.push_back(row(keys[j] - queries[i]));
  }
  return at::tensor(rows, at::kLong).view({queries.count(), keys.count()}).to(in.context.device);
}

// table [R, D] -> [L, L, D]; [H, R, D] -> [H, L, L, D].
at::Tensor gathered(const at::Tensor& table, const at::Tensor& rows) {
  const at::Tensor all = table.index_select(-2, rows.flatten());
  return all.unflatten(-2, {rows.size(0), rows.size(1)});
}

// [R, M] W^T split in heads: [H, R, D].
at::Tensor by_heads(const Inputs& in, const at::Tensor& rows, const at::Tensor& weight) {
  return at::matmul(rows, weight.t())
      .unflatten(-1, {in.query.size(1), in.query.size(3)})
      .transpose(0, 1);
}

PairVectors shaw(const Inputs& in) {
  const auto& settings = in.settings.of<ShawSettings>();
  const at::Tensor rows = rows_of_pairs(in, [&](std::int64_t distance) {
    return std::clamp(distance, -settings.left, settings.right) + settings.left;
  });
  PairVectors result{.for_query = gathered(layer_tensor(in, "key"), rows)};
  if (settings.values) result.for_value = gathered(layer_tensor(in, "value"), rows);
  return result;
}

PairVectors nezha(const Inputs& in) {
  const auto& settings = in.settings.of<NezhaSettings>();
  const at::Tensor rows = rows_of_pairs(in, [&](std::int64_t distance) {
    return std::clamp(distance, -settings.clip, settings.clip) + settings.clip;
  });
  const at::Tensor vectors =
      gathered(sinusoid_table(Positions::range(0, 2 * settings.clip + 1), in.query.size(-1),
                              settings.base, SinusoidalLayout::interleaved)
                   .to(in.query.options()),
               rows);
  return {.for_query = vectors, .for_value = vectors};
}

PairVectors music_transformer(const Inputs& in) {
  const std::int64_t length = in.settings.of<MusicTransformerSettings>().length;
  const at::Tensor rows = rows_of_pairs(in, [&](std::int64_t distance) {
    return (in.context.causal ? std::min<std::int64_t>(distance, 0) : distance) + length - 1;
  });
  return {.for_query = gathered(layer_tensor(in, "table"), rows)};
}

PairVectors transformer_xl(const Inputs& in) {
  const auto& settings = in.settings.of<TransformerXlSettings>();
  const at::Tensor weight = layer_tensor(in, "weight");
  const std::int64_t reach = in.context.keys.count() - 1;
  std::vector<std::int64_t> past;
  for (std::int64_t distance = -reach; distance <= reach; ++distance) {
    past.push_back(settings.clamp > 0 ? std::clamp(-distance, -settings.clamp, settings.clamp)
                                      : -distance);
  }
  const at::Tensor table =
      sinusoid_table(Positions::of(past), weight.size(1), settings.base, SinusoidalLayout::concat)
          .to(weight.options());
  const auto vectors = [&](const char* name) {
    return settings.untie ? layer_tensor(in, name) : parameter(in, std::string("position.") + name);
  };
  return {.for_query = gathered(by_heads(in, table, weight),
                                rows_of_pairs(in, [&](auto distance) { return distance + reach; })),
          .query_bias = vectors("w"),
          .content_bias = vectors("u")};
}

PairVectors deberta(const Inputs& in) {
  const auto& settings = in.settings.of<DebertaSettings>();
  at::Tensor table = parameter(in, "position.table");
  if (settings.norm) {
    table = at::layer_norm(table, {table.size(1)}, parameter(in, "position.norm.weight"),
                           parameter(in, "position.norm.bias"), settings.norm_epsilon);
  }
  const auto vectors = [&](const char* name, const at::Tensor& shared_weight,
                           const at::Tensor& shared_bias, int sign) {
    const bool shared = settings.share_projections;
    const auto own = [&](const char* ending) {
      return layer_tensor(in, std::string(name) + ending);
    };
    at::Tensor projected = by_heads(in, table, shared ? shared_weight : own(".weight"));
    const at::Tensor bias = !settings.bias ? at::Tensor() : shared ? shared_bias : own(".bias");
    if (bias.defined()) projected = projected + bias.view({in.query.size(1), 1, in.query.size(3)});
    return gathered(projected, rows_of_pairs(in, [&](std::int64_t distance) {
                      return deberta_row(sign * distance, settings);
                    }));
  };
  const LayerProjections& layer = in.context.projections;
  PairVectors result;
  if (settings.content_to_position) {
    result.for_query = vectors("key", layer.key_weight, layer.key_bias, -1);
  }
  if (settings.position_to_content) {
    result.for_key = vectors("query", layer.query_weight, layer.query_bias,
                             settings.index == DebertaIndex::paper ? 1 : -1);
  }
  return result;
}

// q_i rotated by each pair's own angles [.., L, L, pairs]: [B, H, L, L, pairs] products.
at::Tensor rotated_by_angles(const Inputs& in, const at::Tensor& angles, RotaryLayout layout) {
  const std::int64_t width = in.query.size(-1), pairs = width / 2;
  const auto options = in.query.options();
  const at::Tensor cosine = angles.cos().to(options), sine = angles.sin().to(options);
  const bool interleaved = layout == RotaryLayout::interleaved;
  const auto halves = [&](const at::Tensor& x, std::int64_t axis) {
    const at::Tensor parts =
        interleaved ? x.unflatten(-1, {pairs, 2}).transpose(-2, -1) : x.unflatten(-1, {2, pairs});
    const at::Tensor a = parts.select(-2, 0), b = parts.select(-2, 1);
    return std::pair{a.unsqueeze(axis), b.unsqueeze(axis)};
  };
  const auto [qa, qb] = halves(in.query, 3);  // [B, H, L, 1, pairs]
  const auto [ka, kb] = halves(in.key, 2);
  const at::Tensor a = qa * cosine - qb * sine, b = qb * cosine + qa * sine;
  return (a * ka + b * kb).sum(-1) * in.scheme.score_scale(width);
}

template <class Settings>
PairVectors rotated_by_distance(const Inputs& in) {
  return {.scores = [&in] {
    const auto& settings = in.settings.of<Settings>();
    const auto counted = counted_distance(in.settings);
    std::vector<double> distances;
    for (std::int64_t i = 0; i < in.context.queries.count(); ++i) {
      for (std::int64_t j = 0; j < in.context.keys.count(); ++j) {
        distances.push_back(counted(in.context.queries[i], in.context.keys[j]));
      }
    }
    const at::Tensor angles =
        at::tensor(distances, at::kDouble)
            .view({in.context.queries.count(), in.context.keys.count(), 1}) *
        at::tensor(rotary_frequencies(in.query.size(-1), settings.base), at::kDouble);
    return rotated_by_angles(in, angles, settings.layout);
  }};
}

// The vector of each pair's contextual position, between two rows of the table.
PairVectors cope(const Inputs& in) {
  return {.scores = [&in] {
    const auto& settings = in.settings.of<CopeSettings>();
    const double scale = in.scheme.score_scale(in.query.size(-1));
    const at::Tensor scores = at::matmul(in.query, in.key.transpose(-2, -1)) * scale;
    const at::Tensor hidden =
        causal_mask(in.context.queries, in.context.keys).logical_not().to(scores.device());
    const at::Tensor gates = at::sigmoid(scores).masked_fill(hidden, 0);
    const at::Tensor position =
        gates.flip(-1).cumsum(-1).flip(-1).clamp_max(settings.positions - 1);
    const at::Tensor low = position.detach().floor(), high = position.detach().ceil();
    const at::Tensor table = layer_tensor(in, "table");
    const auto products = [&](const at::Tensor& rows) {
      const at::Tensor vectors =
          table.index_select(0, rows.to(at::kLong).flatten()).unflatten(0, rows.sizes());
      return (in.query.unsqueeze(3) * vectors).sum(-1) * (settings.scaled ? scale : 1);
    };
    return scores + products(high) * (position - low) + products(low) * (1 - position + low);
  }};
}

at::Tensor scaled_products(const Inputs& in) {
  return at::matmul(in.query, in.key.transpose(-2, -1)) * in.scheme.score_scale(in.query.size(-1));
}

// [L, L, L]: whether token l is one of j+1 .. i.
at::Tensor tokens_between(const Inputs& in) {
  const at::Tensor all = at::arange(in.query.size(2), at::kLong);
  const at::Tensor i = all.view({-1, 1, 1}), j = all.view({1, -1, 1}), l = all.view({1, 1, -1});
  return (l > j).logical_and(l <= i).to(in.query.options());
}

// The logarithms of all gates between a key and a query, added up for each pair.
PairVectors fox(const Inputs& in) {
  const auto& settings = in.settings.of<FoxSettings>();
  if (settings.gates != ForgetGates::trained || settings.rope_base > 0) return {};
  return {.scores = [&in] {
    const at::Tensor log_gates = at::log_sigmoid(in.token_inputs.squeeze(-1));
    return scaled_products(in) + at::einsum("ijl,bhl->bhij", {tokens_between(in), log_gates});
  }};
}

// Each key's share, times the remainder that every nearer key leaves.
PairVectors stick_breaking(const Inputs& in) {
  const auto& settings = in.settings.of<StickBreakingSettings>();
  const auto share = [&settings](const at::Tensor& scores) {
    const at::Tensor all = at::ones({scores.size(2), scores.size(3)}, at::kBool);
    return at::sigmoid(scores) * all.tril(settings.attend_current ? 0 : -1);
  };
  PairVectors result;
  const auto weights = [share](const at::Tensor& scores) {
    const at::Tensor shares = share(scores);
    std::vector<at::Tensor> columns;
    for (std::int64_t j = 0; j < scores.size(3); ++j) {
      const at::Tensor nearer = 1 - shares.narrow(3, j + 1, scores.size(3) - j - 1);
      columns.push_back(shares.select(3, j) * nearer.prod(3));
    }
    return at::stack(columns, 3);
  };
  result.weights = weights;
  if (settings.remainder == StickRemainder::none) return result;
  result.remainder_term = [&in, &settings](const at::Tensor& weights) {
    const at::Tensor remainder = 1 - weights.sum(3, true);
    return remainder * (settings.remainder == StickRemainder::value
                            ? in.value
                            : layer_tensor(in, "head_bias").unsqueeze(1));
  };
  return result;
}

// Rotates by the difference of each pair's positions and applies penalties for it, without a shared
// table.
PairVectors explicit_positions(const Inputs& in) {
  return {.scores = [&in] {
    const auto& settings = in.settings.of<ExplicitPositionsSettings>();
    const at::Tensor positions = key_positions(in.context);
    const at::Tensor past = positions.unsqueeze(2) - positions.unsqueeze(1);  // [B or 1, L, L]
    const at::Tensor plain = scaled_products(in);
    const auto slopes = at::tensor(alibi_slopes(in.query.size(1)), at::kDouble).view({-1, 1, 1});
    if (settings.form == ExplicitForm::alibi) {
      return plain - (slopes * past.clamp_min(0).unsqueeze(1)).to(plain.options());
    }
    if (settings.form == ExplicitForm::noisy_alibi) {
      at::Tensor distances = at::zeros({past.size(1), past.size(1)}, at::kDouble);
      for (std::int64_t i = 0; i < past.size(1); ++i) {
        for (std::int64_t j = 0; j < past.size(1); ++j) {
          distances[i][j] = positions[0][std::abs(i - j)] - (j < i ? 0.5 : 0.0);
        }
      }
      return plain - (slopes * distances).to(plain.options());
    }
    if (settings.form != ExplicitForm::rope) return plain;
    const at::Tensor angles =
        past.unsqueeze(-1) *
        at::tensor(rotary_frequencies(in.query.size(-1), settings.base), at::kDouble);
    return rotated_by_angles(in, angles.unsqueeze(1), settings.layout);
  }};
}

// The network at every pair at once, with its hidden layer in memory.
PairVectors dape(const Inputs& in) {
  return {.scores = [&in] {
    const auto& settings = in.settings.of<DapeSettings>();
    at::Tensor scores = scaled_products(in);
    at::Tensor channels = scores, bias = at::zeros({1}, scores.options());
    const at::Tensor all = at::arange(in.query.size(2), at::kDouble);
    const at::Tensor distance = all.unsqueeze(1) - all.unsqueeze(0);
    if (settings.kind == DapeKind::rope) {
      const at::Tensor frequencies =
          at::tensor(rotary_frequencies(in.query.size(-1), settings.base), at::kDouble);
      scores = rotated_by_angles(in, distance.unsqueeze(-1) * frequencies, RotaryLayout::half);
      channels = scores;
    } else {
      const at::Tensor past = distance.clamp_min(0).to(scores.options());
      const auto of_heads = [](const at::Tensor& x) { return x.view({-1, 1, 1}); };
      bias = settings.kind == DapeKind::alibi
                 ? past * -of_heads(at::tensor(alibi_slopes(in.query.size(1)), scores.options()))
                 : -of_heads(layer_tensor(in, "r1")) *
                       at::log1p(of_heads(layer_tensor(in, "r2")) * past);
      channels = at::cat({scores, bias.unsqueeze(0).expand_as(scores)}, 1);
    }
    if (settings.kernel > 1) channels = channels * (distance >= 0);
    const auto layer = [&](const at::Tensor& x, const std::string& name) {
      const at::Tensor weight = layer_tensor(in, name + ".weight");  // [K, in, out]
      const at::Tensor kernel = (weight.dim() == 2 ? weight.unsqueeze(0) : weight)
                                    .permute({2, 1, 0})
                                    .unsqueeze(2);  // [out, in, 1, K]
      return at::conv2d(x, kernel, layer_tensor(in, name + ".bias"), at::IntArrayRef{1, 1},
                        at::IntArrayRef{0, settings.kernel / 2});
    };
    const at::Tensor hidden = at::leaky_relu(layer(channels, "first"), settings.slope);
    return scores + bias + layer(hidden, "second");
  }};
}

// Each head's matrix for each position, from sums over all frequencies written out.
PairVectors fope(const Inputs& in) {
  return {.scores = [&in] {
    const auto& settings = in.settings.of<FopeSettings>();
    const std::int64_t pairs = in.query.size(-1) / 2;
    // The fastest frequencies, as many as there are coefficients.
    std::vector<double> all =
        rotary_frequencies(std::max(settings.fourier_dim, in.query.size(-1)), settings.base);
    all.resize(static_cast<std::size_t>(layer_tensor(in, "cosine").size(1)));
    const at::Tensor frequencies = at::tensor(all, at::kDouble);
    const auto rotated_plainly = [&](const at::Tensor& x, const Positions& positions) {
      const at::Tensor angles =
          positions.tensor().to(at::kDouble).unsqueeze(1) * frequencies;  // [L, n]
      const auto table = [&](const at::Tensor& waves, const char* name, double rest) {
        const at::Tensor coefficients = layer_tensor(in, name);
        const at::Tensor sums = at::einsum("lf,hft->hlt", {waves.to(x.options()), coefficients});
        return at::constant_pad_nd(sums, {0, pairs - sums.size(2)}, rest);
      };
      const at::Tensor cosine = table(angles.cos(), "cosine", 1);
      const at::Tensor sine = table(angles.sin(), "sine", settings.pad_sin);
      const at::Tensor a = x.narrow(-1, 0, pairs), b = x.narrow(-1, pairs, pairs);
      return at::cat({a * cosine - b * sine, b * cosine + a * sine}, -1);
    };
    return at::matmul(rotated_plainly(in.query, in.context.queries),
                      rotated_plainly(in.key, in.context.keys).transpose(-2, -1)) *
           in.scheme.score_scale(in.query.size(-1));
  }};
}

// r = q_i; from the nearest key to the farthest: S_ij = r.k_j, then r loses its part along w_j.
PairVectors path(const Inputs& in) {
  return {.scores = [&in] {
    const auto& settings = in.settings.of<PathSettings>();
    const std::int64_t width = in.query.size(-1), length = in.query.size(2);
    at::Tensor w = in.token_inputs.narrow(-1, 0, width);
    if (settings.convolution > 0) {
      const at::Tensor flat = w.transpose(-2, -1).flatten(1, 2);  // [B, H D, L]
      const at::Tensor kernel = layer_tensor(in, "convolution").unsqueeze(1);
      const at::Tensor mixed =
          at::conv1d(at::constant_pad_nd(flat, {settings.convolution - 1, 0}), kernel,
                     /*bias=*/{}, at::IntArrayRef{1}, at::IntArrayRef{0}, at::IntArrayRef{1},
                     /*groups=*/flat.size(1));
      w = at::silu(mixed).view({w.size(0), w.size(1), width, length}).transpose(-2, -1);
    }
    w = w / (w.square().sum(-1, true) + settings.epsilon).sqrt();
    const at::Tensor beta = 2 * at::sigmoid(in.token_inputs.select(-1, width));
    std::vector<at::Tensor> rows;
    for (std::int64_t i = 0; i < length; ++i) {
      at::Tensor rest = in.query.select(2, i);
      std::vector<at::Tensor> row;
      for (std::int64_t j = length - 1; j >= 0; --j) {
        row.push_back((rest * in.key.select(2, j)).sum(-1));
        if (j > i) continue;
        const at::Tensor along = (rest * w.select(2, j)).sum(-1) * beta.select(2, j);
        rest = rest - along.unsqueeze(-1) * w.select(2, j);
      }
      rows.push_back(at::stack(row, -1).flip(-1));
    }
    const double scale = in.scheme.score_scale(width);
    const at::Tensor scores = at::stack(rows, 2) * scale;
    if (!settings.forget_gate) return scores;
    const at::Tensor log_gates = at::log_sigmoid(in.token_inputs.select(-1, width + 1));
    return scores + at::einsum("ijl,bhl->bhij", {tokens_between(in), log_gates}) *
                        (settings.gate_scaled ? scale : 1);
  }};
}

}  // namespace

std::function<double(std::int64_t, std::int64_t)> counted_distance(
    const PositionSettings& settings) {
  if (settings.scheme == "self_extend") {
    return [own = settings.of<SelfExtendSettings>()](auto i, auto j) {
      return self_extend_distance(i, j, own);
    };
  }
  if (settings.scheme == "dual_chunk") {
    return [own = settings.of<DualChunkSettings>()](auto i, auto j) {
      return dual_chunk_distance(i, j, own);
    };
  }
  if (settings.scheme == "streaming") {
    return [own = settings.of<StreamingSettings>()](auto i, auto j) {
      return streaming_distance(i, j, own);
    };
  }
  ROFORMER_ASSERT(settings.scheme == "rerope");
  return [own = settings.of<ReropeSettings>()](auto i, auto j) {
    return rerope_distance(static_cast<double>(i - j), own);
  };
}

PairVectors pair_vectors(const ReferenceAttentionInputs& in) {
  static const std::map<std::string, PairVectors (*)(const Inputs&)> kSchemes{
      {"shaw", shaw},
      {"nezha", nezha},
      {"music_transformer", music_transformer},
      {"transformer_xl", transformer_xl},
      {"deberta", deberta},
      {"rerope", rotated_by_distance<ReropeSettings>},
      {"self_extend", rotated_by_distance<SelfExtendSettings>},
      {"dual_chunk", rotated_by_distance<DualChunkSettings>},
      {"streaming", rotated_by_distance<StreamingSettings>},
      {"cope", cope},
      {"fox", fox},
      {"stick_breaking", stick_breaking},
      {"explicit_positions", explicit_positions},
      {"dape", dape},
      {"fope", fope},
      {"path", path}};
  const bool biased = in.settings.scheme == "streaming" &&
                      in.settings.of<StreamingSettings>().form == StreamingForm::alibi;
  if (biased) return {};
  const auto found = kSchemes.find(in.settings.scheme);
  return found == kSchemes.end() ? PairVectors{} : found->second(in);
}

}  // namespace roformer
