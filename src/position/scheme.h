// A positional scheme: one class in one file, which answers the questions below and nothing else.
// Every answer has a default that means "nothing", so that a scheme says only what it is about:
// where another path is taken for an answer, form() names it. The attention asks these hooks and
// never a scheme's name. Shapes: B batch, L length, M width, H heads, D head width; masks are true
// where a key is visible. Sections are those of the specification of the schemes in
// tests/position/golden.
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
#include "tensor/parameter_scope.h"
#include "tensor/rotation.h"

namespace roformer {

// What a scheme may know of the model when it makes its parameters.
struct ModelShape {
  std::int64_t layers = 0;
  std::int64_t width = 0;            // M
  std::int64_t embedding_width = 0;  // E, of what is added to the tokens; 0: M
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
};

// One attention call: where its queries and keys stand. Lq < Lk when decoding or with a memory.
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
  // Of schemes with features of tokens: those of the keys, [B, H, Lk, F], as remembered() gives
  // them. The queries' are the last Lq.
  at::Tensor features;
  // In a stack: the scheme's shared_parameters() for this layer; empty: themselves.
  std::vector<at::Tensor> shared;
  // Of schemes that draw positions: where the keys stand, float64 [B or 1, Lk]; undefined: at their
  // positions. The queries stand at the last Lq.
  at::Tensor drawn_positions;
};

// The positions of the keys, or of the queries: float64 [B or 1, L] on the host.
at::Tensor key_positions(const AttentionContext& context);
at::Tensor query_positions(const AttentionContext& context);
// The queries' tokens alone, as keys too: what rotates them needs no table of all keys.
AttentionContext at_own_positions(const AttentionContext& context);

// A parameter of those, as the layer is to use it.
inline const at::Tensor& shared_parameter(const AttentionContext& context, std::size_t index,
                                          const at::Tensor& own) {
  return context.shared.empty() ? own : context.shared.at(index);
}

// How queries and keys (and values, as the keys) are rotated.
struct RotationPair {
  Rotation query;
  Rotation key;
  bool value = false;
};

// What a scheme whose scores depend on the content is given. [B, H, L, D] and [B, H, Lq, Lk].
struct ScoreTerms {
  at::Tensor query;      // rotated
  at::Tensor key;        // rotated
  at::Tensor raw_query;  // before the rotation
  at::Tensor raw_key;
  at::Tensor scores;  // scale * query.key, before any bias or mask; undefined: ContentScores::own
  double scale = 1;
};

// What takes the place of the softmax.
struct AttentionWeights {
  at::Tensor weights;    // [B, H, Lq, Lk], 0 where hidden
  at::Tensor remainder;  // [B, H, Lq]: what the weights lack of 1
};

// What a scheme that draws positions knows of a batch.
struct DrawInputs {
  std::span<const std::int64_t> lengths;  // of the sequences, in tokens
  bool training = false;
  std::uint64_t key = 0;      // of the batch: random numbers are functions of it
  at::Tensor earlier;         // decoding: the positions of the tokens before, [1, L']
  std::int64_t expected = 0;  // decoding: tokens that the text may come to; 0: not known
};

enum class TokenSide { query, key };

// What a key-value cache holds.
enum class CachedKeys { rotated, unrotated };

// What scores() is: nothing, a change of q.k, or all of them, so that nobody else makes q.k.
enum class ContentScores { none, changed, own };

// A bias that the sequences of a batch share, so that it is made once for them.
struct BiasForm {
  bool of_each_layer = false;   // else one for all layers
  bool of_each_length = false;  // it depends on the number of keys
  // It depends on the distance key - query: then bias_at() gives it, bias() spreads that, and
  // attention by tiles never holds it for all pairs.
  bool of_distance_alone = false;
};

// Which of the answers below a scheme gives, of those that decide how its attention is computed,
// before any tensor is made: one that has a field here is asked only where the field says so. The
// same for as long as the scheme lives.
struct SchemeForm {
  bool transform = false;  // transformed() in the place of rotation()
  std::optional<BiasForm> bias;
  bool bias_of_positions = false;  // bias() differs between sequences; `bias` is empty then
  bool running_sums = false;
  ContentScores scores = ContentScores::none;
  bool changes_keys = false;  // later tokens change the keys of earlier ones: changed_keys()
  bool weights = false;       // in the place of the softmax
  bool value_term = false;
  bool features = false;
  // How many tokens before a token its features are read with: a cache keeps them, seen or not.
  std::int64_t features_before = 0;
  bool draws_positions = false;
  // False where a token's result changes with how many tokens follow it, even if it sees none of
  // them: then nothing of it can be cached. Rotations that grow with every token (dynamic_ntk) are
  // cached all the same, keys unrotated: what a token was keeps the angles that it was read with,
  // and a text that is read anew differs from one that was written.
  bool can_cache = true;
  CachedKeys cached_keys = CachedKeys::rotated;

