// Causal models read from Hugging Face folders compute what transformers computes from them
// (expected.safetensors, by make_causal_fixtures.py), and written again they are the same folders.
#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/schemes/alibi.h"
#include "config/schemes/rope.h"
#include "interop/causal_tokenizer.h"
#include "interop/export.h"
#include "interop/expressible.h"
#include "interop/fixtures.h"
#include "interop/folder_copy.h"
#include "position/scheme_parts.h"
#include "temporary_folder.h"
#include "text/plain_tokenizers.h"
#include "text/tokenizer.h"

using namespace roformer;
namespace fs = std::filesystem;
using Catch::Contains;

namespace {

constexpr double kCausalTolerance = 1e-4;

std::string any_causal_model() {
  return GENERATE(as<std::string>{}, "llama", "llama_biases", "mistral", "qwen2", "qwen3",
                  "qwen3_biases", "gpt_neox", "gpt2", "bloom", "mpt");
}

FolderConfig parse(const std::string& text, const std::string& file = "config.json") {
  return parse_folder_config({.text = text, .file = file});
}

StackSettings causal_stack(const Settings& settings) {
  StackSettings stack = encoder_of(settings);
  stack.causal = true;
  return stack;
}

struct CausalModel {
  CausalModel(const Settings& settings, const std::map<std::string, at::Tensor>& tensors)
      : parameters(1), stack(causal_stack(settings), parameters), head(stack, parameters) {
    fill_parameters(parameters, tensors);
    parameters.flatten();
    parameters.zero_gradients();
  }
  at::Tensor states(const at::Tensor& ids) const {
    return states(ids.flatten(), TokenLayout::uniform(ids.size(0), ids.size(1)));
  }
  at::Tensor states(const at::Tensor& ids, const TokenLayout& layout) const {
    return stack.forward({.ids = ids, .layout = layout});
  }
  at::Tensor logits(const at::Tensor& ids) const {
    return head.logits(states(ids)).unflatten(0, {ids.size(0), ids.size(1)});
  }

  ParameterStore parameters;
  TransformerStack stack;
  LanguageHead head;
};

// A copy of a fixture to be spoiled, its weights in one file.
struct CausalCopy : FolderCopy {
  using FolderCopy::FolderCopy;
  PretrainedModel read() const { return read_hugging_face_folder(folder.path); }
};

void check_causal_refused(const std::string& model, const std::string& key,
                          const nlohmann::json& value, const std::string& words) {
  CAPTURE(model, key, value.dump());
  const CausalCopy copy(model);
  copy.set(key, value);
  CHECK_THROWS_WITH(copy.read(), Contains(words));
}

}  // namespace

TEST_CASE("causal language models give transformers' logits, loss and gradients") {
  const std::string name = any_causal_model();
  CAPTURE(name);
  const PretrainedModel read = read_hugging_face_folder(model_folder(name));
  REQUIRE(read.family->kind == FamilyKind::causal);
  const Expected expected(name);
  const CausalModel model(read.settings, read.tensors);
  CHECK(static_cast<std::size_t>(model.parameters.all().size()) == read.tensors.size());
  const at::Tensor ids = expected["ids"];
  CHECK(largest_difference(model.logits(ids), expected["logits"]) < kCausalTolerance);

  const std::int64_t length = ids.size(1);
  const at::Tensor states = model.states(ids).unflatten(0, {ids.size(0), length});
  const at::Tensor labels = ids.narrow(1, 1, length - 1).flatten();
  const CrossEntropy loss =
      model.head.loss(states.narrow(1, 0, length - 1).flatten(0, 1).contiguous(), labels);
  const auto targets = static_cast<double>(labels.numel());
  CHECK(loss.loss_sum.item<double>() / targets ==
        Approx(expected["loss"].item<double>()).margin(kCausalTolerance));
  (loss.loss_sum / targets).backward();
  for (const WeightGroup* group : {&read.family->body, &read.family->language_head}) {
    compare_gradients(
        expected, model.parameters, read, *group,
        [](const std::string& theirs, const at::Tensor& ours, const at::Tensor& wanted) {
          CAPTURE(theirs);
          REQUIRE(wanted.defined());
          CHECK(largest_difference(ours, wanted) < kCausalTolerance);
        });
  }
}

