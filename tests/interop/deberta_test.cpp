// What DeBERTa-v2 folders hold, what is refused of them, and what is exported as such a folder.
// parity_test.cpp compares what they compute.
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "catch.h"
#include "config/schemes/deberta.h"
#include "interop/export.h"
#include "interop/fixtures.h"
#include "interop/folder_copy.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;
using Catch::Contains;

namespace {

void check_deberta_refused(const std::string& key, const nlohmann::json& value,
                           const std::string& words) {
  const FolderCopy copy("deberta");
  copy.set(key, value);
  CAPTURE(key);
  CHECK_THROWS_WITH(read_hugging_face_folder(copy.folder.path), Contains(words));
}

ExportSummary export_deberta(const PretrainedModel& model, const Settings& settings,
                             const fs::path& folder) {
  return write_hugging_face_folder(
      {.settings = settings, .tensors = model.tensors, .tokenizer = *model.tokenizer}, folder);
}

}  // namespace

TEST_CASE("a DeBERTa-v2 folder says its distances and their projections") {
  const PretrainedModel released = read_hugging_face_folder(model_folder("deberta"));
  const auto& first = released.settings.position.of<DebertaSettings>();
  CHECK(released.settings.position.scheme == "deberta");
  CHECK(first.buckets == 4);
  CHECK(first.max_position == 6);
  CHECK(first.share_projections);
  CHECK(first.norm);
  CHECK(first.norm_epsilon == 1e-7);
  CHECK(released.settings.model.token_types == 0);
  const PretrainedModel own = read_hugging_face_folder(model_folder("deberta_own_projections"));
  const auto& second = own.settings.position.of<DebertaSettings>();
  CHECK(second.buckets == 0);
  CHECK(second.span == 5);
  CHECK(!second.share_projections);
  CHECK(!second.norm);
  CHECK(own.tensors.contains("layers.1.attention.position.key.bias"));
  const PretrainedModel one = read_hugging_face_folder(model_folder("deberta_p2c"));
  CHECK(!one.settings.position.of<DebertaSettings>().content_to_position);
  REQUIRE(!one.notes.empty());
  CHECK_THAT(one.notes.front(), Contains("mask_predictions.dense.bias"));
}

TEST_CASE("what a DeBERTa-v2 folder computes otherwise is refused") {
  check_deberta_refused("relative_attention", false,
                        "\"relative_attention\" is false, wanted true");
  check_deberta_refused("position_biased_input", true, "wanted false: no table of positions");
  check_deberta_refused("position_biased_input", nullptr, "wanted false: no table of positions");
  check_deberta_refused("conv_kernel_size", 3, "wanted 0: there is no convolution");
  check_deberta_refused("pos_att_type", "p2p", "wanted c2p, p2c or c2p|p2c");
  check_deberta_refused("pos_att_type", nlohmann::json::array(), "nothing knows the positions");
  check_deberta_refused("norm_rel_ebd", "batch_norm", "wanted layer_norm or none");
  check_deberta_refused("embedding_size", 8, "\"embedding_size\" is 8, wanted 16");
  check_deberta_refused("attention_head_size", 4, "\"attention_head_size\" is 4, wanted 8");
  check_deberta_refused("position_buckets", 40, "less than twice the longest distance, 5");
  check_deberta_refused("position_buckets", 3,
                        "has the shape [8, 16], config.json makes it [6, 16]");
  check_deberta_refused("share_att_key", false,
                        "has no tensor \"encoder.layer.0.attention.self.pos_key");
  const FolderCopy copy("deberta_classification");
  copy.set("pooler_hidden_act", "relu");
  CHECK_THROWS_WITH(read_hugging_face_folder(copy.folder.path),
                    Contains("the same activation as \"hidden_act\""));
}

TEST_CASE("DeBERTa-v2's newer head multiplies by the embedding, tied or not") {
  const FolderCopy copy("deberta_own_projections");
  copy.set("tie_word_embeddings", false);
  CHECK(read_hugging_face_folder(copy.folder.path).settings.model.tie_output);
}

TEST_CASE("a DeBERTa-v2 model is exported as it was") {
  const std::string name =
      GENERATE("deberta", "deberta_own_projections", "deberta_p2c", "deberta_classification");
  CAPTURE(name);
  const PretrainedModel model = read_hugging_face_folder(model_folder(name));
  Settings settings = model.settings;
  settings.task = model.has_language_head() ? TaskKind::mlm : TaskKind::glue;
  const TemporaryFolder folder;
  const fs::path out = folder.path / "out";
  const ExportSummary summary = export_deberta(model, settings, out);
  const nlohmann::json theirs = read_json(model_folder(name) / "config.json"),
                       ours = read_json(out / "config.json");
  CHECK(summary.architecture == theirs["architectures"][0]);
  for (const auto& [key, value] : theirs.items()) {
    // The longest text; the longest distance written out; the older names of the head; the order.
    if (!ours.contains(key) || key.starts_with("max_") || key == "legacy" ||
        key == "pos_att_type") {
      continue;
    }
    CAPTURE(key);
    CHECK(ours[key] == value);
  }
  const Safetensors wanted(model_folder(name)), written(out);
  for (const std::string& tensor : wanted.names()) {
    // The names of the head that differ, and the bias that transformers never reads.
    const bool idle = tensor == "cls.predictions.bias" && !settings.model.tie_output;
    if (idle || tensor.find("_predictions.") != std::string::npos) continue;
    CAPTURE(tensor);
    CHECK(at::equal(written.tensor(tensor), wanted.tensor(tensor)));
  }
  const PretrainedModel again = read_hugging_face_folder(out);
  REQUIRE(again.tensors.size() == model.tensors.size());
  for (const auto& [parameter, value] : model.tensors) {
    CAPTURE(parameter);
    CHECK(at::equal(again.tensors.at(parameter), value));
  }
}

TEST_CASE("a scheme that DeBERTa-v2 does not have is refused, all at once") {
  const PretrainedModel model = read_hugging_face_folder(model_folder("deberta"));
  Settings settings = model.settings;
  auto& deberta = settings.position.of<DebertaSettings>();
  deberta.index = DebertaIndex::paper;
  deberta.bias = false;
  deberta.norm_epsilon = 1e-5;
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(export_deberta(model, settings, folder.path / "out"),
                    Contains("position.deberta.index code") &&
                        Contains("position.deberta.bias true") &&
                        Contains("position.deberta.norm_epsilon"));
}
