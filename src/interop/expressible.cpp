#include "interop/expressible.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/task_facts.h"
#include "interop/families/encoder.h"

namespace roformer {
namespace {

const Family& causal_family(const ModelSettings& model) {
  if (model.norm_kind != NormKind::rms_norm) return family_named("gpt_neox");
  if (model.query_key_norm) return family_named("qwen3");
  return family_named(model.query_key_value_bias ? "qwen2" : "llama");
}

// Null: no family of encoders has such positions.
const Family* encoder_family(const Settings& settings) {
  if (settings.model.norm == NormPlacement::pre && settings.model.embedding_norm) {
    return &family_named("modernbert");
  }
  for (const auto& [scheme, type] :
       {std::pair("learned", "bert"), std::pair("rope", "roformer"), std::pair("nezha", "nezha")}) {
    if (settings.position.scheme == scheme) return &family_named(type);
  }
  return nullptr;
}

[[noreturn]] void refuse(const std::string& families, const Wishes& wishes) {
  throw_usage("export", fmt::format("transformers' {} cannot express this model: there, {}",
                                    families, fmt::join(wishes.problems(), "; ")));
}

[[noreturn]] void refuse_positions(const Settings& settings) {
  Wishes wishes;
  wishes.expect(false, fmt::format("positions are learned in BERT, rope in RoFormer and nezha in "
                                   "NEZHA, not {}",
                                   settings.position.scheme));
  expect_bert_layers(settings, wishes);
  refuse("BERT, RoFormer and NEZHA", wishes);
}

const Family* nearest_family(const Settings& settings) {
  const TaskFacts& task = task_facts(settings.task);
  if (task.exported == ExportForm::translator) return &family_named("marian");
  return task.causal ? &causal_family(settings.model) : encoder_family(settings);
}

}  // namespace

void expect_plain_attention(const Settings& settings, Wishes& wishes) {
  const AttentionSettings& attention = settings.attention;
  wishes.expect(attention.kernel == AttentionKernel::softmax,
                "attention is a softmax (attention.kernel softmax)");
  wishes.expect(attention.log_n == LogNScaling::none,
                "scores are not scaled with the length (attention.log_n none)");
  wishes.expect(attention.layers.empty(), "all layers have the same attention (attention.layers)");
  wishes.expect(attention.window == 0, "no layer has a window (attention.window 0)");
}

void expect_plain_embedding(const ModelSettings& model, Wishes& wishes) {
  wishes.expect(model.embedding_width == 0 || model.embedding_width == model.width,
                "no projection follows the embedding (model.embedding_width 0)");
  wishes.expect(model.token_types == 0, "there are no token types (model.token_types 0)");
}

void expect_older_blocks(const ModelSettings& model, Wishes& wishes) {
  wishes.expect(model.norm_kind == NormKind::layer_norm,
                "norms are LayerNorm (model.norm_kind layer_norm)");
  wishes.expect(!is_gated(model.activation),
                "the feed-forward part has no gate (model.activation)");
  wishes.expect(model.bias, "linear layers and norms have biases (model.bias true)");
  expect_plain_heads(model, wishes);
  wishes.expect(!model.parallel_residual,
                "attention comes before the feed-forward part (model.parallel_residual false)");
  wishes.expect(!model.embedding_norm && model.first_norm,
                "norms are where every pre-norm layer has them (model.embedding_norm false, "
                "model.first_norm true)");
  wishes.expect(model.head == LanguageHeadKind::bert,
                "the language head is BERT's (model.head bert)");
  wishes.expect(model.tie_output,
                "the language head shares the token table (model.tie_output true)");
}

void expect_plain_heads(const ModelSettings& model, Wishes& wishes) {
  wishes.expect(model.heads_of_keys() == model.heads,
                "each head has its own keys and values (model.key_value_heads 0)");
  wishes.expect(model.features_of_head() * model.heads == model.width,
                "all heads together have the width (model.head_width 0)");
  wishes.expect(!model.query_key_norm,
                "queries and keys have no norm (model.query_key_norm false)");
}

const Family& exported_family(const Settings& settings) {
  const Family* const family = nearest_family(settings);
  if (family == nullptr) refuse_positions(settings);
  Wishes wishes;
  family->expect(settings, wishes);
  if (!wishes.problems().empty()) refuse(std::string(family->title), wishes);
  return *family;
}

std::string exported_architecture(const Settings& settings) {
  const ExportForm form = task_facts(settings.task).exported;
  const Family& family = exported_family(settings);
  if (form == ExportForm::embedder) return std::string(family.classes) + "Model";
  return family.architecture(form == ExportForm::classifier);
}

}  // namespace roformer
