// Parts of single schemes as functions, for analysis/golden_*, plots, tests, and schemes that build
// on another scheme. Section numbers refer to the specification (tests/position/golden).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "config/schemes/dual_chunk.h"
#include "config/schemes/explicit_positions.h"
#include "config/schemes/fire.h"
#include "config/schemes/fope.h"
#include "config/schemes/none.h"
#include "config/schemes/rerope.h"
#include "config/schemes/sandwich.h"
#include "config/schemes/self_extend.h"
#include "config/schemes/streaming.h"
#include "config/schemes/xpos.h"
#include "position/positions.h"
#include "position/scheme.h"

namespace roformer {

// ReRoPE: the distance that replaces `past` = i - j. Inside the window it is `past` itself; beyond
// it, the window (ReRoPE) or a distance that grows at the rate 1 / leak (leaky). The sign is kept
// (section 11).
double rerope_distance(double past, const ReropeSettings& settings);

// SelfExtend: the distance that query i uses for key j <= i; 0 for a later key (section 25).
double self_extend_distance(std::int64_t i, std::int64_t j, const SelfExtendSettings& settings);

// Dual chunk attention: the distance that query i uses for key j <= i; 0 for a later key (section
// 27). The settings must be resolved.
double dual_chunk_distance(std::int64_t i, std::int64_t j, const DualChunkSettings& settings);

// StreamingLLM and LM-Infinite: whether query i sees key j (section 26).
bool streaming_sees(std::int64_t i, std::int64_t j, const StreamingSettings& settings);
// The distance that query i uses for key j; 0 for a key that it does not see.
double streaming_distance(std::int64_t i, std::int64_t j, const StreamingSettings& settings);

// ALiBi's slopes: 2^(-8h/H), h = 1 .. H, if H is a power of two; else the slopes of the next lower
// power and every second one of the next higher power (Press 2022, the authors' code).
std::vector<double> alibi_slopes(std::int64_t heads);
// ALiBi with given slopes [H]: -left (i - j) for j <= i and -right (j - i) for j > i.
std::unique_ptr<PositionScheme> make_alibi_of_slopes(at::Tensor left, at::Tensor right);

// Explicit positions: `count` different numbers out of first .. first + size - 1, in order. All
// sets are equally likely (Knuth, algorithm S); the result is a function of the key.
std::vector<double> sorted_sample(std::int64_t count, std::int64_t first, std::int64_t size,
                                  std::uint64_t key);
// The scheme with given slopes [H], for the forms alibi and noisy_alibi.
std::unique_ptr<PositionScheme> make_explicit_positions_of_slopes(
    const ExplicitPositionsSettings& settings, const at::Tensor& slopes);

// FIRE with given tensors for its layers.
struct FireLayer {
  struct Network {                    // linear maps with ReLU between them, 1 -> .. -> H features
    std::vector<at::Tensor> weights;  // [out, in]
    std::vector<at::Tensor> biases;   // [out]
  };
  at::Tensor slope;      // [1]: c
  at::Tensor threshold;  // [1]: L_mult, a factor of the initial length
  Network network;
};
std::unique_ptr<PositionScheme> make_fire_of(const FireSettings& settings,
                                             std::vector<FireLayer> layers);

// FoPE's frequencies: base^(-2i/dim) with dim = max(fourier_dim, head width), without the
// frequencies that complete less than floor_ratio rotations in the training length.
std::vector<double> fope_frequencies(const FopeSettings& settings, std::int64_t head_width,
                                     std::int64_t training_length);

// FoPE's initial coefficients, [frequencies, pairs] float64: pair t has only frequency t *
// ceil(frequencies / pairs).
at::Tensor fope_identity(std::int64_t frequencies, std::int64_t pairs);

// Forget gates: the sum c of ln sigmoid(z) up to each token: [.., L] -> [.., L], in float64 for any
// type of z. `before` [.., 1] is the sum up to the previous token, or undefined. Lin 2025, eq. 5.
at::Tensor summed_log_gates(const at::Tensor& logits, const at::Tensor& before = {});
// The initial biases of the gates: b_h = -ln(expm1(1 / t_h)), so that ln sigmoid(b_h) = -1 / t_h.
// The logarithms of t_h go from the shortest to the longest time in equal steps.
std::vector<double> forget_gate_biases(std::int64_t heads, double shortest, double longest);

// The temperature of the query at position i without positions:
// 1 + attention_scale * ln(1 + floor((i + 1) / floor_scale)) (Llama 4).
double query_temperature(std::int64_t i, const NoneSettings& settings);

// Sandwich with given coefficients [H] of the heads.
std::unique_ptr<PositionScheme> make_sandwich_of(const SandwichSettings& settings,
                                                 at::Tensor coefficients);

// Stick-breaking: A_ij = sigmoid(s_ij) times all 1 - sigmoid(s_il) of the visible keys l > j; the
// remainder is the product over all of them. scores [B, H, Lq, Lk] in the accumulating type,
// overwritten on CPUs; mask bool, broadcastable, true = visible; undefined: all. Tan 2025, eq. 3
// and 4.
AttentionWeights stick_breaking_weights(const at::Tensor& scores, const at::Tensor& mask);

// xPos: zeta_i = (2i / width + gamma) / (1 + gamma), i = 0 .. width/2 - 1.
std::vector<double> xpos_zeta(std::int64_t width, double gamma);
// The logarithm of the growth of a pair of q per position: ln(zeta_i) / scale_base.
std::vector<double> xpos_growth(const XposSettings& settings, std::int64_t width);
// Block-causal attention: bool [Lq, Lk], true where j <= i and j is in i's block or the previous
// one (section 3.3).
at::Tensor block_causal_mask(const Positions& queries, const Positions& keys, std::int64_t block);

// CoPE (Golovneva 2024) counts positions by gates of the content: p_ij = min(sum over t = j..i of
// sigmoid(scores_it), positions - 1), where hidden keys count 0. scores [B, H, Lq, Lk] and a mask
// as in AttentionContext -> the same shape as scores.
at::Tensor contextual_positions(const at::Tensor& scores, const at::Tensor& mask,
                                std::int64_t positions);

// CoPE's scores: scores_ij + products_i [positions] interpolated at p_ij, in place on CPUs.
// products [B, H, Lq, positions]. No gradient flows through floor, ceil and min.
at::Tensor add_contextual_products(const at::Tensor& scores, const at::Tensor& products,
                                   const at::Tensor& mask);

// PaTH: scores q_i H_i H_i-1 .. H_j+1 k_j with H_l = I - beta_l w_l w_l^T. Chunks carry the keys
// forward, so no matrix [D, D] is ever built.
struct HouseholderInputs {
  at::Tensor query;  // [B, H, Lq, D], of the last Lq tokens
  at::Tensor key;    // [B, H, Lk, D], the first `settled` ones as the token after them sees them
  at::Tensor w;      // [B, H, Lk - settled, D], of the other tokens, about unit length
  at::Tensor beta;   // [B, H, Lk - settled]
  std::int64_t settled = 0;
  double scale = 1;
};

// scale * the products -> [B, H, Lq, Lk], 0 for keys after the query. Differentiable, composed of
// LibTorch's operations. Yang 2025, section 3.
at::Tensor householder_scores(const HouseholderInputs& inputs);
// All keys as the token after them sees them, [B, H, Lk, D].
at::Tensor settled_keys(const HouseholderInputs& inputs);

// DAPE's network: two layers over the heads at each pair, computed for a few rows at a time to
// bound memory.
struct ScoreNetwork {
  at::Tensor first_weight;   // [K, C, w]: K neighbouring keys, C channels
  at::Tensor first_bias;     // [w]
  at::Tensor second_weight;  // [K, w, H]
  at::Tensor second_bias;    // [H]
  double slope = 0.01;       // of the LeakyReLU between them
};

struct ScoreNetworkInputs {
  at::Tensor scores;  // A [B, H, Lq, Lk] in the accumulating type
  at::Tensor bias;    // b [H, Lq, Lk], then C = 2H; undefined: C = H
  at::Tensor past;    // bool [Lq, Lk]: pairs that the first layer sees; undefined: all
  // Whether a mask hides all keys after each of the last Lq tokens. Loops then skip them, for a
  // network that reads no neighbours, and give 0.
  bool causal = false;
  ScoreNetwork network;
};

// A + b + f(A, b) -> [B, H, Lq, Lk], with gradients of everything but `past`. The backward pass
// computes hidden layers again.
at::Tensor with_score_network(const ScoreNetworkInputs& inputs);

}  // namespace roformer
