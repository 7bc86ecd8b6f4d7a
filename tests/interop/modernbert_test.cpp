// ModernBERT read from Hugging Face folders computes what transformers computes from them
// (expected.safetensors and expected.json, by make_modernbert_fixtures.py), and written again it is
// the same folder.
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "config/attention_settings.h"
#include "config/load.h"
#include "config/schema.h"
#include "config/schemes/layers.h"
#include "config/schemes/rope.h"
#include "interop/export.h"
#include "interop/fixtures.h"
#include "interop/folder_copy.h"
#include "model/heads.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;
using Catch::Contains;
using nlohmann::json;

namespace {

constexpr double kModernTolerance = 1e-4;

json modern_config(const std::string& name) {
  return json::parse(read_file(model_folder(name) / "config.json"));
}

Settings parsed(const json& config) {
  return parse_folder_config({.text = config.dump(), .file = "config.json"}).settings;
}

// The names of the keys of model, attention and position that differ. The preferred family of an
// export (model.family) is no part of the model.
std::vector<std::string> differing_keys(const Settings& a, const Settings& b) {
  std::vector<std::string> keys;
  for (const std::string& key : diff(a, b)) {
    if (key == "model.family") continue;
    if (key.starts_with("model.") || key.starts_with("attention.") || key.starts_with("position")) {
      keys.push_back(key);
    }
  }
  return keys;
}

struct ModernModel {
  explicit ModernModel(const PretrainedModel& read)
      : parameters(1), encoder(encoder_of(read.settings), parameters) {}
  void fill(const PretrainedModel& read) {
    fill_parameters(parameters, read.tensors);
    parameters.flatten();
    parameters.zero_gradients();
  }
  void check_gradients(const Expected& expected, const PretrainedModel& read,
                       const WeightGroup& group) const {
    compare_gradients(
        expected, parameters, read, group,
        [](const std::string& theirs, const at::Tensor& ours, const at::Tensor& wanted) {
          CAPTURE(theirs);
          REQUIRE(wanted.defined());
          CHECK(wanted.abs().max().item<double>() > 0);
          CHECK(largest_difference(ours, wanted) < kModernTolerance);
        });
  }

  ParameterStore parameters;
  TransformerStack encoder;
};

at::Tensor masked_logits(const PretrainedModel& read, const Expected& expected) {
  ModernModel model(read);
  const LanguageHead head(model.encoder, model.parameters);
  model.fill(read);
  return head.logits(model.encoder.forward({.ids = expected["ids"], .layout = expected.layout()}));
}

struct ModernCopy : FolderCopy {
  explicit ModernCopy(const std::string& name = "modernbert") : FolderCopy(name) {}
  PretrainedModel read() const { return read_hugging_face_folder(folder.path); }
};

ExportSummary export_modern(const PretrainedModel& model, const Settings& settings,
                            const fs::path& folder) {
  return write_hugging_face_folder({.settings = settings,
                                    .tensors = model.tensors,
                                    .tokenizer = *model.tokenizer,
                                    .labels = model.labels},
                                   folder);
}

Settings settings_of_run(const PretrainedModel& model) {
  Settings settings = model.settings;
  settings.task = model.has_language_head() ? TaskKind::mlm : TaskKind::glue;
  return settings;
}

}  // namespace

TEST_CASE("a ModernBERT gives transformers' masked logits, loss and gradients") {
  const Expected expected("modernbert");
  const PretrainedModel read = read_hugging_face_folder(model_folder("modernbert"));
  CHECK(read.family->title == "ModernBERT");
  REQUIRE(read.has_language_head());
  CHECK(!read.has_classification_head());
  // The texts are longer than the window, and layers of both kinds are there.
  const auto layers = attention_of_layers(read.settings.attention, read.settings.model.layers);
  CHECK(layers[0].window == 0);
  CHECK(layers[1].window == 7);
  CHECK(layers[2].window == 7);
  CHECK(layers[3].window == 0);
  ModernModel model(read);
  const LanguageHead head(model.encoder, model.parameters);
  model.fill(read);
  const TokenLayout layout = expected.layout();
  CHECK(layout.longest > 2 * layers[1].window);
  const at::Tensor all = model.encoder.forward({.ids = expected["ids"], .layout = layout});
  CHECK(largest_difference(head.logits(all), expected["logits"]) < kModernTolerance);
  const at::Tensor states =
      model.encoder.forward({.ids = expected["ids"], .layout = layout, .rows = expected["places"]});
  const at::Tensor loss =
      head.loss(states, expected["labels"]).loss_sum / expected["labels"].numel();
  CHECK(largest_difference(loss, expected["loss"]) < kModernTolerance);
  loss.backward();
  model.check_gradients(expected, read, read.family->body);
  model.check_gradients(expected, read, read.family->language_head);
}