TEST_CASE("causal models give transformers' logits for padded texts and for long ones") {
  const std::string name = any_causal_model();
  CAPTURE(name);
  const PretrainedModel read = read_hugging_face_folder(model_folder(name));
  const Expected expected(name);
  const CausalModel model(read.settings, read.tensors);
  const TokenLayout layout = expected.layout();
  const at::Tensor ids = expected["ids"];
  REQUIRE(layout.blocks.size() == 2);
  const at::Tensor texts = at::cat({ids[0], ids[1].narrow(0, 0, layout.blocks[1].length)});
  const at::Tensor logits = model.head.logits(model.states(texts, layout));
  CHECK(largest_difference(logits, expected["padded.logits"]) < kCausalTolerance);
  CHECK(largest_difference(model.logits(expected["long.ids"]), expected["long.logits"]) <
        kCausalTolerance);
}

TEST_CASE("alibi has the slopes of BLOOM and MPT for any number of heads") {
  const std::string name = GENERATE("bloom", "mpt");
  CAPTURE(name);
  const Expected expected(name);
  for (std::int64_t heads = 1; heads <= 24; ++heads) {
    CAPTURE(heads);
    const at::Tensor ours = at::tensor(alibi_slopes(heads), at::kDouble);
    CHECK(largest_difference(ours, expected["slopes." + std::to_string(heads)]) < 1e-7);
  }
}

TEST_CASE("every scaling of the rotation gives transformers' logits") {
  const std::string name =
      GENERATE("linear", "dynamic", "yarn", "yarn_mscale", "llama3", "longrope");
  CAPTURE(name);
  const Expected expected("llama");
  const PretrainedModel read = read_hugging_face_folder(model_folder("llama"));
  const FolderConfig scaled =
      parse(read_file(model_folder("llama") / ("config_" + name + ".json")));
  const CausalModel model(scaled.settings, read.tensors);
  const at::Tensor logits = model.logits(expected["ids"]);
  CHECK(largest_difference(logits, expected[name + ".logits"]) < kCausalTolerance);
  CHECK(largest_difference(logits, expected["logits"]) > 100 * kCausalTolerance);
  // As it is written: with rope_theta and rope_scaling beside each other, as older releases have
  // it.
  const nlohmann::json written =
      write_fields(scaled.family->fields, {.settings = scaled.settings,
                                           .model_type = "llama",
                                           .architecture = "LlamaForCausalLM",
                                           .positions = scaled.settings.data.length});
  CHECK(written.contains("rope_scaling"));
  CHECK(!written.contains("rope_parameters"));
  const FolderConfig again = parse(written.dump());
  const CausalModel same(again.settings, read.tensors);
  CHECK(at::equal(same.logits(expected["ids"]), logits));
}

TEST_CASE("a causal model is written as the folder that it was read from") {
  const std::string name = any_causal_model();
  CAPTURE(name);
  const PretrainedModel read = read_hugging_face_folder(model_folder(name));
  const TemporaryFolder folder;
  const fs::path out = folder.path / "out";
  const ExportSummary summary = write_hugging_face_folder(
      {.settings = read.settings, .tensors = read.tensors, .tokenizer = *read.tokenizer}, out);
  const Safetensors theirs(model_folder(name)), ours(out);
  const nlohmann::json config = nlohmann::json::parse(read_file(out / "config.json"));
  const nlohmann::json original =
      nlohmann::json::parse(read_file(model_folder(name) / "config.json"));
  CHECK(summary.architecture == original["architectures"][0]);
  CHECK(config["model_type"] == original["model_type"]);
  CHECK(diff(read.settings, read_hugging_face_settings(out)).empty());
  for (const std::string& tensor : theirs.names()) {
    CAPTURE(tensor);
    REQUIRE(ours.contains(tensor));
    CHECK(at::equal(ours.tensor(tensor), theirs.tensor(tensor)));
  }
  CHECK(ours.names().size() == theirs.names().size());
  CHECK_THAT(summary.notes.front(), Contains("its texts are ids"));
}

