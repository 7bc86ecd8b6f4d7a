// Causal models read from Hugging Face folders compute what transformers computes from them
// (expected.safetensors, by make_causal_fixtures.py), and written again they are the same folders.
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "config/schema.h"
#include "config/schemes/rope.h"
#include "interop/causal_copy.h"
#include "interop/export.h"
#include "interop/expressible.h"
#include "interop/fixtures.h"
#include "position/scheme_parts.h"
#include "temporary_folder.h"
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
      parse_causal_config(read_file(model_folder("llama") / ("config_" + name + ".json")));
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
  const FolderConfig again = parse_causal_config(written.dump());
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

TEST_CASE(
    "a window stays however long the model's texts were: those that it writes may be longer") {
  const CausalCopy copy("mistral");
  const auto window = [&](const nlohmann::json& value) {
    copy.set("sliding_window", value);
    return copy.read().settings.attention.window;
  };
  CHECK(window(6) == 6);
  CHECK(window(63) == 63);
  CHECK(window(64) == 64);
  CHECK(window(4096) == 4096);
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
  const FolderConfig config = parse_causal_config(read_file(gpt2.folder.path / "config.json"));
  CHECK(config.settings.model.feed_forward == 64);
  CHECK(config.settings.model.dropout == 0.1);
  CHECK_THAT(config.notes.front(), Contains("its dropout in training is 0 after the embedding"));
  const FolderConfig bloom = parse_causal_config(
      R"({"model_type": "bloom", "vocab_size": 48, "n_embed": 24, "num_attention_heads": 6,
          "n_layer": 3, "seq_length": 100, "hidden_dropout": 0.1})");
  CHECK(bloom.settings.model.width == 24);
  CHECK(bloom.settings.model.heads == 6);
  CHECK(bloom.settings.model.layers == 3);
  CHECK(bloom.settings.model.feed_forward == 96);
  CHECK(bloom.settings.data.length == 100);
  CHECK_THAT(bloom.notes.front(), Contains("no dropout after the embedding"));
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
