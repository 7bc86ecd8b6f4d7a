#include "model/transformer_stack.h"

#include <c10/core/GradMode.h>

#include <utility>

#include "attention/attention_cache.h"
#include "base/error.h"
#include "base/random.h"
#include "tensor/aten.h"
#include "tensor/finite_check.h"
#include "tensor/gradient.h"
#include "tensor/on_device.h"
#include "tensor/operations.h"
#include "tensor/token_layout.h"

namespace roformer {
namespace {

Positions positions_of(const StackInputs& in) {
  if (in.positions) return *in.positions;
  const bool begun = in.cache != nullptr && in.cache->length() > 0;
  return Positions::range(begun ? in.cache->positions().largest() + 1 : 0, in.layout.longest);
}

// The drawn positions of the tokens, those in the cache included; undefined: the scheme draws none.
at::Tensor drawn_positions_of(const PositionScheme& scheme, const StackInputs& in,
                              std::uint64_t key) {
  if (!scheme.capabilities().draws_positions) return {};
  const std::vector<std::int64_t> lengths = in.cache != nullptr
                                                ? std::vector<std::int64_t>{in.layout.longest}
                                                : sequence_lengths(in.layout.blocks);
  const at::Tensor drawn = scheme.draw_positions(
      {.lengths = lengths,
       .training = in.training,
       .key = random_key({key, random_word("places")}),
       .first = in.layout.first_sequence,
       .longest = in.layout.longest_of_all,
       .earlier = in.cache != nullptr ? in.cache->drawn_positions : at::Tensor(),
       .expected = in.cache != nullptr ? in.cache->expected_length : 0});
  if (in.cache == nullptr) return drawn;
  const bool begun = in.cache->drawn_positions.defined();
  return in.cache->drawn_positions = begun ? at::cat({in.cache->drawn_positions, drawn}, 1) : drawn;
}

// The scheme's term for the embeddings of this pass's tokens.
at::Tensor embedded_positions(const PositionScheme& scheme, const Positions& positions,
                              const at::Tensor& drawn) {
  if (!drawn.defined()) return scheme.embedding(positions);
  const std::int64_t count = positions.count();
  return scheme.embedding_at(drawn.narrow(1, drawn.size(1) - count, count));
}

at::Tensor normed(const at::Tensor& x, const Norm& norm, double epsilon) {
  return residual_norm({.residual = x,
                        .gain = norm.gain,
                        .shift = norm.shift,
                        .norm = norm.kind,
                        .epsilon = epsilon})
      .normed;
}

// Owns everything that a pass refers to, so that the backward pass can run its layers again.
class KeptPass {
 public:
  KeptPass(const StackPass& pass, std::shared_ptr<PositionSession> session)
      : layout_(pass.layout), positions_(pass.positions), session_(std::move(session)) {
    if (pass.memory != nullptr) memory_.emplace(*pass.memory);
  }
  KeptPass(const KeptPass&) = delete;
  KeptPass& operator=(const KeptPass&) = delete;

  StackPass like(const StackPass& pass) const {
    ROFORMER_ASSERT(pass.cache == nullptr);
    return {.layout = layout_,
            .session = *session_,
            .positions = positions_,
            .type = pass.type,
            .training = pass.training,
            .dropout_key = pass.dropout_key,
            .first_row = pass.first_row,
            .memory = memory_ ? &*memory_ : nullptr};
  }

 private:
  TokenLayout layout_;
  Positions positions_;
  std::shared_ptr<PositionSession> session_;
  std::optional<CrossMemory> memory_;
};

}  // namespace

TransformerStack::TransformerStack(StackSettings settings, const ParameterScope& parameters,
                                   const at::Tensor& token_table)
    : settings_(std::move(settings)),
      dropout_word_(parameters.prefix().empty() ? 0 : random_word(parameters.prefix())) {
  const ModelSettings& model = settings_.model;
  ROFORMER_ASSERT(model.head_width > 0 || model.width % model.heads == 0);
  ROFORMER_ASSERT(model.heads % model.heads_of_keys() == 0);
  embedding_ = std::make_unique<Embedding>(
      model,
      model.embedding_norm || (settings_.embedding_norm && model.norm == NormPlacement::post),
      parameters, token_table);
  const ModelShape shape{.layers = model.layers,
                         .width = model.width,
                         .embedding_width = embedding_->width(),
                         .heads = model.heads,
                         .head_width = model.features_of_head(),
                         .causal = settings_.causal,
                         .training_length = settings_.training_length,
                         .type = embedding_->table().scalar_type()};
  scheme_ = make_scheme({.settings = settings_.position, .shape = shape, .parameters = parameters});
  if (settings_.cross_attention) {
    cross_scheme_ = make_scheme({.settings = settings_.cross_position,
                                 .shape = shape,
                                 .parameters = parameters.within("cross.")});
    ROFORMER_ASSERT(cross_scheme_->capabilities().only_rotates());
  }
  attention_ = attention_of_layers(settings_.attention, model.layers);
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const SubLayerInputs inputs{.model = model,
                                .layer = i,
                                .parameters = parameters.within("layers." + std::to_string(i) + ".",
                                                                static_cast<int>(i) + 1)};
    const double dropout = attention_[static_cast<std::size_t>(i)].dropout;
    sub_layers_.push_back(make_self_attention(inputs, dropout));
    if (settings_.cross_attention) {
      auto cross = std::make_unique<CrossAttention>(inputs, *cross_scheme_, dropout);
      cross_attentions_.push_back(cross.get());
      sub_layers_.push_back(std::move(cross));
    }
    sub_layers_.push_back(make_feed_forward(inputs, settings_.activation_dropout));
  }
  for (std::size_t i = 0; i < sub_layers_.size(); ++i) {
    if (sub_layers_[i]->mixes_tokens()) last_mixing_ = i;
  }
  if (model.norm == NormPlacement::pre) {
    final_norm_ = add_norm(parameters.within("", static_cast<int>(model.layers)), "final_norm",
                           model.width, model);
  }
}

