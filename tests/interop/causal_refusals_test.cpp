// Folders of causal models that are refused, and models that no family can express.
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "catch.h"
#include "config/position_facts.h"
#include "config/schemes/alibi.h"
#include "config/schemes/rope.h"
#include "interop/causal_copy.h"
#include "interop/export.h"
#include "interop/fixtures.h"
#include "temporary_folder.h"

using namespace roformer;
using Catch::Contains;

namespace {

void check_causal_refused(const std::string& model, const std::string& key,
                          const nlohmann::json& value, const std::string& words) {
  CAPTURE(model, key, value.dump());
  const CausalCopy copy(model);
  copy.set(key, value);
  CHECK_THROWS_WITH(copy.read(), Contains(words));
}

}  // namespace

TEST_CASE("schemes are held against families that exist") {
  for (const PositionFacts& facts : position_facts()) {
    std::string_view rest = facts.held_against;
    while (!rest.empty()) {
      const std::string_view entry = rest.substr(0, rest.find(", "));
      rest.remove_prefix(std::min(entry.size() + 2, rest.size()));
      // "BERT (relative_key)": a variant of the family. Some titles are names of classes:
      // MarianMTModel.
      const std::string_view title = entry.substr(0, entry.find(" ("));
      CAPTURE(facts.name, std::string(entry));
      CHECK(std::ranges::any_of(
          all_families(), [&](const Family& family) { return family.title.starts_with(title); }));
    }
  }
}

