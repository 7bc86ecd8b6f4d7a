#include "interop/expressible.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/schemes/learned.h"
#include "config/schemes/rope.h"
#include "config/task_facts.h"
#include "interop/modernbert_layers.h"

namespace roformer {

std::vector<std::string> newer_blocks(const ModelSettings& model) {
  std::vector<std::string> problems;
  const auto expect = [&](bool holds, const char* problem) {
    if (!holds) problems.emplace_back(problem);
  };
  expect(model.norm_kind == NormKind::layer_norm,
         "norms are LayerNorm (model.norm_kind layer_norm)");
  expect(!is_gated(model.activation), "the feed-forward part has no gate (model.activation)");
  expect(model.bias, "linear layers and norms have biases (model.bias true)");
  expect(model.heads_of_keys() == model.heads,
         "each head has keys and values of its own (model.key_value_heads 0)");
  expect(model.features_of_head() * model.heads == model.width,
         "all heads together have the width (model.head_width 0)");
  expect(
      !model.embedding_norm && model.first_norm,
      "norms stand as in every pre-norm layer (model.embedding_norm false, model.first_norm true)");
  expect(!model.query_key_norm, "queries and keys have no norm (model.query_key_norm false)");
  expect(!model.parallel_residual,
         "attention stands before the feed-forward part (model.parallel_residual false)");
  expect(model.head == LanguageHeadKind::bert, "the language head is BERT's (model.head bert)");
  expect(model.tie_output, "the language head shares the token table (model.tie_output true)");
  return problems;
}

namespace {

void require_modernbert(const Settings& settings) {
  const ModelSettings& model = settings.model;
  const TaskFacts& task = task_facts(settings.task);
  std::vector<std::string> problems;
  const auto expect = [&](bool holds, std::string problem) {
    if (!holds) problems.push_back(std::move(problem));
  };
  expect(!task.causal, "it is an encoder, not a causal language model");
  expect(task.exported != ExportForm::none, "it is no matcher of texts");
  modernbert_layers_of(settings, problems);
  expect(!model.first_norm,
         "its embedding's norm is the first layer's, too (model.first_norm false)");
  expect(is_gated(model.activation),
         "its feed-forward parts have a gate (model.activation geglu or swiglu)");
  expect(model.norm_kind == NormKind::layer_norm,
         "its norms are LayerNorm (model.norm_kind layer_norm)");
  expect(model.bias || !model.query_key_value_bias,
         "its queries have a bias only where all layers have (model.query_key_value_bias false)");
  expect(model.heads_of_keys() == model.heads,
         "each head has keys and values of its own (model.key_value_heads 0)");
  expect(model.features_of_head() * model.heads == model.width,
         "all heads together have the width (model.head_width 0)");
  expect(!model.query_key_norm, "queries and keys have no norm (model.query_key_norm false)");
  expect(!model.parallel_residual,
         "attention stands before the feed-forward part (model.parallel_residual false)");
  expect(model.embedding_width == 0 || model.embedding_width == model.width,
         "it has no projection behind its embedding (model.embedding_width 0)");
  expect(model.token_types == 0, "it has no token types (model.token_types 0)");
  expect(model.embedding_scale == EmbeddingScale::none,
         "its embedding is not scaled (model.embedding_scale none)");
  expect(model.head == LanguageHeadKind::bert, "its language head is BERT's (model.head bert)");
  expect(task.exported != ExportForm::classifier ||
             settings.glue.head == ClassifierHead::modernbert,
         "its classification head is glue.head modernbert");
  if (problems.empty()) return;
  throw_usage("export", fmt::format("transformers' ModernBERT cannot express this model: there, {}",
                                    fmt::join(problems, "; ")));
}

}  // namespace

HuggingFaceFamily family_of(const Settings& settings) {
  if (settings.model.norm == NormPlacement::pre && settings.model.embedding_norm) {
    require_modernbert(settings);
    return HuggingFaceFamily::modernbert;
  }
  const PositionSettings& position = settings.position;
  const ModelSettings& model = settings.model;
  std::vector<std::string> problems;
  const auto expect = [&](bool holds, std::string problem) {
    if (!holds) problems.push_back(std::move(problem));
  };
  const bool bert = position.scheme == "learned", roformer = position.scheme == "rope";
  expect(bert || roformer, fmt::format("positions are learned in BERT and rope in RoFormer, not {}",
                                       position.scheme));
  expect(!bert || !position.of<LearnedSettings>().hierarchical,
         "BERT's table of positions is not hierarchical");
  expect(!bert || model.embedding_width == 0 || model.embedding_width == model.width,
         "BERT has no projection behind its embedding (model.embedding_width)");
  if (roformer) {
    const RopeSettings& rope = position.of<RopeSettings>();
    expect(rope.layout == RotaryLayout::interleaved,
           "RoFormer rotates neighbouring features (position.rope.layout interleaved)");
    expect(rope.base == 10000, "RoFormer's base is 10000 (position.rope.base)");
    expect(rope.fraction == 1, "RoFormer rotates whole heads (position.rope.fraction 1)");
    expect(rope.offset == 0, "RoFormer's positions begin at 0 (position.rope.offset)");
    expect(rope.scaling == RopeScaling::none,
           "RoFormer has no frequency scaling (position.rope.scaling none)");
    expect(rope.attention_factor == 0 || rope.attention_factor == 1,
           "RoFormer scales neither queries nor keys (position.rope.attention_factor 0)");
  }
  expect(!task_facts(settings.task).causal, "both are encoders, not causal language models");
  expect(model.norm == NormPlacement::post,
         "both are post-norm (model.norm post; ModernBERT is pre-norm with model.embedding_norm "
         "true)");
  expect(model.embedding_scale == EmbeddingScale::none,
         "neither scales its embedding (model.embedding_scale none)");
  expect(settings.attention.kernel == AttentionKernel::softmax,
         "both have softmax attention (attention.kernel softmax)");
  expect(settings.attention.log_n == LogNScaling::none,
         "neither scales scores with the length (attention.log_n none)");
  expect(settings.attention.layers.empty(),
         "all of their layers have the same attention (attention.layers)");
  expect(settings.attention.window == 0, "neither has a window (attention.window 0)");
  expect(task_facts(settings.task).exported != ExportForm::none,
         "neither is a matcher of texts");
  for (std::string& problem : newer_blocks(model)) problems.push_back(std::move(problem));
  if (task_facts(settings.task).exported == ExportForm::classifier && (bert || roformer)) {
    const ClassifierHead theirs = bert ? ClassifierHead::bert : ClassifierHead::roformer;
    expect(settings.glue.head == theirs,
           bert ? "BERT's classification head is glue.head bert"
                : "RoFormer's classification head is glue.head roformer");
    expect(settings.glue.pooling == TextPooling::first,
           "a classifier reads the first token's state (glue.pooling first)");
  }
  if (!problems.empty()) {
    throw_usage("export", "transformers' BERT and RoFormer cannot express this model: there, " +
                              fmt::format("{}", fmt::join(problems, "; ")));
  }
  return bert ? HuggingFaceFamily::bert : HuggingFaceFamily::roformer;
}

std::string encoder_architecture(HuggingFaceFamily family, bool classifies) {
  const std::string prefix = family == HuggingFaceFamily::bert       ? "BertFor"
                             : family == HuggingFaceFamily::roformer ? "RoFormerFor"
                                                                     : "ModernBertFor";
  return prefix + (classifies ? "SequenceClassification" : "MaskedLM");
}

}  // namespace roformer
