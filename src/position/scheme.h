// The interface of a positional scheme. A scheme is one class in one file and overrides only the
// hooks that it needs: a new rotary scheme needs only `rotation` (see rope.cpp). Attention calls
// these hooks and never asks for a scheme's name. Shapes: B batch, L length, Lq queries, Lk keys, M
// width, H heads, D head width. Masks are true where a key is visible. tests/position/golden
// specifies every scheme.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/position_facts.h"
#include "config/position_settings.h"
#include "position/positions.h"
#include "tensor/parameters.h"
#include "tensor/relative_terms.h"
#include "tensor/rotation.h"

namespace roformer {

// The dimensions of the model, for a scheme that creates parameters.
struct ModelShape {
  std::int64_t layers = 0;
  std::int64_t width = 0;            // M
  std::int64_t embedding_width = 0;  // E, the width of the token embeddings; 0: M
  std::int64_t heads = 0;            // H
  std::int64_t head_width = 0;       // D
  bool causal = false;
  std::int64_t training_length = 0;
  at::ScalarType type = at::kFloat;  // of the parameters

  std::int64_t width_of_embedding() const { return embedding_width > 0 ? embedding_width : width; }
};

// The attention layer's own projections, for schemes that share them. x W^T, W [H*D, M].
struct LayerProjections {
  at::Tensor query_weight;
  at::Tensor key_weight;
  at::Tensor query_bias = {};  // [H*D] or undefined
  at::Tensor key_bias = {};
};

// One attention call: the positions of its queries and keys. Lq < Lk when decoding or with a
// memory.
struct AttentionContext {
  Positions queries;
  Positions keys;
  std::int64_t layer = 0;
  bool causal = false;
  bool training = false;
  at::Tensor mask;  // bool, broadcastable to [B, H, Lq, Lk], with causality; undefined: all visible
  at::ScalarType type = at::kFloat;  // of tables and biases
  at::Device device = at::kCPU;
  LayerProjections projections;
  // cached_token_inputs() of all keys, [B, H, Lk, F]; the queries are the last Lq of them. Only for
  // schemes with token inputs.
  at::Tensor token_inputs;
  // Inside a stack: the scheme's shared_parameters() for this layer. Empty: use the scheme's
  // directly.
  std::vector<at::Tensor> shared;
  // The drawn positions of all keys, float64 [B or 1, Lk]; the queries are the last Lq of them.
  // Undefined: none were drawn, so `keys` applies.
  at::Tensor drawn_positions;
};

// The positions of the keys, or of the queries: float64 [B or 1, L] on the host.
at::Tensor key_positions(const AttentionContext& context);
at::Tensor query_positions(const AttentionContext& context);
// The same call with only the queries as keys, so that rotating them needs no table of all keys.
AttentionContext at_own_positions(const AttentionContext& context);

// The shared parameter number `index` in the form that this layer must use; outside a stack, `own`.
inline const at::Tensor& shared_parameter(const AttentionContext& context, std::size_t index,
                                          const at::Tensor& own) {
  return context.shared.empty() ? own : context.shared.at(index);
}

// The inputs of scores(). Vectors are [B, H, L, D], scores [B, H, Lq, Lk].
struct ScoreTerms {
  at::Tensor query;      // rotated
  at::Tensor key;        // rotated
  at::Tensor raw_query;  // before the rotation
  at::Tensor raw_key;
  at::Tensor scores;  // scale * query.key, before any bias or mask; undefined: ContentScores::own
  double scale = 1;
};

// The results of scores() and value_term() as terms, which tiled attention adds without storing the
// scores.
struct RelativeForm {
  std::vector<RelativeTerm> terms = {};
  at::Tensor query_shift = {};  // [H, D], added to every query before all products; or undefined
  at::Tensor bias = {};  // by difference of positions, [H, 2L - 1], after the scale; or undefined
};

// The result of a scheme that replaces the softmax.
struct AttentionWeights {
  at::Tensor weights;    // [B, H, Lq, Lk], 0 where hidden
  at::Tensor remainder;  // [B, H, Lq]: 1 minus the sum of the weights
};

// The inputs of draw_positions().
struct DrawInputs {
  std::span<const std::int64_t> lengths;  // number of tokens of each sequence
  bool training = false;
  std::uint64_t key = 0;  // random numbers are functions of this key, which the batch gives
  // If this is a part of a batch: the number of sequences before the part, and the length of the
  // longest sequence in the batch (0: this is the whole batch).
  std::int64_t first = 0, longest = 0;
  at::Tensor earlier;         // decoding: the positions of the tokens before, [1, L']
  std::int64_t expected = 0;  // decoding: the longest the text may become, in tokens; 0: unknown
};

enum class TokenSide { query, key };

// The keys that a key-value cache stores.
enum class CachedKeys { rotated, unrotated };

// Whether scores() does nothing, changes q.k, or computes all scores itself (then q.k is not
// computed).
enum class ContentScores { none, changed, own };

// The dependences of a bias that all sequences of a batch share and that is computed once per
// batch.
struct BiasDependence {
  bool on_layer = false;   // false: all layers share one bias
  bool on_length = false;  // on the number of keys
  // Whether it depends only on the distance key - query. bias_at() then gives the bias by distance,
  // bias() expands it, and tiled attention never stores it for all pairs.
  bool on_distance_alone = false;
};

// The hooks that a scheme implements. Attention chooses its kernel by these fields before it
// computes anything. It calls a hook with a field here only if the field is set. The value never
// changes for a scheme.
struct SchemeCapabilities {
  bool transform = false;  // transformed() replaces rotation()
  std::optional<BiasDependence> bias;
  bool bias_of_positions = false;  // bias() differs between sequences; then `bias` is empty
  bool running_sums = false;
  ContentScores scores = ContentScores::none;
  bool changes_keys = false;  // later tokens change the keys of earlier ones: changed_keys()
  bool weights = false;       // weights() replaces the softmax
  bool value_term = false;
  bool relative_form = false;  // relative_form() says all that scores() and value_term() do
  bool attends = false;        // attended() makes scores, softmax and output in one operation
  bool token_inputs = false;
  // cached_token_inputs() of one token reads this many tokens before it. A cache keeps them even
  // after attention no longer sees them.
  std::int64_t token_inputs_before = 0;
  bool draws_positions = false;
  // False if a token's result depends on how many tokens follow it, even unseen ones: such results
  // cannot be cached. dynamic_ntk is cached although its angles change with the length. Its cache
  // keeps unrotated keys, and earlier results keep the angles that they were computed with, so
  // reading a text again can give other logits than generating it did.
  bool can_cache = true;
  CachedKeys cached_keys = CachedKeys::rotated;

