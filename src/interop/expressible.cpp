#include "interop/expressible.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "config/task_facts.h"
#include "interop/families/encoder.h"

namespace roformer {
namespace {

using Families = std::vector<const Family*>;

// The causal families with these positions and blocks.
Families causal_families(const Settings& settings) {
  const ModelSettings& model = settings.model;
  const auto named = [](const char* type) { return Families{&family_named(type)}; };
  const std::string& scheme = settings.position.scheme;
  if (scheme == "learned") return named("gpt2");
  if (scheme == "alibi") return named(model.bias || model.embedding_norm ? "bloom" : "mpt");
  if (model.norm_kind != NormKind::rms_norm) return named("gpt_neox");
  if (model.query_key_norm) return named("qwen3");
  if (model.query_key_value_bias && !model.attention_output_bias) return named("qwen2");
  if (model.query_key_value_bias || model.feed_forward_bias) return named("llama");
  if (settings.attention.window > 0) return named("mistral");
  return {&family_named("llama"), &family_named("mistral")};
}

// The encoders that have the scheme, those that most models fit first.
const std::map<std::string_view, std::vector<std::string_view>> kEncoders = {
    {"learned", {"bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra"}},
    {"shaw", {"bert"}},
    {"rope", {"roformer"}},
    {"nezha", {"nezha"}},
    {"deberta", {"deberta-v2"}},
};

// Empty: no family of encoders has such positions.
Families encoder_families(const Settings& settings) {
  if (settings.model.norm == NormPlacement::pre && settings.model.embedding_norm) {
    return {&family_named("modernbert")};
  }
  const auto found = kEncoders.find(settings.position.scheme);
  if (found == kEncoders.end()) return {};
  Families families;
  for (const std::string_view type : found->second) families.push_back(&family_named(type));
  return families;
}

[[noreturn]] void refuse(const std::string& families, const Wishes& wishes) {
  throw_usage("export", fmt::format("transformers' {} cannot express this model: there, {}",
                                    families, fmt::join(wishes.problems(), "; ")));
}

[[noreturn]] void refuse_positions(const Settings& settings) {
  Wishes wishes;
  wishes.expect(false, fmt::format("positions are learned or shaw in BERT, rope in RoFormer, nezha "
                                   "in NEZHA and deberta in DeBERTa-v2, not {}",
                                   settings.position.scheme));
  expect_bert_layers(settings, wishes);
  refuse("BERT, RoFormer, NEZHA and DeBERTa-v2", wishes);
}

// The families that may express the model, the preferred one (model.family) first.
Families near_families(const Settings& settings) {
  const TaskFacts& task = task_facts(settings.task);
  const char* const translator = settings.position.scheme == "t5" ? "t5" : "marian";
  Families families = task.exported == ExportForm::translator ? Families{&family_named(translator)}
                      : task.causal                           ? causal_families(settings)
                                                              : encoder_families(settings);
  const auto preferred = std::ranges::find(families, settings.model.family, &Family::type);
  if (preferred != families.end()) std::rotate(families.begin(), preferred, preferred + 1);
  return families;
}

}  // namespace

void expect_plain_attention(const Settings& settings, Wishes& wishes, bool window) {
  const AttentionSettings& attention = settings.attention;
  wishes.expect(attention.kernel == AttentionKernel::softmax,
                "attention is a softmax (attention.kernel softmax)");
  wishes.expect(attention.log_n == LogNScaling::none,
                "scores are not scaled with the length (attention.log_n none)");
  wishes.expect(attention.layers.empty(), "all layers have the same attention (attention.layers)");
  wishes.expect(window || attention.window == 0, "no layer has a window (attention.window 0)");
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
  const std::string& preferred = settings.model.family;
  if (!preferred.empty() && find_family(preferred) == nullptr) {
    throw_usage("model.family",
                fmt::format("got {}, wanted {}", printable(preferred), known_family_types()));
  }
  const Families families = near_families(settings);
  if (families.empty()) refuse_positions(settings);
  for (const Family* family : families) {
    Wishes wishes;
    family->expect(settings, wishes);
    if (wishes.problems().empty()) return *family;
  }
  Wishes wishes;
  families.front()->expect(settings, wishes);
  refuse(std::string(families.front()->title), wishes);
}

std::string exported_architecture(const Settings& settings) {
  return exported_family(settings).architecture(task_facts(settings.task).exported);
}

}  // namespace roformer