TEST_CASE("a rotation of neighbours is written as one of halves") {
  const std::string name = GENERATE("llama", "qwen2", "qwen3", "gpt_neox");
  CAPTURE(name);
  PretrainedModel read = read_hugging_face_folder(model_folder(name));
  read.settings.position.of<RopeSettings>().layout = RotaryLayout::interleaved;
  const TemporaryFolder folder;
  const fs::path out = folder.path / "out";
  write_hugging_face_folder(
      {.settings = read.settings, .tensors = read.tensors, .tokenizer = *read.tokenizer}, out);
  const PretrainedModel again = read_hugging_face_folder(out);
  CHECK(again.settings.position.of<RopeSettings>().layout == RotaryLayout::half);
  const at::Tensor ids = Expected(name)["ids"];
  const at::Tensor wanted = CausalModel(read.settings, read.tensors).logits(ids);
  CHECK(largest_difference(CausalModel(again.settings, again.tensors).logits(ids), wanted) < 1e-5);
}

TEST_CASE("a causal folder's settings are told without its weights, its texts are ids") {
  const Settings qwen = read_hugging_face_settings(model_folder("qwen3"));
  CHECK(qwen.task == TaskKind::causal_lm);
  CHECK(qwen.model.head_width == 6);
  CHECK(qwen.model.key_value_heads == 2);
  CHECK(qwen.model.query_key_norm);
  CHECK(!qwen.model.bias);
  CHECK(qwen.model.activation == ActivationKind::swiglu);
  CHECK(qwen.model.head == LanguageHeadKind::linear);
  CHECK(!qwen.model.tie_output);
  CHECK(qwen.position.of<RopeSettings>().base == 1000);
  CHECK(qwen.data.length == 64);
  CHECK(family_of_folder(model_folder("qwen2"))->title == "Qwen 2");
  const Settings neox = read_hugging_face_settings(model_folder("gpt_neox"));
  CHECK(neox.model.parallel_residual);
  CHECK(neox.position.of<RopeSettings>().fraction == 0.5);
  CHECK(family_of_folder(model_folder("bert"))->kind == FamilyKind::encoder);
  const PretrainedModel read = read_hugging_face_folder(model_folder("llama"));
  CHECK(read.tokenizer->encode("3 1 47") == std::vector<TokenId>{3, 1, 47});
  CHECK_THAT(read.notes.front(), Contains("it has no tokenizer.model: its texts are ids"));
}

TEST_CASE("GPT-NeoX's older fields and buffers are read") {
  const CausalCopy copy("gpt_neox");
  copy.set("rope_parameters", nullptr);
  copy.set("rotary_pct", 0.5);
  copy.set("rotary_emb_base", 10000);
  copy.change([](auto& tensors) {
    tensors["gpt_neox.layers.0.attention.bias"] = at::ones({1, 1, 4, 4}, at::kBool);
    tensors["gpt_neox.layers.0.attention.masked_bias"] = at::ones({1});
    tensors["gpt_neox.layers.0.attention.rotary_emb.inv_freq"] = at::ones({1});
  });
  const PretrainedModel read = copy.read();
  const Expected expected("gpt_neox");
  const CausalModel model(read.settings, read.tensors);
  CHECK(largest_difference(model.logits(expected["ids"]), expected["logits"]) < kCausalTolerance);
}