  // Cross-attention supports only schemes for which this is true.
  bool only_rotates() const {
    return !bias && !bias_of_positions && !running_sums && scores == ContentScores::none &&
           !changes_keys && !weights && !value_term && !transform && !token_inputs &&
           !draws_positions;
  }
};

// The contents of a picture of a scheme that rotates pairs of features by fixed frequencies.
struct FrequencyPicture {
  struct Variant {  // the scheme as configured, or with another scaling
    std::string name;
    std::vector<double> frequencies;  // radians per token, one for each pair
  };
  struct Mark {
    double wavelength = 0;  // tokens
    std::string label;
  };
  std::vector<Variant> variants;
  std::vector<Mark> marks;  // wavelengths to mark with a line
  std::int64_t training_length = 0;
};

// A scheme overrides the hooks of its group and leaves the others alone:
//   adds to the embeddings     embedding                          (sinusoidal, learned)
//   rotates queries and keys   rotation or transformed            (rope, xpos, fope)
//   biases the scores          bias, bias_at, running_sums        (t5, alibi, kerple, fox)
//   rewrites the scores        scores, changed_keys, value_term   (shaw, deberta, path)
//   replaces the softmax       weights, remainder_term            (stick_breaking)
// Every default means "nothing". A hook with a field in SchemeCapabilities is only called where
// capabilities() sets that field.
class PositionScheme {
 public:
  virtual ~PositionScheme() = default;

  virtual SchemeCapabilities capabilities() const { return {}; }

  // --- Adds to the embeddings ---

  // Added to the token embedding: [L, M]; undefined: nothing.
  virtual at::Tensor embedding(const Positions& positions) const { return {}; }

  // --- Rotates queries and keys ---

  // `width`: the head width D or, with linear attention, the width of the feature map.
  virtual std::optional<RotationPair> rotation(const AttentionContext& context,
                                               std::int64_t width) const {
    return std::nullopt;
  }
  // Replaces rotation() where one table of angles is not enough: separate tables for heads or
  // sequences, or factors off the unit circle. x [B, H, L, D] holds the queries at context.queries
  // or the keys at context.keys.
  virtual at::Tensor transformed(const AttentionContext& context, const at::Tensor& x,
                                 TokenSide side) const {
    return x;
  }

  // --- Biases the scores ---

  // A bias that does not depend on the content, added after scaling: [1, H, Lq, Lk], or [B or 1, H,
  // Lq, Lk] if it depends on drawn positions.
  virtual at::Tensor bias(const AttentionContext& context) const;
  // The bias by distance key - query, for every distance that occurs in the context, in order:
  // float64 [R] -> [1 or H, R] in the context's type.
  virtual at::Tensor bias_at(const AttentionContext& context, const at::Tensor& distances) const {
    return {};
  }
  // A sum c for each key, float64 [B, H, Lk]; query i adds c_i - c_j to its score of key j. The
  // matrix of differences is built only if other terms need one.
  virtual at::Tensor running_sums(const AttentionContext& context) const { return {}; }
  // The factor of the content scores q.k: 1/sqrt(D) by default.
  virtual double score_scale(std::int64_t head_width) const;
  // Hides keys beyond the model's mask: bool [Lq, Lk], true = visible; undefined: hides nothing.
  virtual at::Tensor mask(const AttentionContext& context) const { return {}; }

