// T5's encoder computes what transformers' does, and what T5 folders hold and what is refused of
// them. tests/runs/marian_run_test.cpp compares the encoder-decoder.
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "catch.h"
#include "config/schemes/none.h"
#include "config/schemes/t5.h"
#include "interop/export.h"
#include "interop/fixtures.h"
#include "interop/folder_copy.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;
using Catch::Contains;

namespace {

void check_t5_refused(const std::string& key, const nlohmann::json& value,
                      const std::string& words) {
  const FolderCopy copy("t5");
  copy.set(key, value);
  CAPTURE(key);
  CHECK_THROWS_WITH(read_hugging_face_folder(copy.folder.path), Contains(words));
}

ExportSummary export_t5(const PretrainedModel& model, const Settings& settings,
                        const std::map<std::string, at::Tensor>& tensors, const fs::path& folder) {
  return write_hugging_face_folder({.settings = settings,
                                    .tensors = tensors,
                                    .tokenizer = *model.tokenizer,
                                    .source_tokenizer = model.source_tokenizer.get(),
                                    .begin = model.tokenizer->special().padding,
                                    .end = model.tokenizer->special().separator},
                                   folder);
}

}  // namespace

TEST_CASE("T5's encoder alone gives transformers' states and gradients") {
  const Expected expected("t5_encoder");
  const PretrainedModel model = read_hugging_face_folder(model_folder("t5_encoder"));
  CHECK(model.family->kind == FamilyKind::encoder);
  CHECK(!model.has_language_head());
  CHECK(model.settings.model.head_width == 6);
  ParameterStore parameters(1);
  const TransformerStack encoder(encoder_of(model.settings), parameters);
  fill_parameters(parameters, model.tensors);
  parameters.flatten();
  parameters.zero_gradients();
  const TokenLayout layout = expected.layout();
  const at::Tensor states = encoder.forward({.ids = expected["ids"], .layout = layout});
  CHECK(largest_difference(states, expected["states"]) < 1e-4);
  (states * expected["weights"]).sum().backward();
  compare_gradients(
      expected, parameters, model, model.family->body,
      [](const std::string& theirs, const at::Tensor& ours, const at::Tensor& wanted) {
        CAPTURE(theirs);
        REQUIRE(wanted.defined());
        CHECK(wanted.abs().max().item<double>() > 0);
        CHECK(largest_difference(ours, wanted) < 1e-4);
      });
}

TEST_CASE("a T5 folder says its model and its search") {
  const PretrainedModel first = read_hugging_face_folder(model_folder("t5"));
  const Settings& settings = first.settings;
  CHECK(first.family->kind == FamilyKind::translator);
  CHECK(settings.task == TaskKind::translation);
  CHECK(settings.model.norm_kind == NormKind::rms_norm);
  CHECK(!settings.model.bias);
  CHECK(settings.model.embedding_scale == EmbeddingScale::sqrt_width);
  CHECK(settings.position.of<T5Settings>().scale == ScoreScale::none);
  CHECK(settings.position.of<NoneSettings>().scale == ScoreScale::none);
  CHECK(settings.translation.tie_output);
  CHECK(settings.translation.decoder_layers == 0);
  CHECK(!settings.decoding.free_end);
  CHECK(first.tokenizer->piece(static_cast<TokenId>(first.tokenizer->vocabulary_size() - 1)) ==
        "<extra_id_0>");
  CHECK(settings.model.vocabulary == first.tokenizer->vocabulary_size() + 3);
  const PretrainedModel gated = read_hugging_face_folder(model_folder("t5_gated"));
  CHECK(gated.settings.model.activation == ActivationKind::geglu_tanh);
  CHECK(gated.settings.model.embedding_scale == EmbeddingScale::none);
  CHECK(!gated.settings.translation.tie_output);
  CHECK(gated.settings.translation.decoder_layers == 1);
}

TEST_CASE("what a T5 folder computes otherwise is refused") {
  check_t5_refused("feed_forward_proj", "gated-relu", "wanted one of relu, gated-gelu");
  check_t5_refused("architectures", {"T5ForTokenClassification"},
                   "wanted T5ForConditionalGeneration or T5EncoderModel");
  check_t5_refused("relative_attention_num_buckets", 6, "a multiple of 4");
  check_t5_refused("relative_attention_max_distance", 2, "a multiple of 4");
  check_t5_refused("d_kv", 8, "has the shape [12, 16], config.json makes it [16, 16]");
  check_t5_refused("num_decoder_layers", 1, "holds \"decoder.block.1");
  const FolderCopy gated("t5_gated");
  gated.set("scale_decoder_outputs", true);
  CHECK_THROWS_WITH(read_hugging_face_folder(gated.folder.path), Contains("scale_decoder_outputs"));
  const FolderCopy copy("t5");
  fs::remove(copy.folder.path / "spiece.model");
  CHECK_THROWS_WITH(read_hugging_face_folder(copy.folder.path),
                    Contains("no spiece.model and no tokenizer.json"));
}

// transformers scales the logits of a tied output unless tie_word_embeddings is false.
TEST_CASE("a tied output that is not scaled is written out, and read as the table again") {
  const PretrainedModel model = read_hugging_face_folder(model_folder("t5"));
  Settings settings = model.settings;
  settings.model.embedding_scale = EmbeddingScale::none;
  const TemporaryFolder folder;
  const fs::path out = folder.path / "out";
  export_t5(model, settings, model.tensors, out);
  CHECK(read_json(out / "config.json")["tie_word_embeddings"] == false);
  const Safetensors written(out);
  const at::Tensor table = model.tensors.at("embedding.tokens.weight");
  CHECK(at::equal(written.tensor("shared.weight"), table));
  CHECK(at::equal(written.tensor("lm_head.weight"), table));
  const PretrainedModel again = read_hugging_face_folder(out);
  CHECK(again.settings.translation.tie_output);
  CHECK(again.settings.model.embedding_scale == EmbeddingScale::none);
  CHECK(at::equal(again.tensors.at("embedding.tokens.weight"), table));
}

TEST_CASE("a translator that T5 cannot express is refused, all at once") {
  const PretrainedModel model = read_hugging_face_folder(model_folder("t5"));
  Settings settings = model.settings;
  settings.position.decoder = "rope";
  settings.position.of<NoneSettings>().scale = ScoreScale::sqrt_d;
  settings.model.norm = NormPlacement::post;
  settings.model.activation = ActivationKind::geglu;
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(export_t5(model, settings, model.tensors, folder.path / "out"),
                    Contains("T5ForConditionalGeneration cannot express") &&
                        Contains("position.decoder same") && Contains("position.none.scale none") &&
                        Contains("model.norm pre") && Contains("geglu_tanh or swiglu"));
}