bool TransformerStack::requires_cache_rebuild(std::int64_t before, std::int64_t after) const {
  for (std::int64_t layer = 0; layer < settings_.model.layers; ++layer) {
    if (scheme_->of_layer(layer).requires_cache_rebuild(before, after)) return true;
  }
  return false;
}

bool TransformerStack::repeats_its_work() const {
  for (std::size_t i = 0; i < attention_.size(); ++i) {
    const bool redraws = attention_[i].kernel == AttentionKernel::favor;
    if (redraws || scheme_->of_layer(static_cast<std::int64_t>(i)).capabilities().draws_positions) {
      return false;
    }
  }
  return !scheme_->capabilities().draws_positions;
}

bool TransformerStack::can_cache() const {
  // Linear attention sums feature maps of keys, so keys must not change as the text grows.
  for (std::size_t i = 0; i < attention_.size(); ++i) {
    const PositionScheme& scheme = scheme_->of_layer(static_cast<std::int64_t>(i));
    const bool linear = attention_[i].kernel != AttentionKernel::softmax;
    const bool stays = !linear || scheme.capabilities().cached_keys == CachedKeys::rotated;
    if (!scheme.capabilities().can_cache || !stays) return false;
  }
  return settings_.causal;
}

void TransformerStack::remember(const at::Tensor& states, CrossMemory& memory) const {
  for (const CrossAttention* layer : cross_attentions_) layer->remember(states, memory);
}

std::vector<at::Tensor> TransformerStack::ResidualStream::tensors() const {
  return sum.defined() ? std::vector<at::Tensor>{sum, input} : std::vector<at::Tensor>{input};
}

TransformerStack::ResidualStream TransformerStack::ResidualStream::of(
    const std::vector<at::Tensor>& tensors) {
  if (tensors.size() == 1) return {.sum = {}, .input = tensors[0]};
  return {.sum = tensors[0], .input = tensors[1]};
}

TransformerStack::LayerRange TransformerStack::layer_range_from(std::size_t begin) const {
  const std::size_t of_layer =
      sub_layers_.size() / static_cast<std::size_t>(settings_.model.layers);
  switch (settings_.recompute) {
    case Recomputation::layer:
      return {.begin = begin, .end = begin + of_layer, .recomputed = true};
    case Recomputation::attention:
      return {.begin = begin, .end = begin + 1, .recomputed = sub_layers_[begin]->mixes_tokens()};
    default:
      return {.begin = begin, .end = sub_layers_.size()};
  }
}

TransformerStack::ResidualStream TransformerStack::run_layers(const LayerRange& range,
                                                              ResidualStream stream,
                                                              const StackPass& pass,
                                                              const WantedRows& rows) const {
  for (std::size_t i = range.begin; i < range.end; ++i) stream = run_layer(i, stream, pass, rows);
  return stream;
}

bool TransformerStack::parallel_to_next(std::size_t index) const {
  return settings_.model.parallel_residual && sub_layers_[index]->mixes_tokens();
}

Norm TransformerStack::norm_after(std::size_t index) const {
  // The parallel feed-forward reads the attention's own input, so the sum between them has no norm.
  if (parallel_to_next(index)) return {};
  if (settings_.model.norm == NormPlacement::post) return sub_layers_[index]->norm();
  const bool last = index + 1 == sub_layers_.size();
  return last ? final_norm_ : sub_layers_[index + 1]->norm();
}