TEST_CASE("a causal config.json of something else is refused") {
  check_causal_refused("mistral", "attention_bias", true,
                       "\"attention_bias\" is true, wanted false");
  check_causal_refused("qwen3", "mlp_bias", true, "models of its type have none");
  check_causal_refused("mistral", "sliding_window", 0, "an integer from 1 to");
  check_causal_refused("llama", "hidden_act", "relu",
                       "\"hidden_act\" is \"relu\", wanted one of silu, swish, gelu, "
                       "gelu_pytorch_tanh, gelu_new");
  check_causal_refused("llama", "num_key_value_heads", 3,
                       "a divisor of \"num_attention_heads\", 4");
  check_causal_refused("llama", "num_attention_heads", 0, "an integer from 1 to 1024");
  check_causal_refused("llama", "rope_parameters", {{"rope_type", "axial"}},
                       "wanted one of default");
  check_causal_refused("llama", "rope_parameters", {{"rope_type", "linear"}},
                       "rope_parameters.factor\" is left");
  check_causal_refused("llama", "rope_parameters", {{"full_attention", {{"rope_type", "default"}}}},
                       "one rotation for all layers");
  check_causal_refused("llama", "rope_parameters", {{"rope_theta", 1.0}}, "a number above 1");
  check_causal_refused("llama", "rope_parameters", 3, "wanted an object or null");
  check_causal_refused("llama", "rope_scaling", {{"rope_type", "linear"}, {"factor", 4}},
                       "the same as rope_parameters");
  check_causal_refused("llama", "partial_rotary_factor", 0.5, "rotate whole heads");
  check_causal_refused("llama", "rope_parameters",
                       {{"rope_type", "longrope"}, {"long_factor", {1}}, {"short_factor", {1}}},
                       "1 factors of longrope for 2 pairs");
  check_causal_refused("llama", "rope_parameters",
                       {{"rope_type", "yarn"}, {"factor", 2}, {"truncate", false}}, "wanted true");
  check_causal_refused("llama", "quantization_config", {{"bits", 4}}, "not quantised");
  check_causal_refused("llama", "head_dim", 3, "rotates 3 of the 3 features of a head");
  check_causal_refused("qwen2", "use_sliding_window", true, "every layer sees the whole text");
  check_causal_refused("qwen2", "layer_types", {"full_attention", "sliding_attention"},
                       "full_attention in every layer");
  check_causal_refused("gpt_neox", "attention_bias", false, "its other layers have biases");
  check_causal_refused("gpt_neox", "hidden_size", 18, "a divisor of \"hidden_size\", 18");
  check_causal_refused("gpt2", "scale_attn_by_inverse_layer_idx", true,
                       "\"scale_attn_by_inverse_layer_idx\" is true, wanted false");
  check_causal_refused("gpt2", "scale_attn_weights", false, "\"scale_attn_weights\" is false");
  check_causal_refused("gpt2", "add_cross_attention", true, "there is no encoder");
  check_causal_refused("gpt2", "activation_function", "tanh", "wanted one of gelu");
  check_causal_refused("gpt2", "n_embd", 18, "\"n_head\" is 4, wanted a divisor of \"n_embd\", 18");
  check_causal_refused("gpt2", "architectures", {"GPT2ForSequenceClassification"},
                       "wanted GPT2LMHeadModel, not \"GPT2ForSequenceClassification\"");
  check_causal_refused("bloom", "apply_residual_connection_post_layernorm", true,
                       "\"apply_residual_connection_post_layernorm\" is true");
  check_causal_refused("bloom", "n_head", 7, "a divisor of \"hidden_size\", 24");
  check_causal_refused("mpt", "no_bias", false, "\"no_bias\" is false");
  check_causal_refused("mpt", "logit_scale", 0.5, "\"logit_scale\" is 0.5, wanted null");
  check_causal_refused("mpt", "expansion_ratio", 2, "\"expansion_ratio\" is 2, wanted 4");
  check_causal_refused("mpt", "norm_type", "rmsnorm", "wanted layernorm");
  check_causal_refused("mpt", "attn_config", {{"clip_qkv", 6}},
                       "\"attn_config.clip_qkv\" is 6, wanted null");
  check_causal_refused("mpt", "attn_config", {{"alibi", false}}, "\"attn_config.alibi\" is false");
  check_causal_refused("mpt", "attn_config", {{"alibi_bias_max", 16}}, "the slopes of the paper");
  check_causal_refused("mpt", "attn_config", {{"qk_ln", true}}, "have no norm");
  check_causal_refused("mpt", "attn_config", {{"prefix_lm", true}}, "sees the text before it");
  check_causal_refused("mpt", "attn_config", {{"softmax_scale", 0.25}},
                       "\"attn_config.softmax_scale\" is 0.25, wanted null");
  check_causal_refused("mpt", "attn_config", {{"attn_type", "multiquery_attention"}},
                       "wanted multihead_attention");
  check_causal_refused("mpt", "attn_config", 3, "wanted an object");
  CHECK_THROWS_WITH(parse_causal_config(R"({"model_type": "mamba"})"),
                    Contains("\"model_type\" is \"mamba\", wanted bert, roformer") &&
                        Contains("llama, qwen2, qwen3, mistral, gpt_neox, gpt2, bloom or mpt"));
  CHECK_THROWS_WITH(parse_causal_config("[]"), Contains("is not a JSON object"));
}

TEST_CASE("weights that do not fit a causal model are refused") {
  const auto refused = [](const std::string& model,
                          const std::function<void(std::map<std::string, at::Tensor>&)>& edit,
                          const std::string& words) {
    CAPTURE(words);
    const CausalCopy copy(model);
    copy.change(edit);
    CHECK_THROWS_WITH(copy.read(), Contains(words));
  };
  const std::string key = "model.layers.1.self_attn.k_proj.weight";
  refused(
      "llama", [&](auto& t) { t.erase(key); }, "has no tensor \"layers.1.self_attn.k_proj");
  refused(
      "llama",
      [&](auto& t) {
        t[key] = at::ones({16, 16});
      },
      "\"" + key + "\" has the shape [16, 16], config.json makes it [8, 16]");
  refused(
      "llama", [&](auto& t) { t["model.layers.1.self_attn.k_proj.bias"] = at::ones({8}); },
      "which transformers' Llama does not have");
  refused(
      "llama",
      [&](auto& t) {
        t["lm_head.weight"] = at::ones({48, 16});
      },
      "\"lm_head.weight\" differs from \"embed_tokens.weight\"");
  refused(
      "qwen3", [](auto& t) { t.erase("lm_head.weight"); }, "has no tensor \"lm_head.weight\"");
  const CausalCopy twice("llama");
  twice.change([](auto& t) { t["lm_head.weight"] = t["model.embed_tokens.weight"].clone(); });
  CHECK(!twice.read().tensors.contains("head.decoder.weight"));
}