  // What attention between two texts can serve: rotations of queries and keys, or nothing.
  bool only_rotates() const {
    return !bias && !bias_of_positions && !running_sums && scores == ContentScores::none &&
           !changes_keys && !weights && !value_term && !transform && !features && !draws_positions;
  }
};

class PositionScheme {
 public:
  virtual ~PositionScheme() = default;

  // The scheme that answers questions 2 to 9 in a layer: another one where layers differ.
  virtual const PositionScheme& of_layer(std::int64_t layer) const { return *this; }

  // Where layers differ, the stack's own names nothing but draws_positions.
  virtual SchemeForm form() const { return {}; }

  // 1. What is added to the token embedding, [L, M]; undefined: nothing.
  virtual at::Tensor embedding(const Positions& positions) const { return {}; }
  // The same at positions that the scheme has drawn, [S or 1, L] -> [S or 1, L, M].
  virtual at::Tensor embedding_at(const at::Tensor& positions) const { return {}; }

  // 2. How q and k are rotated; `width` is the head width or, with linear attention, the features.
  virtual std::optional<RotationPair> rotation(const AttentionContext& context,
                                               std::int64_t width) const {
    return std::nullopt;
  }

  // The same by tables that rotations do not have: of their own for each head or sequence, or off
  // the unit circle. x [B, H, L, D]: queries at the context's queries, or keys at its keys.
  virtual at::Tensor transformed(const AttentionContext& context, const at::Tensor& x,
                                 TokenSide side) const {
    return x;
  }

  // 3. A bias that does not depend on content, added after the scale: [1, H, Lq, Lk], or
  // [B or 1, H, Lq, Lk] where it is one of drawn positions.
  virtual at::Tensor bias(const AttentionContext& context) const;
  // The same at each distance key - query that the context's pairs have, in their order: float64
  // [R] -> [1 or H, R] in the context's type.
  virtual at::Tensor bias_at(const AttentionContext& context, const at::Tensor& distances) const {
    return {};
  }
  // c of each key, float64 [B, H, Lk]: c_i - c_j is added to the scores, and nowhere kept as a
  // matrix where nothing else needs one.
  virtual at::Tensor running_sums(const AttentionContext& context) const { return {}; }

  // 4. Scores from content: the new scores, with the given ones changed in place where that helps.
  virtual at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const {
    return terms.scores;
  }
  // Parameters of all layers that scores() reads more than once in a layer, for each length of a
  // batch, say. Their gradients are added up layer by layer, whichever of them is computed again.
  virtual std::vector<at::Tensor> shared_parameters() const { return {}; }
  // The keys of earlier tokens, [B, H, Lk, D]: from what they are when the context's queries ask to
  // what they are for the token behind them. Those in front of the queries have been through this
  // before, here and in scores().
  virtual at::Tensor changed_keys(const AttentionContext& context, const at::Tensor& key) const {
    return key;
  }

  // Weights instead of the softmax, from scores that may be overwritten; the context has the mask.
  virtual AttentionWeights weights(const AttentionContext& context,
                                   const at::Tensor& scores) const {
    return {};
  }
  // What the remainders [B, H, Lq] add to the output, [B, H, Lq, D]; value [B, H, Lk, D].
  // Undefined: nothing.
  virtual at::Tensor remainder_term(const AttentionContext& context, const at::Tensor& remainder,
                                    const at::Tensor& value) const {
    return {};
  }

  // 5. What is added to the output from the probabilities [B, H, Lq, Lk]: [B, H, Lq, D].
  virtual at::Tensor value_term(const AttentionContext& context,
                                const at::Tensor& probabilities) const {
    return {};
  }

  // 6. The factor of the content scores.
  virtual double score_scale(std::int64_t head_width) const;

  // 7. What is hidden beyond the model's mask: bool [Lq, Lk], true = visible; undefined: nothing.
  virtual at::Tensor mask(const AttentionContext& context) const { return {}; }

  // 8. Features of tokens: what the scheme reads from the layer's input beside q, k and v, token by
  // token, [T, M] -> [T, H, F]. A cache keeps what remembered() makes of them with those of the
  // tokens before: added and earlier [B, H, L, F], `earlier` undefined at the beginning.
  virtual at::Tensor features(std::int64_t layer, const at::Tensor& input) const { return {}; }
  virtual at::Tensor remembered(const at::Tensor& added, const at::Tensor& earlier) const {
    return added;
  }

  // Places that are drawn for each batch and are its tokens' positions: float64 [S or 1, L] for the
  // longest of its S sequences, or of the tokens behind the earlier ones.
  virtual at::Tensor draw_positions(const DrawInputs& inputs) const { return {}; }

  // 9. Whether a text of `before` tokens is read otherwise when it has come to `after` (longrope's
  // two lists of factors): the cache of a language model is then made anew, once. A translator goes
  // on with what its decoder has read.
  virtual bool rereads(std::int64_t before, std::int64_t after) const { return false; }
};

// What every scheme's constructor gets. Parameters (8) are named "position.*" and
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

}  // namespace roformer
