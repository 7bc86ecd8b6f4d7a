#include "config/position_facts.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace roformer {
namespace {

constexpr std::array kFacts{
    PositionFacts{.name = "sinusoidal",
                  .family = "absolute",
                  .linear_attention = true,
                  .shift_invariant = false,
                  .formula = "e_i = x_i + p_i, p_i = sines and cosines of i theta_t",
                  .cost = "L*M additions, once",
                  .longer = "runs, degrades",
                  .paper = "Vaswani 2017, 3.5"},
    PositionFacts{.name = "learned",
                  .family = "absolute",
                  .linear_attention = true,
                  .shift_invariant = false,
                  .formula = "e_i = x_i + table_i",
                  .cost = "L*M additions, once",
                  .longer = "refused beyond the table",
                  .paper = "Devlin 2019 (BERT)"},
    PositionFacts{.name = "none",
                  .family = "none",
                  .linear_attention = true,
                  .formula = "nothing; a causal mask alone tells places apart",
                  .cost = "nothing",
                  .longer = "runs, degrades",
                  .paper = "Kazemnejad 2023 (NoPE)"},
    PositionFacts{
        .name = "shaw",
        .family = "relative",
        .formula = "S_ij += q_i.aK[r] / sqrt(D), o_i += sum_j P_ij aV[r], r = clip(j - i)",
        .cost = "2 products with 2k+1 rows, score matrix in memory",
        .longer = "yes, distances are clipped",
        .paper = "Shaw 2018"},
    PositionFacts{.name = "music_transformer",
                  .family = "relative",
                  .formula = "S_ij += q_i.E[j - i] / sqrt(D), a table for each head",
                  .cost = "1 product with L rows, score matrix in memory",
                  .longer = "refused beyond the table",
                  .paper = "Huang 2018"},
    PositionFacts{.name = "nezha",
                  .family = "relative",
                  .formula = "Shaw's form with fixed sines and cosines of the clipped distance",
                  .cost = "as shaw",
                  .longer = "yes, distances are clipped",
                  .paper = "Wei 2019"},
    PositionFacts{.name = "transformer_xl",
                  .family = "relative",
                  .formula = "S_ij = ((q_i + u).k_j + (q_i + w).(R_{i-j} W)) / sqrt(D)",
                  .cost = "1 product with 2L-1 rows, score matrix in memory",
                  .longer = "yes",
                  .paper = "Dai 2019, 3.3"},
    PositionFacts{.name = "t5",
                  .family = "bias",
                  .formula = "S_ij += bias[bucket(j - i)], for each head",
                  .cost = "fused attention with a bias of H*L*L",
                  .longer = "yes, far distances share a bucket",
                  .paper = "Raffel 2020"},
    PositionFacts{
        .name = "tupe",
        .family = "bias",
        .shift_invariant = false,
        .formula =
            "S_ij = q_i.k_j / sqrt(2D) + (p_i U).(p_j V) / sqrt(2D) [+ T5's bias], [CLS] untied",
        .cost = "a bias of H*L*L once for all layers",
        .longer = "refused beyond the table",
        .paper = "Ke 2021"},
    PositionFacts{.name = "deberta",
                  .family = "relative",
                  .formula = "S_ij = (q_i.k_j + q_i.Kr[i-j] + k_j.Qr[j-i]) / sqrt(3D)",
                  .cost = "2 products with 2k rows, score matrix in memory",
                  .longer = "yes, distances are clipped",
                  .paper = "He 2021"},
    PositionFacts{.name = "alibi",
                  .family = "bias",
                  .formula = "S_ij -= m_h |i - j|, fixed slopes m_h",
                  .cost = "fused attention with a constant bias",
                  .longer = "yes",
                  .paper = "Press 2022"},
    PositionFacts{
        .name = "kerple",
        .family = "bias",
        .formula =
            "S_ij -= r1 ln(1 + r2 |i - j|) or r1 |i - j|^r2, trained for each head and layer",
        .cost = "fused attention with a bias of each layer",
        .longer = "yes",
        .paper = "Chi 2022"},
    PositionFacts{.name = "fire",
                  .family = "bias",
                  .shift_invariant = false,
                  .formula = "S_ij += MLP(ln(1 + c|i-j|) / ln(1 + c max(i, L0)))",
                  .cost = "a small network on L*L numbers, each layer",
                  .longer = "yes",
                  .paper = "Li 2024"},  // divides by the query's position
    PositionFacts{.name = "sandwich",
                  .family = "bias",
                  .formula = "S_ij += c_h sum_t cos((i - j) theta_t)",
                  .cost = "fused attention with a constant bias",
                  .longer = "yes",
                  .paper = "Chi 2023"},
    PositionFacts{.name = "cope",
                  .family = "relative",
                  .causal_only = true,
                  .formula = "S_ij += q_i.e[p_ij], p_ij = gates sigmoid(S_it) summed over t = j..i",
                  .cost = "1 product with npos rows, 2 score matrices in memory",
                  .longer = "yes, positions are cut at npos",
                  .paper = "Golovneva 2024"},
    PositionFacts{.name = "rope",
                  .family = "rotary",
                  .linear_attention = true,
                  .rotary = true,
                  .formula = "S_ij = (R_i q_i).(R_j k_j) / sqrt(D), R_i turns pairs by i theta_t",
                  .cost = "6 operations a pair of q and k",
                  .longer = "degrades; see position.rope.scaling",
                  .paper = "Su 2021 (RoFormer), eq. 16"},
    PositionFacts{.name = "xpos",
                  .family = "rotary",
                  .causal_only = true,
                  .rotary = true,
                  .formula = "as rope, each pair times zeta_t^((i-j)/512)",
                  .cost = "as rope",
                  .longer = "yes, with block-causal attention",
                  .paper = "Sun 2022"},
    PositionFacts{.name = "rerope",
                  .family = "rotary",
                  .rotary = true,
                  .formula = "as rope with distances cut at a window, or growing at 1/k beyond it",
                  .cost = "a second score product for far pairs, score matrix in memory",
                  .longer = "yes",
                  .paper = "Su, kexue.fm/archives/9708"},
};

}  // namespace

std::span<const PositionFacts> position_facts() {
  return kFacts;
}

const PositionFacts* find_position_facts(std::string_view name) {
  for (const PositionFacts& facts : kFacts) {
    if (facts.name == name) return &facts;
  }
  return nullptr;
}

std::vector<std::string> position_names() {
  std::vector<std::string> names;
  for (const PositionFacts& facts : kFacts) names.emplace_back(facts.name);
  return names;
}

std::int64_t maximal_length(const PositionSettings& position) {
  if (position.scheme == "learned") {
    const std::int64_t rows = position.learned.length;
    return position.learned.hierarchical ? rows * rows : rows;
  }
  if (position.scheme == "music_transformer") return position.music_transformer.length;
  if (position.scheme == "tupe") return position.tupe.length;
  if (position.scheme == "xpos") {
    // The first pair's factor is ((1 + gamma) / gamma)^(place / scale_base) in k, its inverse in q.
    constexpr double kLargestExponent = 80;  // float ends at e^88.7; the rest is for q and k
    const PositionSettings::Xpos& xpos = position.xpos;
    const double exponent = std::log((1 + xpos.gamma) / xpos.gamma) / xpos.scale_base;
    return std::max<std::int64_t>(1, std::llround(std::min(1e9, kLargestExponent / exponent)));
  }
  return 0;
}

}  // namespace roformer