TEST_CASE("a window as long as the longest text is none") {
  const CausalCopy copy("mistral");
  const auto window = [&](const nlohmann::json& value) {
    copy.set("sliding_window", value);
    return copy.read().settings.attention.window;
  };
  CHECK(window(6) == 6);
  CHECK(window(63) == 63);
  CHECK(window(64) == 0);
  CHECK(window(4096) == 0);
  CHECK(window(nullptr) == 0);
  // Without a window it is a Llama by another name.
  Settings settings = copy.read().settings;
  CHECK(exported_architecture(settings) == "MistralForCausalLM");
  settings.model.family = "llama";
  CHECK(exported_architecture(settings) == "LlamaForCausalLM");
}

TEST_CASE("older names of fields, tensors and masks of GPT-2 and BLOOM are read") {
  const CausalCopy gpt2("gpt2");
  gpt2.change([](auto& tensors) {
    std::map<std::string, at::Tensor> bare;
    for (const auto& [name, value] : tensors) bare[name.substr(sizeof("transformer.") - 1)] = value;
    bare["h.0.attn.bias"] = at::ones({1, 1, 4, 4});
    bare["h.0.attn.masked_bias"] = at::ones({1});
    bare["lm_head.weight"] = bare["wte.weight"].clone();
    tensors = bare;
  });
  CHECK(gpt2.read().tensors.size() ==
        read_hugging_face_folder(model_folder("gpt2")).tensors.size());
  gpt2.set("n_inner", nullptr);
  gpt2.set("embd_pdrop", 0);
  const FolderConfig config = parse(read_file(gpt2.folder.path / "config.json"));
  CHECK(config.settings.model.feed_forward == 64);
  CHECK(config.settings.model.dropout == 0.1);
  CHECK_THAT(config.notes.front(), Contains("its dropout in training is 0 after the embedding"));
  const FolderConfig bloom = parse(
      R"({"model_type": "bloom", "vocab_size": 48, "n_embed": 24, "num_attention_heads": 6,
          "n_layer": 3, "seq_length": 100, "hidden_dropout": 0.1})");
  CHECK(bloom.settings.model.width == 24);
  CHECK(bloom.settings.model.heads == 6);
  CHECK(bloom.settings.model.layers == 3);
  CHECK(bloom.settings.model.feed_forward == 96);
  CHECK(bloom.settings.data.length == 100);
  CHECK_THAT(bloom.notes.front(), Contains("no dropout after the embedding"));
}

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
  CHECK_THROWS_WITH(parse(R"({"model_type": "mamba"})"),
                    Contains("\"model_type\" is \"mamba\", wanted bert, roformer") &&
                        Contains("llama, qwen2, qwen3, mistral, gpt_neox, gpt2, bloom or mpt"));
  CHECK_THROWS_WITH(parse("[]"), Contains("is not a JSON object"));
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

TEST_CASE("a causal folder's byte-level tokenizer.json is taken, and written again as it is") {
  const CausalCopy copy("llama");
  const nlohmann::json tokenizer = {
      {"added_tokens", {{{"id", 5}, {"content", "<|endoftext|>"}, {"special", true}}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model",
       {{"type", "BPE"},
        {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}, {"\u0120", 3}, {"\u0120a", 4}}},
        {"merges", {"a b", "\u0120 a"}}}}};
  const std::string text = tokenizer.dump();
  std::ofstream(copy.folder.path / "tokenizer.json") << text;
  const PretrainedModel read = copy.read();
  CHECK(read.tokenizer->kind() == TokenizerKind::byte_level);
  CHECK(read.tokenizer->encode("ab a") == std::vector<TokenId>{2, 4});
  CHECK(read.tokenizer->special().separator == 5);
  const TemporaryFolder folder;
  const fs::path out = folder.path / "out";
  write_hugging_face_folder(
      {.settings = read.settings, .tensors = read.tensors, .tokenizer = *read.tokenizer}, out);
  CHECK(read_file(out / "tokenizer.json") == text);
  CHECK(read.settings.decoding.prompt_start == PromptStart::nothing);
  // More pieces than rows belong to another model.
  nlohmann::json large = tokenizer;
  for (int id = 5; id < 60; ++id) large["model"]["vocab"]["\u0120" + std::to_string(id)] = id;
  large["added_tokens"] = nlohmann::json::array();
  std::ofstream(copy.folder.path / "tokenizer.json") << large.dump();
  CHECK_THROWS_WITH(copy.read(), Contains("the weights have rows for 48"));
}