  // --- Rewrites the scores from the content ---

  // Returns the new scores; may change terms.scores in place.
  virtual at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const {
    return terms.scores;
  }
  // The same as scores() and value_term() together, for the L contiguous positions of the context's
  // keys, which are its queries.
  virtual RelativeForm relative_form(const AttentionContext& context) const { return {}; }
  // The causal softmax attention of a text's tokens to each other by scores(), which it never
  // stores for all pairs: [B, H, L, D] each -> [B, H, L, D]. Asked on CPUs only.
  virtual at::Tensor attended(const AttentionContext& context, const at::Tensor& query,
                              const at::Tensor& key, const at::Tensor& value) const {
    return {};
  }
  // Parameters that all layers share and that scores() reads several times per layer (for instance,
  // once for each length in a batch). Their gradients are summed layer by layer in a fixed order,
  // even if layers are recomputed.
  virtual std::vector<at::Tensor> shared_parameters() const { return {}; }
  // Updates the keys of earlier tokens, [B, H, Lk, D], from their state for the context's queries
  // to their state for the token after those queries. Earlier calls and scores() have already
  // updated the keys before the queries.
  virtual at::Tensor changed_keys(const AttentionContext& context, const at::Tensor& key) const {
    return key;
  }
  // A term of the output, computed from the probabilities [B, H, Lq, Lk]: [B, H, Lq, D].
  virtual at::Tensor value_term(const AttentionContext& context,
                                const at::Tensor& probabilities) const {
    return {};
  }

  // --- Replaces the softmax ---

  // May overwrite the scores. The mask is in the context.
  virtual AttentionWeights weights(const AttentionContext& context,
                                   const at::Tensor& scores) const {
    return {};
  }
  // A term of the output, computed from the remainders [B, H, Lq] of the weights: [B, H, Lq, D];
  // undefined: nothing. value [B, H, Lk, D].
  virtual at::Tensor remainder_term(const AttentionContext& context, const at::Tensor& remainder,
                                    const at::Tensor& value) const {
    return {};
  }

  // --- Is drawn by `roformer positions plot` ---

  virtual std::optional<FrequencyPicture> frequency_picture(std::int64_t head_width) const {
    return std::nullopt;
  }

  // --- Reads the layer's input (gates, for instance) ---

  // Computed for each token separately, [T, M] -> [T, H, F].
  virtual at::Tensor token_inputs(std::int64_t layer, const at::Tensor& input) const { return {}; }
  // Returns what a cache stores for new tokens: `added` are their token_inputs(), `earlier` what it
  // stored before; both [B, H, L, F]. `earlier` is undefined at the beginning of a text.
  virtual at::Tensor cached_token_inputs(const at::Tensor& added, const at::Tensor& earlier) const {
    return added;
  }

  // --- Draws positions (a random subset of a longer range, for instance) ---

  // float64 [S or 1, L]. L is the length of the longest of the S sequences or, in decoding, the
  // number of new tokens.
  virtual at::Tensor draw_positions(const DrawInputs& inputs) const { return {}; }
  // embedding() at drawn positions, [S or 1, L] -> [S or 1, L, M].
  virtual at::Tensor embedding_at(const at::Tensor& positions) const { return {}; }

  // --- Differs between layers, or with the length of the text ---

  // The scheme of one layer. If layers differ, the stack's own scheme only draws positions.
  virtual const PositionScheme& of_layer(std::int64_t layer) const { return *this; }
  // True if a text that grows from `before` to `after` tokens must be read again (longrope switches
  // its frequencies there). A language model then rebuilds its cache; a translator keeps it.
  virtual bool requires_cache_rebuild(std::int64_t before, std::int64_t after) const {
    return false;
  }
};

// The inputs of every scheme's constructor. The scheme names its parameters "position.*" and
// "layers.N.attention.position.*".
struct SchemeInputs {
  const PositionSettings& settings;
  ModelShape shape;
  ParameterScope parameters;
};

// The scheme that settings.scheme names.
std::unique_ptr<PositionScheme> make_scheme(const SchemeInputs& inputs);

// "layers.3.attention.position.NAME"
std::string layer_parameter(std::int64_t layer, const std::string& name);
// Adds a parameter to one layer; spec.name is NAME.
at::Tensor add_layer_parameter(const SchemeInputs& in, std::int64_t layer, ParameterSpec spec);
// Adds one parameter to each layer.
std::vector<at::Tensor> add_layer_parameters(const SchemeInputs& in, const ParameterSpec& spec);

using SchemeFactory = std::unique_ptr<PositionScheme> (*)(const SchemeInputs&);

// Adds an external scheme, for instance in a test. config/schemes/definition.h registers its
// definition. The name must be new.
void register_scheme(const std::string& name, SchemeFactory factory);

}  // namespace roformer