TEST_CASE("a ModernBERT with biases classifies as transformers', by its mean or first state") {
  const Expected expected("modernbert_classification");
  const PretrainedModel read = read_hugging_face_folder(model_folder("modernbert_classification"));
  CHECK(!read.has_language_head());
  REQUIRE(read.classes() == 2);
  CHECK(read.labels == std::vector<std::string>{"not_equivalent", "equivalent"});
  CHECK(read.settings.glue.head == ClassifierHead::modernbert);
  CHECK(read.settings.glue.pooling == TextPooling::mean);
  CHECK(read.settings.glue.head_dropout == 0.2);
  CHECK(read.settings.model.bias);
  ModernModel model(read);
  const ClassificationHead head({.kind = read.settings.glue.head, .outputs = 2, .dropout = 0.2},
                                model.encoder, model.parameters);
  model.fill(read);
  CHECK(model.parameters.all().size() == read.tensors.size());
  const at::Tensor states =
      model.encoder.forward({.ids = expected["ids"], .layout = expected.layout()});
  const at::Tensor first = at::stack({states[0], states[17]});
  CHECK(largest_difference(head.forward(first, /*training=*/false, 0), expected["first.logits"]) <
        kModernTolerance);
  const at::Tensor mean =
      at::stack({states.narrow(0, 0, 17).mean(0), states.narrow(0, 17, 9).mean(0)});
  const at::Tensor logits = head.forward(mean, /*training=*/false, 0);
  CHECK(largest_difference(logits, expected["logits"]) < kModernTolerance);
  const at::Tensor loss = at::cross_entropy_loss(logits, expected["labels"]);
  CHECK(largest_difference(loss, expected["loss"]) < kModernTolerance);
  loss.backward();
  model.check_gradients(expected, read, read.family->body);
  model.check_gradients(expected, read, read.family->classification_head);
  // Its dropout is the head's.
  CHECK(!at::equal(head.forward(mean, /*training=*/true, 1), logits));
}

TEST_CASE("the fields of ModernBERT-base are those of configs/pretraining/modern-base.yaml") {
  // What answerdotai/ModernBERT-base says of itself, in the form of transformers 4.
  const json base = {{"model_type", "modernbert"},      {"hidden_size", 768},
                     {"intermediate_size", 1152},       {"num_hidden_layers", 22},
                     {"num_attention_heads", 12},       {"vocab_size", 50368},
                     {"hidden_activation", "gelu"},     {"norm_eps", 1e-5},
                     {"local_attention", 128},          {"global_attn_every_n_layers", 3},
                     {"global_rope_theta", 160000.0},   {"local_rope_theta", 10000.0},
                     {"max_position_embeddings", 8192}, {"position_embedding_type", "absolute"},
                     {"classifier_pooling", "mean"},    {"deterministic_flash_attn", false},
                     {"sparse_prediction", false},      {"reference_compile", nullptr}};
  const Settings settings = parsed(base);
  const fs::path file = fs::path(CONFIGS) / "pretraining" / "modern-base.yaml";
  CHECK(differing_keys(settings, load_settings(file)).empty());
  CHECK(settings.data.length == 8192);
  CHECK(settings.glue.pooling == TextPooling::mean);
  // They are the defaults, too.
  const Settings defaults = parsed({{"model_type", "modernbert"}});
  CHECK(differing_keys(settings, defaults).empty());
  CHECK(defaults.glue.pooling == TextPooling::first);
}