TEST_CASE("the ids that end a text are those of the folder, and are written") {
  const CausalCopy copy("llama");
  const auto config = [&](const nlohmann::json& ends) {
    nlohmann::json document = nlohmann::json::parse(read_file(copy.folder.path / "config.json"));
    document["eos_token_id"] = ends;
    write_file_atomically(copy.folder.path / "config.json", document.dump());
    return copy.read().settings.decoding.end_tokens;
  };
  using Ids = std::vector<std::int64_t>;
  CHECK(config(nullptr).empty());
  CHECK(config(7) == Ids{7});
  // What `generate` of transformers reads first.
  std::ofstream(copy.folder.path / "generation_config.json") << R"({"eos_token_id": [5, 9]})";
  PretrainedModel read = copy.read();
  CHECK(read.settings.decoding.end_tokens == Ids{5, 9});
  const TemporaryFolder folder;
  write_hugging_face_folder(
      {.settings = read.settings, .tensors = read.tensors, .tokenizer = *read.tokenizer},
      folder.path / "out");
  CHECK(nlohmann::json::parse(read_file(folder.path / "out" / "config.json"))["eos_token_id"] ==
        nlohmann::json({5, 9}));
  CHECK(read_hugging_face_folder(folder.path / "out").settings.decoding.end_tokens == Ids{5, 9});
  std::ofstream(copy.folder.path / "generation_config.json") << R"({"eos_token_id": "</s>"})";
  CHECK_THROWS_WITH(copy.read(), Contains("wanted an id or a list of ids"));
}

TEST_CASE("a tokenizer.model that is none of SentencePiece's leaves the word to tokenizer.json") {
  const CausalCopy copy("llama");
  std::ofstream(copy.folder.path / "tokenizer.model") << "IQ== 0\nIg== 1\n";
  CHECK_THROWS_WITH(copy.read(), Contains("tiktoken's ranks, and its name tells no pattern"));
  std::ofstream(copy.folder.path / "tokenizer.model.pattern") << "cl100k_base\n";
  CHECK(copy.read().tokenizer->encode("!\"!") == std::vector<TokenId>{0, 1, 0});
  nlohmann::json tokenizer = {
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model",
       {{"type", "BPE"}, {"vocab", {{"A", 0}, {"B", 1}}}, {"merges", nlohmann::json::array()}}}};
  std::ofstream(copy.folder.path / "tokenizer.json") << tokenizer.dump();
  const PretrainedModel read = copy.read();
  CHECK(read.tokenizer->kind() == TokenizerKind::byte_level);
  CHECK_THAT(read.notes.front(), Contains("tokenizer.model is no SentencePiece model"));
  // SentencePiece's own goes before, as ever.
  fs::copy(model_folder("marian") / "source.spm", copy.folder.path / "tokenizer.model",
           fs::copy_options::overwrite_existing);
  CHECK(copy.read().tokenizer->kind() == TokenizerKind::sentencepiece);
}

