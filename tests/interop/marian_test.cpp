// What MarianMT folders hold and what of them is refused.
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/equal.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "catch.h"
#include "config/schemes/sinusoidal.h"
#include "interop/export.h"
#include "interop/fixtures.h"
#include "interop/folder_copy.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;
using Catch::Contains;

namespace {

// A copy of a fixture whose JSON files can be changed.
struct MarianCopy {
  TemporaryFolder folder;
  fs::path path = folder.path / "model";

  explicit MarianCopy(const std::string& name) { fs::copy(model_folder(name), path); }

  void change(const std::string& file, const std::string& key, const nlohmann::json& value) const {
    nlohmann::json document = read_json(path / file);
    document[key] = value;
    std::ofstream(path / file) << document;
  }
};

void check_refused(const std::string& key, const nlohmann::json& value, const std::string& words,
                   const std::string& file = "config.json") {
  const MarianCopy copy("marian");
  copy.change(file, key, value);
  CAPTURE(key);
  CHECK_THROWS_WITH(read_hugging_face_folder(copy.path), Contains(words));
}

}  // namespace

TEST_CASE("a MarianMT folder says its model and its search") {
  CHECK(family_of_folder(model_folder("marian"))->kind == FamilyKind::translator);
  const PretrainedModel first = read_hugging_face_folder(model_folder("marian"));
  CHECK(first.notes.empty());
  const Settings& settings = first.settings;
  CHECK(settings.task == TaskKind::translation);
  CHECK(settings.model.activation == ActivationKind::swish);
  CHECK(settings.model.embedding_scale == EmbeddingScale::sqrt_width);
  CHECK(settings.model.norm_epsilon == 1e-5);
  CHECK(settings.position.of<SinusoidalSettings>().layout == SinusoidalLayout::concat);
  CHECK(settings.translation.output_bias);
  CHECK(settings.decoding.renormalize);
  CHECK(settings.decoding.unknown);
  CHECK(settings.decoding.stopping == StoppingRule::estimate);
  CHECK(settings.decoding.longest_extra == 39);
  CHECK(settings.decoding.free_end);
  CHECK(settings.decoding.first_token == -1);

  const PretrainedModel released = read_hugging_face_folder(model_folder("marian_released"));
  CHECK(released.settings.translation.decoder_layers == 1);
  CHECK(!released.settings.translation.output_bias);
  CHECK(released.settings.decoding.stopping == StoppingRule::full);
  CHECK(released.settings.decoding.alpha == 0.6);
  const PretrainedModel separate = read_hugging_face_folder(model_folder("marian_separate"));
  CHECK(!separate.settings.translation.tie_embeddings);
  CHECK(separate.settings.decoding.stopping == StoppingRule::exact);
}

TEST_CASE("tables of either side are cut to the pieces of its vocabulary") {
  const PretrainedModel whole = read_hugging_face_folder(model_folder("marian_separate"));
  const FolderCopy copy("marian_separate");
  const std::int64_t source = whole.source_tokenizer->vocabulary_size();
  const std::int64_t target = whole.tokenizer->vocabulary_size();
  copy.set("vocab_size", source + 6);
  copy.set("decoder_vocab_size", target + 2);
  copy.change([&](std::map<std::string, at::Tensor>& tensors) {
    for (auto& [name, value] : tensors) {
      if (name == "final_logits_bias") {
        value = at::constant_pad_nd(value, {0, 2}, 0);
      } else if (name.ends_with("encoder.embed_tokens.weight")) {
        value = at::constant_pad_nd(value, {0, 0, 0, 6}, 0.5);
      } else if (name.ends_with("decoder.embed_tokens.weight") || name == "lm_head.weight") {
        value = at::constant_pad_nd(value, {0, 0, 0, 2}, 0.5);
      }
    }
  });
  const PretrainedModel padded = read_hugging_face_folder(copy.folder.path);
  CHECK(padded.settings.model.vocabulary == 0);
  CHECK(padded.notes.size() >= whole.notes.size() + 2);
  REQUIRE(padded.tensors.size() == whole.tensors.size());
  for (const auto& [name, value] : whole.tensors) {
    CAPTURE(name);
    CHECK(at::equal(padded.tensors.at(name), value));
  }
}