TEST_CASE("the fields of transformers 4 say what those of transformers 5 say") {
  json older = modern_config("modernbert");
  const Settings settings = parsed(older);
  REQUIRE(older.contains("layer_types"));
  REQUIRE(older.contains("rope_parameters"));
  older["layer_types"] = nullptr;
  older["rope_parameters"] = nullptr;
  older["global_attn_every_n_layers"] = 3;
  older["global_rope_theta"] = 160000;
  CHECK(differing_keys(parsed(older), settings).empty());
  older["local_rope_theta"] = 500;
  CHECK(parsed(older).position.of<LayersSettings>().schemes.back().options.back().second == "500");
  // Null: the base of all layers is one.
  older["local_rope_theta"] = nullptr;
  CHECK(parsed(older).position.scheme == "rope");
  CHECK(parsed(older).position.of<RopeSettings>().base == 160000);
  // Layers of one kind.
  older["local_rope_theta"] = 500;
  older["global_attn_every_n_layers"] = 1;
  CHECK(parsed(older).attention.window == 0);
  CHECK(parsed(older).attention.layers.empty());
  CHECK(parsed(older).position.of<RopeSettings>().base == 160000);
  older["layer_types"] = json::array(
      {"sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention"});
  CHECK(parsed(older).attention.window == 7);
  CHECK(parsed(older).position.of<RopeSettings>().base == 500);
  older["local_attention"] = 9;  // rounded down, as transformers does
  CHECK(parsed(older).attention.window == 9);
}

TEST_CASE("a ModernBERT is written as the folder that it was read from") {
  const std::string name = GENERATE("modernbert", "modernbert_classification");
  CAPTURE(name);
  const PretrainedModel read = read_hugging_face_folder(model_folder(name));
  const Settings settings = settings_of_run(read);
  const TemporaryFolder folder;
  const fs::path out = folder.path / "out";
  const ExportSummary summary = export_modern(read, settings, out);
  const json theirs = modern_config(name), ours = json::parse(read_file(out / "config.json"));
  CHECK(summary.architecture == theirs["architectures"][0]);
  for (const auto& [key, value] : theirs.items()) {
    // Rotations have no table that would end.
    if (!ours.contains(key) || key == "max_position_embeddings") continue;
    CAPTURE(key);
    CHECK(ours[key] == value);
  }
  CHECK(ours.contains("global_attn_every_n_layers") == (name == "modernbert"));
  CHECK(summary.notes.empty() == (name == "modernbert"));
  const Safetensors wanted(model_folder(name)), written(out);
  CHECK(written.names() == wanted.names());
  for (const std::string& tensor : wanted.names()) {
    CAPTURE(tensor);
    CHECK(at::equal(written.tensor(tensor), wanted.tensor(tensor)));
  }
  CHECK(read_file(out / "tokenizer.json") == read_file(model_folder(name) / "tokenizer.json"));
  const json tokens = json::parse(read_file(out / "tokenizer_config.json"));
  CHECK(tokens["mask_token"] == "[MASK]");
  CHECK(tokens["cls_token"] == "[CLS]");
  const PretrainedModel again = read_hugging_face_folder(out);
  CHECK(differing_keys(again.settings, read.settings).empty());
  CHECK(again.settings.glue.pooling == read.settings.glue.pooling);
  CHECK(again.labels == read.labels);
  for (const auto& [parameter, value] : read.tensors) {
    CHECK(at::equal(again.tensors.at(parameter), value));
  }
}

TEST_CASE("a ModernBERT that rotates neighbours is written as one of halves") {
  PretrainedModel read = read_hugging_face_folder(model_folder("modernbert"));
  for (LayerMapEntry& entry : read.settings.position.of<LayersSettings>().schemes) {
    REQUIRE(entry.options[1].first == "layout");
    entry.options[1].second = "interleaved";
  }
  const TemporaryFolder folder;
  export_modern(read, settings_of_run(read), folder.path / "out");
  const PretrainedModel again = read_hugging_face_folder(folder.path / "out");
  const Expected expected("modernbert");
  const at::Tensor wanted = masked_logits(read, expected);
  CHECK(largest_difference(wanted, expected["logits"]) > 100 * kModernTolerance);
  CHECK(largest_difference(masked_logits(again, expected), wanted) < 1e-5);
}

TEST_CASE("the tokenizer of a ModernBERT gives the ids that transformers gives") {
  const PretrainedModel read = read_hugging_face_folder(model_folder("modernbert"));
  const Tokenizer& tokenizer = *read.tokenizer;
  const SpecialTokens& special = tokenizer.special();
  const json expected = json::parse(read_file(model_folder("modernbert") / "expected.json"));
  for (const json& text : expected["texts"]) {
    std::vector<TokenId> ids{special.classification};
    tokenizer.encode(text["first"].get<std::string>(), ids);
    ids.push_back(special.separator);
    if (text["second"].is_string()) {
      tokenizer.encode(text["second"].get<std::string>(), ids);
      ids.push_back(special.separator);
    }
    CAPTURE(text.dump());
    CHECK(ids == text["ids"].get<std::vector<TokenId>>());
  }
  CHECK(tokenizer.piece(special.padding) == "[PAD]");
  CHECK(tokenizer.piece(special.mask) == "[MASK]");
  CHECK(tokenizer.mask_spaces().before);
  CHECK(!tokenizer.mask_spaces().after);
}