TEST_CASE("a causal folder's chat template is read and written") {
  const CausalCopy copy("llama");
  const auto config = [&](const nlohmann::json& value) {
    std::ofstream(copy.folder.path / "tokenizer_config.json") << value.dump();
  };
  fs::copy(model_folder("marian") / "source.spm", copy.folder.path / "tokenizer.model");
  CHECK(copy.read().tokenizer->chat().source.empty());
  config({{"chat_template", "{{ bos_token }}{{ messages[0].content }}"},
          {"bos_token", "<s>"},
          {"eos_token", {{"content", "</s>"}}}});
  const PretrainedModel read = copy.read();
  CHECK(read.tokenizer->chat() == ChatFormat{.source = "{{ bos_token }}{{ messages[0].content }}",
                                             .begin = "<s>",
                                             .end = "</s>"});
  const auto complains = [](const PretrainedModel& model) {
    return std::ranges::any_of(model.notes, [](const std::string& note) {
      return note.find("cannot compute its chat template") != std::string::npos;
    });
  };
  CHECK(!complains(read));
  const TemporaryFolder folder;
  write_hugging_face_folder(
      {.settings = read.settings, .tensors = read.tensors, .tokenizer = *read.tokenizer},
      folder.path / "out");
  CHECK(read_hugging_face_folder(folder.path / "out").tokenizer->chat() == read.tokenizer->chat());
  CHECK(read_file(folder.path / "out" / "chat_template.jinja") == read.tokenizer->chat().source);
  // One of several, and the file before the field.
  config({{"chat_template",
           {{{"name", "tool_use"}, {"template", "x"}}, {{"name", "default"}, {"template", "y"}}}}});
  CHECK(copy.read().tokenizer->chat().source == "y");
  std::ofstream(copy.folder.path / "chat_template.jinja") << "{% macro m() %}{% endmacro %}";
  CHECK(copy.read().tokenizer->chat().source == "{% macro m() %}{% endmacro %}");
  CHECK(complains(copy.read()));
  // It is parsed, not rendered: what it would say of a conversation is told where one is written.
  std::ofstream(copy.folder.path / "chat_template.jinja") << "{{ raise_exception('no') }}";
  CHECK(!complains(copy.read()));
  fs::remove(copy.folder.path / "chat_template.jinja");
  config({{"chat_template", std::string((1 << 20) + 1, 'a')}});
  CHECK_THROWS_WITH(copy.read(), Contains("a chat_template that is larger than 1 MiB"));
}

TEST_CASE("a causal folder's chat template is no link to a file outside the folder") {
  const CausalCopy copy("llama");
  fs::copy(model_folder("marian") / "source.spm", copy.folder.path / "tokenizer.model");
  const TemporaryFolder elsewhere;
  std::ofstream(elsewhere.path / "secret") << "a secret of the user";
  const fs::path file = copy.folder.path / "chat_template.jinja";
  fs::create_symlink(elsewhere.path / "secret", file);
  CHECK_THROWS_WITH(copy.read(), Contains("is a link to") && Contains("outside the folder"));
  fs::remove(file);
  std::ofstream(copy.folder.path / "other.jinja") << "of the folder";
  fs::create_symlink("other.jinja", file);
  CHECK(copy.read().tokenizer->chat().source == "of the folder");
}