TEST_CASE("what a MarianMT folder computes otherwise is refused") {
  check_refused("activation_function", "tanh", "wanted one of gelu");
  check_refused("decoder_attention_heads", 4, "wanted 2, as \"encoder_attention_heads\"");
  check_refused("decoder_ffn_dim", 8, "wanted 24, as \"encoder_ffn_dim\"");
  check_refused("normalize_before", true, "post-norm");
  check_refused("static_position_embeddings", false, "sinusoids");
  check_refused("d_model", 15, "even number");
  check_refused("vocab_size", 0, "an integer from 1");
  check_refused("decoder_vocab_size", 43, "wanted \"vocab_size\"");
  check_refused("encoder_layers", 3, "has no tensor \"encoder.layers.2.self_attn.q_proj.weight\"");
  check_refused("encoder_layers", 1, "holds \"encoder.layers.1");
  check_refused("pad_token_id", 1000, "an integer from 0", "generation_config.json");
  check_refused("length_penalty", -1, "a number from 0 to 10", "generation_config.json");
  check_refused("early_stopping", "soon", "\"never\"", "generation_config.json");
  check_refused("</s>", 1, "otherwise than 0, 1, 2", "vocab.json");
  check_refused("another", 1, "otherwise than 0, 1, 2", "vocab.json");
  check_refused("unk_token", "[UNK]", "lacks the unknown token", "tokenizer_config.json");

  const MarianCopy copy("marian_separate");
  fs::remove(copy.path / "target_vocab.json");
  CHECK_THROWS_WITH(read_hugging_face_folder(copy.path), Contains("target_vocab.json"));
}

TEST_CASE("the tokens of generation_config.json are those that generate() takes") {
  const MarianCopy copy("marian");
  copy.change("generation_config.json", "decoder_start_token_id", 7);
  copy.change("generation_config.json", "forced_bos_token_id", 9);
  copy.change("generation_config.json", "begin_suppress_tokens", {5});
  copy.change("generation_config.json", "suppress_tokens", {4, 6});
  const PretrainedModel translator = read_hugging_face_folder(copy.path);
  CHECK(translator.tokenizer->special().classification == 7);
  std::string notes;
  for (const std::string& note : translator.notes) notes += note + "\n";
  CHECK_THAT(notes, Contains("begin_suppress_tokens") && Contains("never chooses 2 more tokens") &&
                        !Contains("forced_bos_token_id"));
  CHECK(translator.settings.decoding.first_token == 9);
}

TEST_CASE("what generate() does beyond a beam search is told") {
  const MarianCopy copy("marian");
  copy.change("generation_config.json", "min_length", 3);
  copy.change("generation_config.json", "bad_words_ids", nlohmann::json::array());
  const PretrainedModel translator = read_hugging_face_folder(copy.path);
  REQUIRE(translator.notes.size() == 2);
  CHECK_THAT(translator.notes[0], Contains("min_length 3"));
  CHECK_THAT(translator.notes[1], Contains("may choose the padding"));
}

TEST_CASE("what generate() does to repetitions and to the last token is stored") {
  const MarianCopy copy("marian");
  copy.change("generation_config.json", "no_repeat_ngram_size", 3);
  copy.change("generation_config.json", "repetition_penalty", 1.5);
  const PretrainedModel translator = read_hugging_face_folder(copy.path);
  CHECK(translator.notes.empty());
  CHECK(translator.settings.decoding.no_repeat_ngram == 3);
  CHECK(translator.settings.decoding.repetition_penalty == 1.5);
  CHECK(translator.settings.decoding.free_end);
  check_refused("repetition_penalty", 0, "a number from 0.01", "generation_config.json");
  check_refused("forced_bos_token_id", 4000, "an integer from 0", "generation_config.json");

  const auto forced = [&](const nlohmann::json& end) {
    copy.change("generation_config.json", "forced_eos_token_id", end);
    return read_hugging_face_folder(copy.path);
  };
  CHECK(forced({0}).settings.decoding.free_end);
  const PretrainedModel open = forced(nullptr), other = forced(3);
  CHECK(!open.settings.decoding.free_end);
  REQUIRE(open.notes.size() == 1);
  CHECK_THAT(open.notes[0], Contains("breaks a text off"));
  CHECK(!other.settings.decoding.free_end);
  REQUIRE(other.notes.size() == 1);
  CHECK_THAT(other.notes[0], Contains("forced_eos_token_id 3"));
}

TEST_CASE("an output that holds the shared table again is that table") {
  const FolderCopy copy("marian_released");
  copy.set("tie_word_embeddings", false);
  const PretrainedModel tied = read_hugging_face_folder(copy.folder.path);
  CHECK(tied.settings.translation.tie_output);
  CHECK(!tied.tensors.contains("output.weight"));
  REQUIRE(tied.notes.size() == 1);
  CHECK_THAT(tied.notes[0], Contains("the two are one"));
  copy.change([](auto& tensors) { tensors.at("lm_head.weight")[1] += 0.5; });
  const PretrainedModel untied = read_hugging_face_folder(copy.folder.path);
  CHECK(!untied.settings.translation.tie_output);
  CHECK(untied.tensors.contains("output.weight"));
  CHECK(untied.notes.empty());
}