TEST_CASE("language heads of ModernBERT with a table of their own, or without a bias") {
  const Expected expected("modernbert");
  const ModernCopy copy;
  copy.change([](auto& tensors) {
    tensors["decoder.weight"] = tensors["model.embeddings.tok_embeddings.weight"] * 2;
  });
  CHECK_THROWS_WITH(
      copy.read(),
      Contains("\"decoder.weight\" differs from \"embeddings.tok_embeddings.weight\""));
  copy.set("tie_word_embeddings", false);
  const PretrainedModel untied = copy.read();
  const at::Tensor bias = untied.tensors.at("head.decoder.bias");
  const at::Tensor logits = masked_logits(untied, expected);
  CHECK(largest_difference(logits - bias, 2 * (expected["logits"] - bias)) < kModernTolerance);
  const TemporaryFolder folder;
  export_modern(untied, settings_of_run(untied), folder.path / "out");
  CHECK(Safetensors(folder.path / "out").contains("decoder.weight"));

  const ModernCopy plain;
  plain.set("decoder_bias", false);
  plain.change([](auto& tensors) { tensors.erase("decoder.bias"); });
  const PretrainedModel read = plain.read();
  CHECK_THAT(read.notes.front(), Contains("its language head has no bias"));
  CHECK(largest_difference(masked_logits(read, expected), expected["logits"] - bias) <
        kModernTolerance);
}

TEST_CASE("an encoder or another head of ModernBERT's is read without a head") {
  const ModernCopy copy("modernbert_classification");
  copy.set("architectures", {"ModernBertForMultipleChoice"});
  const PretrainedModel read = copy.read();
  CHECK(!read.has_language_head());
  CHECK(read.classes() == 0);
  CHECK_THAT(read.notes.back() + read.notes.front(), Contains("\"classifier.weight\""));
  // ModernBertModel's names have no prefix.
  copy.change([](auto& tensors) {
    std::map<std::string, at::Tensor> encoder;
    for (const auto& [name, value] : tensors) {
      if (name.starts_with("model.")) encoder[name.substr(6)] = value;
    }
    tensors = encoder;
  });
  CHECK(copy.read().tensors.size() + 6 ==
        read_hugging_face_folder(model_folder("modernbert_classification")).tensors.size());
}

TEST_CASE("a ModernBERT's config.json of something else is refused") {
  const auto refused = [](const std::string& key, const json& value, const std::string& words) {
    CAPTURE(key, value.dump());
    const ModernCopy copy;
    copy.set(key, value);
    CHECK_THROWS_WITH(copy.read(), Contains(words));
  };
  refused("hidden_activation", "relu",
          "\"hidden_activation\" is \"relu\", wanted one of silu, swish, gelu, "
          "gelu_pytorch_tanh, gelu_new");
  refused("classifier_activation", "silu", "wanted gelu: the heads have the activation");
  refused("attention_bias", true, "wanted false as \"norm_bias\"");
  refused("mlp_bias", true, "all norms and linear layers have biases here, or none");
  refused("classifier_bias", true, "wanted false as \"norm_bias\"");
  refused("norm_bias", true, "\"attention_bias\" is false, wanted true as \"norm_bias\"");
  refused("layer_types", {"full_attention"}, "for each of the 4 layers");
  refused("layer_types", {"full_attention", "x", "full_attention", "full_attention"},
          "wanted full_attention or sliding_attention");
  refused("rope_parameters", {{"rope_theta", 1e4}, {"rope_type", "default"}},
          "one rotation for full_attention and one for sliding_attention");
  refused("rope_parameters", {{"full_attention", {{"rope_type", "yarn"}, {"factor", 2}}}},
          "full_attention.rope_type\" is \"yarn\", wanted default");
  refused("rope_parameters", {{"full_attention", {{"rope_theta", -1}}}},
          "full_attention.rope_theta\" is -1");
  refused("rope_parameters", {{"full_attention", {{"rope_theta", 1}}}},
          "full_attention.rope_theta\" is 1, wanted a number above 1");
  refused("rope_scaling", {{"rope_type", "linear"}, {"factor", 2}}, "wanted null");
  refused("local_attention", -1, "wanted an integer from 0");
  refused("sliding_window", 4, "half of local_attention");
  refused("classifier_pooling", "max", "wanted cls or mean");
  refused("num_attention_heads", 3, "a divisor of \"hidden_size\", 16");
  refused("num_attention_heads", 16, "an even number of features");
  refused("norm_eps", 0, "wanted a number above 0");
  refused("is_decoder", true, "only encoders");
  // Ignored: they do not change what is computed.
  const ModernCopy copy;
  for (const char* key : {"deterministic_flash_attn", "sparse_prediction"}) copy.set(key, true);
  copy.set("mlp_dropout", 0.1);
  CHECK_THAT(copy.read().notes.front(), Contains("mlp_dropout 0.1"));
}