TransformerStack::ResidualStream TransformerStack::run_layer(std::size_t index,
                                                             const ResidualStream& stream,
                                                             StackPass pass,
                                                             const WantedRows& rows) const {
  if (index > last_mixing_ && rows.index.defined()) pass.first_row = rows.first;
  const bool pre = settings_.model.norm == NormPlacement::pre;
  const double epsilon = settings_.model.norm_epsilon;
  const SubLayer& layer = *sub_layers_[index];
  at::Tensor result = layer.forward(stream.input, pass);
  FiniteCheck::look(result, [&] { return layer.title(); });
  at::Tensor residual = pre ? stream.sum : stream.input;
  if (index == last_mixing_ && rows.index.defined()) {
    result = at::index_select(result, 0, rows.index);
    residual = at::index_select(residual, 0, rows.index);
    pass.first_row = rows.first;
  }
  const Norm norm = norm_after(index);
  const NormedSum state = residual_norm({.input = project(result, layer.output().weight),
                                         .bias = layer.output().bias,
                                         .residual = residual,
                                         .gain = norm.gain,
                                         .shift = norm.shift,
                                         .norm = norm.kind,
                                         .epsilon = epsilon,
                                         .dropout = layer.residual_dropout(pass)});
  ResidualStream next{.sum = pre ? state.sum : at::Tensor(),
                      .input = parallel_to_next(index)
                                   ? normed(residual, sub_layers_[index + 1]->norm(), epsilon)
                                   : state.normed};
  FiniteCheck::look(next.input, [&] { return layer.title() + ".output"; });
  return next;
}

at::Tensor TransformerStack::forward(const StackInputs& in) const {
  const ModelSettings& model = settings_.model;
  const at::ScalarType stored = embedding_->table().scalar_type();
  const bool pre = model.norm == NormPlacement::pre;
  const Positions positions = positions_of(in);
  const std::uint64_t dropout_key =
      dropout_word_ == 0 ? in.dropout_key : roformer::dropout_key({in.dropout_key, dropout_word_});
  ROFORMER_ASSERT(in.cache == nullptr || (can_cache() && !in.training));
  if (in.cache != nullptr) {
    forget_hidden_keys(*in.cache, *scheme_, attention_, positions[0]);
    in.cache->begin_step(positions);
  }
  const at::Tensor drawn = drawn_positions_of(*scheme_, in, dropout_key);
  const auto session = std::make_shared<PositionSession>(
      SessionInputs{.scheme = *scheme_,
                    .attention = settings_.attention,
                    .layers = attention_,
                    .queries = positions,
                    .keys = in.cache != nullptr ? in.cache->positions() : positions,
                    .causal = settings_.causal,
                    .training = in.training,
                    .type = stored,
                    .device = embedding_->table().device(),
                    .feature_key = in.feature_key,
                    .drawn_positions = drawn,
                    .attention_gradient = settings_.attention_gradient});
  const StackPass pass{.layout = in.layout,
                       .session = *session,
                       .positions = positions,
                       .type = stored,
                       .training = in.training,
                       .dropout_key = dropout_key,
                       .first_row = in.layout.first_token,
                       .cache = in.cache,
                       .memory = in.memory,
                       .cross_request = in.cross_request,
                       .observer = in.observer};
  at::Tensor sum =
      embedding_->forward({.ids = in.ids,
                           .token_types = in.token_types,
                           .layout = in.layout,
                           .positions = embedded_positions(*scheme_, positions, drawn),
                           .type = in.precision == Precision::bf16 ? at::kBFloat16 : stored,
                           .dropout = {.probability = in.training ? model.dropout : 0,
                                       .key = roformer::dropout_key({dropout_key, 0}),
                                       .first_row = in.layout.first_token}});
  FiniteCheck::look(sum, [] { return "embedding"; });
  ResidualStream stream{.sum = pre ? sum : at::Tensor(), .input = sum};
  if (pre && !sub_layers_.empty() && sub_layers_[0]->norm().gain.defined()) {
    stream.input = normed(sum, sub_layers_[0]->norm(), model.norm_epsilon);
  }
  const bool records = in.training && in.cross_request == nullptr && c10::GradMode::is_enabled();
  const WantedRows wanted{.index = in.rows, .first = in.first_wanted};
  std::shared_ptr<const KeptPass> kept;
  for (std::size_t begin = 0; begin < sub_layers_.size();) {
    const LayerRange range = layer_range_from(begin);
    begin = range.end;
    if (!range.recomputed || !records) {
      stream = run_layers(range, stream, pass, wanted);
      continue;
    }
    if (kept == nullptr) kept = std::make_shared<const KeptPass>(pass, session);
    stream = ResidualStream::of(
        recomputed(stream.tensors(), [this, range, kept, again = kept->like(pass),
                                      wanted](const std::vector<at::Tensor>& inputs) {
          return run_layers(range, ResidualStream::of(inputs), again, wanted).tensors();
        }));
  }
  if (sub_layers_.empty() && in.rows.defined()) return at::index_select(stream.input, 0, in.rows);
  return stream.input;
}

}  // namespace roformer