TEST_CASE("what a causal folder's tokenizer puts before a text is read, and written") {
  const CausalCopy copy("llama");
  const auto says = [&](const nlohmann::json& config) {
    std::ofstream(copy.folder.path / "tokenizer_config.json") << config.dump();
    return copy.read().settings.decoding.prompt_start;
  };
  SECTION("SentencePiece's <s>, unless the folder says no") {
    fs::copy(model_folder("marian") / "source.spm", copy.folder.path / "tokenizer.model");
    CHECK(copy.read().tokenizer->kind() == TokenizerKind::sentencepiece);
    CHECK(copy.read().settings.decoding.prompt_start == PromptStart::classification);
    CHECK(says({{"add_bos_token", true}}) == PromptStart::classification);
    CHECK(says({{"add_bos_token", false}}) == PromptStart::nothing);
    CHECK_THROWS_WITH(says(3), Contains("is not a JSON object"));
    // As it is exported.
    fs::remove(copy.folder.path / "tokenizer_config.json");
    PretrainedModel read = copy.read();
    for (const PromptStart start :
         {PromptStart::separator, PromptStart::classification, PromptStart::nothing}) {
      const TokenId first = prompt_token(*read.tokenizer, start);
      if (start != PromptStart::nothing && first < 0) continue;
      CAPTURE(first);
      read.settings.decoding.prompt_start = start;
      const TemporaryFolder folder;
      const ExportSummary summary = write_hugging_face_folder(
          {.settings = read.settings, .tensors = read.tensors, .tokenizer = *read.tokenizer},
          folder.path / "out");
      CHECK(read_hugging_face_folder(folder.path / "out").settings.decoding.prompt_start == start);
      // transformers' tokenizer puts the token there, too.
      CHECK(summary.architecture == "LlamaForCausalLM");
      const auto written = nlohmann::json::parse(read_file(folder.path / "out" / "tokenizer.json"));
      CHECK((written.dump().find("TemplateProcessing") != std::string::npos) == (first >= 0));
    }
  }
  SECTION("a byte-level tokenizer's template, or the token that the folder names") {
    const auto special = [](int id, const char* content) {
      return nlohmann::json{{"id", id}, {"content", content}, {"special", true}};
    };
    nlohmann::json tokenizer = {
        {"added_tokens", {special(2, "<begin>"), special(3, "<|endoftext|>")}},
        {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
        {"decoder", {{"type", "ByteLevel"}}},
        {"post_processor",
         {{"type", "TemplateProcessing"},
          {"single",
           {{{"SpecialToken", {{"id", "<begin>"}, {"type_id", 0}}}},
            {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}}}},
        {"model",
         {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}}}, {"merges", nlohmann::json::array()}}}};
    const auto write = [&] { std::ofstream(copy.folder.path / "tokenizer.json") << tokenizer; };
    write();
    CHECK(copy.read().settings.decoding.prompt_start == PromptStart::classification);
    const std::string end = "<|endoftext|>";
    CHECK(says({{"add_bos_token", true}, {"bos_token", end}}) == PromptStart::separator);
    CHECK(says({{"add_bos_token", true}, {"bos_token", {{"content", "a"}}}}) ==
          PromptStart::separator);
    CHECK_THAT(copy.read().notes.front(), Contains("\"a\"; here a prompt begins with"));
    CHECK(says({{"add_bos_token", true}, {"bos_token", nullptr}}) == PromptStart::nothing);
    tokenizer.erase("post_processor");
    write();
    CHECK(says(nlohmann::json::object()) == PromptStart::nothing);
    // As it is exported.
    PretrainedModel read = copy.read();
    for (const PromptStart start : {PromptStart::separator, PromptStart::nothing}) {
      read.settings.decoding.prompt_start = start;
      const TemporaryFolder folder;
      write_hugging_face_folder(
          {.settings = read.settings, .tensors = read.tensors, .tokenizer = *read.tokenizer},
          folder.path / "out");
      CHECK(read_hugging_face_folder(folder.path / "out").settings.decoding.prompt_start == start);
      const auto config =
          nlohmann::json::parse(read_file(folder.path / "out" / "tokenizer_config.json"));
      CHECK(config["eos_token"] == end);
      read.settings.decoding.end_tokens = {1};
      write_hugging_face_folder(
          {.settings = read.settings, .tensors = read.tensors, .tokenizer = *read.tokenizer},
          folder.path / "other");
      read.settings.decoding.end_tokens.clear();
      CHECK(nlohmann::json::parse(
                read_file(folder.path / "other" / "tokenizer_config.json"))["eos_token"] == "b");
      CHECK(config.contains("bos_token") == (start == PromptStart::separator));
    }
  }
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

TEST_CASE("rotations that follow the length of a text are said to differ from a cache's") {
  const CausalCopy copy("llama");
  const auto notes = [&](const char* config) {
    copy.write("config.json", read_file(model_folder("llama") / config));
    std::string text;
    for (const std::string& note : copy.read().notes) text += note + "\n";
    return text;
  };
  CHECK_THAT(notes("config_longrope.json"), Contains("its rope_type is longrope: beyond "));
  CHECK_THAT(notes("config_dynamic.json"), Contains("its rope_type is dynamic: beyond "));
  CHECK_THAT(notes("config_yarn.json"), !Contains("rope_type"));
}