TEST_CASE("weights that do not fit a ModernBERT are refused") {
  const auto refused = [](const std::function<void(std::map<std::string, at::Tensor>&)>& edit,
                          const std::string& words) {
    CAPTURE(words);
    const ModernCopy copy;
    copy.change(edit);
    CHECK_THROWS_WITH(copy.read(), Contains(words));
  };
  const std::string gate = "model.layers.1.mlp.Wi.weight";
  refused([&](auto& t) { t.erase(gate); }, "has no tensor \"layers.1.mlp.Wi.weight\"");
  refused(
      [&](auto& t) {
        t[gate] = at::ones({12, 16});
      },
      "has the shape [12, 16], config.json makes it [24, 16]");
  refused([](auto& t) { t["model.layers.0.attn_norm.weight"] = at::ones({16}); },
          "which transformers' ModernBERT does not have");
  refused([](auto& t) { t["model.final_norm.bias"] = at::ones({16}); },
          "which transformers' ModernBERT does not have");
}

TEST_CASE("what ModernBERT cannot express is refused in words") {
  const PretrainedModel read = read_hugging_face_folder(model_folder("modernbert"));
  const auto refused = [&](const std::function<void(Settings&)>& edit, const std::string& words) {
    Settings settings = settings_of_run(read);
    edit(settings);
    const TemporaryFolder folder;
    CHECK_THROWS_WITH(export_modern(read, settings, folder.path / "out"), Contains(words));
    CHECK(!fs::exists(folder.path / "out"));
  };
  refused([](Settings& s) { s.model.first_norm = true; }, "model.first_norm false");
  refused([](Settings& s) { s.model.activation = ActivationKind::gelu; }, "have a gate");
  refused([](Settings& s) { s.model.norm_kind = NormKind::rms_norm; }, "are LayerNorm");
  refused([](Settings& s) { s.model.key_value_heads = 1; }, "model.key_value_heads 0");
  refused([](Settings& s) { s.model.query_key_norm = true; }, "model.query_key_norm false");
  refused([](Settings& s) { s.model.query_key_value_bias = true; }, "only where all layers have");
  refused([](Settings& s) { s.model.parallel_residual = true; }, "model.parallel_residual false");
  refused([](Settings& s) { s.model.token_types = 2; }, "model.token_types 0");
  refused([](Settings& s) { s.model.head = LanguageHeadKind::linear; }, "model.head bert");
  refused([](Settings& s) { s.position.scheme = "alibi"; }, "rope in every layer, not alibi");
  refused(
      [](Settings& s) {
        s.position.scheme = "rope";
        s.position.of<RopeSettings>().scaling = RopeScaling::yarn;
      },
      "frequencies are not scaled");
  refused(
      [](Settings& s) {
        s.attention.layers = parse_layer_map("{0-1: {window: 5}, 2-3: {window: 9}}");
      },
      "its windows have one size");
  refused(
      [](Settings& s) {
        s.attention.layers.clear();
        s.attention.window = 6;
      },
      "an odd number of tokens (attention.window); its layers of one kind");
  refused([](Settings& s) { s.task = TaskKind::causal_lm; }, "GPT-NeoX cannot express this model");
  refused(
      [](Settings& s) {
        s.task = TaskKind::glue;
        s.glue.head = ClassifierHead::bert;
      },
      "glue.head modernbert");
  refused([](Settings& s) { s.model.embedding_norm = false; },
          "ModernBERT is pre-norm with model.embedding_norm true");
}