TEST_CASE("what no family of causal models can express is refused in words") {
  const PretrainedModel llama = read_hugging_face_folder(model_folder("llama"));
  const auto refusal = [&](const std::function<void(Settings&)>& change) {
    Settings settings = llama.settings;
    change(settings);
    const TemporaryFolder folder;
    try {
      write_hugging_face_folder(
          {.settings = settings, .tensors = llama.tensors, .tokenizer = *llama.tokenizer},
          folder.path / "out");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK_THAT(refusal([](Settings& s) { s.position.scheme = "t5"; }),
             Contains("positions are rope (learned in GPT-2, alibi in BLOOM and MPT), not t5"));
  CHECK_THAT(refusal([](Settings& s) { s.position.scheme = "alibi"; }),
             Contains("MPT's norms are LayerNorm") && Contains("MPT's activation is gelu"));
  CHECK_THAT(refusal([](Settings& s) { s.position.scheme = "learned"; }),
             Contains("GPT-2's feed-forward part has no gate"));
  CHECK_THAT(refusal([](Settings& s) {
               s.position.scheme = "alibi";
               s.position.of<AlibiSettings>().trained = true;
               s.model.embedding_norm = true;
             }),
             Contains("BLOOM's activation is gelu_tanh") && Contains("slopes are not trained") &&
                 Contains("BLOOM's feed-forward part is four times as wide"));
  CHECK_THAT(refusal([](Settings& s) { s.model.head = LanguageHeadKind::bert; }),
             Contains("model.head linear"));
  CHECK_THAT(refusal([](Settings& s) { s.model.parallel_residual = true; }),
             Contains("follow one another"));
  CHECK_THAT(refusal([](Settings& s) {
               s.attention.window = 4;
               s.model.query_key_norm = true;
             }),
             Contains("attention.window 0"));
  CHECK_THAT(refusal([](Settings& s) {
               s.attention.window = 4;
               s.model.feed_forward_bias = true;
             }),
             Contains("only Llama's feed-forward part can have biases"));
  CHECK_THAT(refusal([](Settings& s) { s.model.attention_output_bias = true; }),
             Contains("only where queries, keys and values have one"));
  CHECK_THAT(refusal([](Settings& s) { s.model.embedding_norm = true; }),
             Contains("model.embedding_norm false"));
  CHECK_THAT(refusal([](Settings& s) { s.position.of<RopeSettings>().fraction = 0.5; }),
             Contains("whole heads"));
  CHECK_THAT(
      refusal([](Settings& s) { s.position.of<RopeSettings>().scaling = RopeScaling::ntk_mixed; }),
      Contains("scalings are linear"));
  CHECK_THAT(
      refusal([](Settings& s) { s.model.query_key_value_bias = s.model.query_key_norm = true; }),
      Contains("where queries have a bias and a norm (Qwen 3), attention's output"));
  CHECK_THAT(refusal([](Settings& s) { s.model.norm_kind = NormKind::layer_norm; }),
             Contains("GPT-NeoX's layers have biases (model.bias true); GPT-NeoX has no gate"));
}

TEST_CASE("a causal folder of another class is told by its name, not by what it lacks") {
  const CausalCopy copy("qwen3");
  copy.change([](auto& tensors) { tensors.erase("lm_head.weight"); });
  copy.set("architectures", {"Qwen3ForSequenceClassification"});
  CHECK_THROWS_WITH(copy.read(),
                    Contains("\"architectures\" is a list of 1, wanted "
                             "Qwen3ForCausalLM, not \"Qwen3ForSequenceClassification\""));
  CHECK_THROWS_WITH(read_hugging_face_settings(copy.folder.path),
                    Contains("wanted Qwen3ForCausalLM"));
  copy.set("architectures", {"Qwen3Model"});
  CHECK_THROWS_WITH(copy.read(), Contains("has no tensor \"lm_head.weight\""));
}