// Its decoder's table has as many rows as the encoder's, whatever decoder_vocab_size says.
TEST_CASE("tables of two sizes are read as transformers 4 writes them") {
  const PretrainedModel whole = read_hugging_face_folder(model_folder("marian_separate"));
  const FolderCopy copy("marian_separate");
  copy.set("vocab_size", whole.source_tokenizer->vocabulary_size() + 6);
  copy.change([&](std::map<std::string, at::Tensor>& tensors) {
    tensors.erase("lm_head.weight");
    for (const char* side : {"encoder", "decoder"}) {
      at::Tensor& table = tensors.at(std::string("model.") + side + ".embed_tokens.weight");
      table = at::constant_pad_nd(table, {0, 0, 0, 6}, 0.5);
    }
  });
  const PretrainedModel read = read_hugging_face_folder(copy.folder.path);
  for (const auto& [name, value] : whole.tensors) {
    CAPTURE(name);
    CHECK(at::equal(read.tensors.at(name), value));
  }
  copy.change([](std::map<std::string, at::Tensor>& tensors) {
    at::Tensor& table = tensors.at("model.decoder.embed_tokens.weight");
    table = table.narrow(0, 0, 9).clone();
  });
  CHECK_THROWS_WITH(read_hugging_face_folder(copy.folder.path),
                    Contains("has 9 rows, config.json makes"));
}

TEST_CASE("a Marian folder of another class is told by its name") {
  check_refused("architectures", {"MarianForCausalLM"}, "wanted MarianMTModel");
}

TEST_CASE("stored sinusoids must be those that are computed here, and one table is one") {
  const auto with_tensor = [](const std::string& name, auto change) {
    const MarianCopy copy("marian_released");
    const Safetensors file(copy.path);
    std::vector<NamedTensor> tensors;
    for (const std::string& tensor : file.names()) {
      at::Tensor value = file.tensor(tensor).clone();
      if (tensor == name) change(value);
      tensors.push_back({.name = tensor, .value = value});
    }
    write_safetensors(copy.path / "model.safetensors", tensors);
    read_hugging_face_folder(copy.path);
  };
  const auto add = [](at::Tensor& value) { value[1] += 0.5; };
  CHECK_NOTHROW(with_tensor("nothing", add));
  CHECK_THROWS_WITH(with_tensor("model.decoder.embed_positions.weight", add),
                    Contains("not sines and cosines"));
  CHECK_THROWS_WITH(with_tensor("lm_head.weight", add), Contains("differs from \"shared.weight\""));
}

// transformers 4 makes the decoder's table as long as the encoder's.
TEST_CASE(
    "vocabularies of two sizes are exported with tables of one, and read again as they were") {
  const std::string longer = GENERATE("source", "target");
  CAPTURE(longer);
  const FolderCopy copy("marian_separate");
  const bool source = longer == "source";
  const fs::path file = copy.folder.path / (source ? "vocab.json" : "target_vocab.json");
  nlohmann::json pieces = read_json(file);
  const std::int64_t size = std::ssize(pieces);
  for (int i = 0; i < 3; ++i) pieces["added" + std::to_string(i)] = size + i;
  copy.write(file.filename().string(), pieces.dump());
  copy.set(source ? "vocab_size" : "decoder_vocab_size", size + 3);
  copy.change([&](std::map<std::string, at::Tensor>& tensors) {
    for (auto& [name, value] : tensors) {
      const bool table =
          name.ends_with(source ? "encoder.embed_tokens.weight" : "decoder.embed_tokens.weight") ||
          (!source && name == "lm_head.weight");
      if (table) value = at::constant_pad_nd(value, {0, 0, 0, 3}, 0.25);
      if (!source && name == "final_logits_bias") value = at::constant_pad_nd(value, {0, 3}, 0.5);
    }
  });
  const PretrainedModel first = read_hugging_face_folder(copy.folder.path);
  const TemporaryFolder folder;
  const fs::path out = folder.path / "out";
  write_hugging_face_folder({.settings = first.settings,
                             .tensors = first.tensors,
                             .tokenizer = *first.tokenizer,
                             .source_tokenizer = first.source_tokenizer.get(),
                             .begin = first.tokenizer->special().padding,
                             .end = first.tokenizer->special().separator},
                            out);
  const nlohmann::json config = read_json(out / "config.json");
  CHECK(config["vocab_size"] == size + 3);
  CHECK(config["decoder_vocab_size"] == size + 3);
  const Safetensors file_of_out(out);
  for (const char* side : {"encoder", "decoder"}) {
    const std::string name = std::string("model.") + side + ".embed_tokens.weight";
    CHECK(file_of_out.entry(name).shape[0] == size + 3);
  }
  const at::Tensor bias = file_of_out.tensor("final_logits_bias");
  CHECK(bias.size(1) == size + 3);
  CHECK((bias[0][size].item<float>() < -1000) == source);  // no piece of the target's
  const PretrainedModel second = read_hugging_face_folder(out);
  CHECK(second.settings.translation.output_bias == first.settings.translation.output_bias);
  REQUIRE(second.tensors.size() == first.tensors.size());
  for (const auto& [name, value] : first.tensors) {
    CAPTURE(name);
    CHECK(at::equal(second.tensors.at(name), value));
  }
}
