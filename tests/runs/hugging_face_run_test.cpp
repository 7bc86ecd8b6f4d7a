// A Hugging Face folder becomes a run that the other commands open, and a run becomes a folder.
#include "runs/export_run.h"
#include "runs/import_run.h"

#include <ATen/ATen.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "interop/import.h"
#include "runs/model_folders.h"
#include "runs/tiny_run.h"
#include "runs/trained_model.h"
#include "tasks/language/fill_mask.h"
#include "tasks/text_model.h"
#include "temporary_folder.h"
#include "tensor/safetensors.h"

using namespace roformer;
namespace fs = std::filesystem;
using Catch::Contains;

namespace {

std::vector<Override> flags(const TemporaryFolder& folder, std::vector<Override> more = {}) {
  std::vector<Override> all = {{"run", "imported"}, {"runs", folder.path.string()}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

ImportedRun import_model(const std::string& name, const TemporaryFolder& folder,
                         std::vector<Override> more = {},
                         ExistingRun existing = ExistingRun::refuse) {
  return import_run(model_folder(name), flags(folder, std::move(more)), existing);
}

}  // namespace

TEST_CASE("an imported run fills masks, and with one token type gives transformers' logits") {
  const std::string name =
      GENERATE("bert", "roformer", "roformer_bfloat16_sharded", "bert_float16_first_names");
  CAPTURE(name);
  const TemporaryFolder folder;
  const ImportedRun run = import_model(name, folder);
  const TrainedModel trained =
      open_run_of<LanguageModel>(run.path, {.overrides = {{"training.precision", "fp32"}}});
  CHECK(trained.model->parameters().count() == run.parameters);
  const Safetensors expected(model_folder(name) / "expected.safetensors");
  // A language model here reads every token as of the first type.
  if (trained.settings.model.token_types == 1) {
    const at::Tensor ids = expected.tensor("ids").narrow(0, 0, 11);
    const at::Tensor logits =
        trained.model->logits(ids, TokenLayout::uniform(1, 11), at::arange(11));
    CHECK((logits - expected.tensor("logits").narrow(0, 0, 11)).abs().max().item<double>() < 1e-4);
  }
  const auto predictions = fill_mask(trained, "the [MASK]", 3);
  REQUIRE(predictions.size() == 1);
  CHECK(predictions[0].size() == 3);

  CHECK_THROWS_WITH(import_model(name, folder), Contains("holds a run already"));
  const ImportedRun again = import_model(name, folder, {}, ExistingRun::overwrite);
  CHECK(again.parameters == run.parameters);
  const ExportedRun exported = export_run(run.path, "best", folder.path / "out");
  CHECK(exported.architecture == (name[0] == 'b' ? "BertForMaskedLM" : "RoFormerForMaskedLM"));
  const PretrainedModel first = read_hugging_face_folder(model_folder(name));
  const PretrainedModel second = read_hugging_face_folder(folder.path / "out");
  for (const auto& [parameter, value] : second.tensors) {
    CAPTURE(parameter);
    CHECK(at::equal(first.tensors.at(parameter), value));
  }
}

TEST_CASE("an encoder alone is imported with a new language head") {
  const TemporaryFolder folder;
  const ImportedRun run = import_model("bert_encoder", folder, {{"seed", "3"}});
  REQUIRE(run.notes.size() == 2);
  CHECK_THAT(run.notes[0], Contains("pooler is left out"));
  CHECK_THAT(run.notes[1], Contains("no masked language head"));
  CHECK(open_run_of<LanguageModel>(run.path).settings.task == TaskKind::mlm);
}

TEST_CASE("a classifier is imported for the task it was trained on") {
  const TemporaryFolder folder;
  const TemporaryFolder unnamed;  // a folder that names no task keeps its classes
  const Settings settings =
      open_run_of<Classifier>(import_model("bert_classification", unnamed).path).settings;
  CHECK(settings.task == TaskKind::classification);
  CHECK(settings.classification.classes.size() == 3);
  CHECK_THROWS_WITH(import_model("bert_classification", folder, {{"glue.task", "mrpc"}}),
                    Contains("mrpc has 2 outputs") && Contains("has 3"));
  CHECK(!fs::exists(folder.path / "imported"));
  const ImportedRun run = import_model("bert_classification", folder, {{"glue.task", "mnli"}});
  CHECK_THAT(run.notes.back(), Contains("taken as entailment, neutral, contradiction"));
  const ExportedRun exported = export_run(run.path, "best", folder.path / "out");
  CHECK(exported.architecture == "BertForSequenceClassification");
  const auto config = nlohmann::json::parse(read_file(folder.path / "out" / "config.json"));
  CHECK(config["id2label"]["2"] == "unknown");  // as it was named
  CHECK(config["problem_type"] == "single_label_classification");

  SECTION("whose classes are put into its order") {
    const fs::path copy = folder.path / "copy";
    fs::copy(model_folder("bert_classification"), copy);
    auto named = nlohmann::json::parse(read_file(copy / "config.json"));
    named["id2label"] = {{"0", "CONTRADICTION"}, {"1", "Neutral"}, {"2", "entailment"}};
    named["finetuning_task"] = "MNLI";
    std::ofstream(copy / "config.json") << named;
    const ImportedRun ordered = import_run(copy, flags(folder), ExistingRun::overwrite);
    CHECK(ordered.notes.empty());
    const Safetensors weights(ordered.path / "checkpoints" / "step-00000000");
    const Safetensors theirs(copy);
    CHECK(
        at::equal(weights.tensor("classifier.weight"), theirs.tensor("classifier.weight").flip(0)));
    CHECK(at::equal(weights.tensor("classifier.bias"), theirs.tensor("classifier.bias").flip(0)));
  }
}

TEST_CASE("a score is imported for the task that has one") {
  const TemporaryFolder folder;
  const ImportedRun run = import_model("roformer_classification", folder, {{"glue.task", "stsb"}});
  const ExportedRun exported = export_run(run.path, "last", folder.path / "out");
  CHECK(exported.architecture == "RoFormerForSequenceClassification");
  CHECK(read_hugging_face_folder(folder.path / "out").classes() == 1);
}

TEST_CASE("a run that was trained here is exported") {
  const std::string position = GENERATE("rope", "learned");
  const TinyRun tiny(position);
  train_run(tiny.settings, ExistingRun::refuse);
  const fs::path out = tiny.folder.path / "out";
  const ExportedRun exported = export_run(tiny.run(), "last", out);
  CHECK(exported.architecture == (position == "rope" ? "RoFormerForMaskedLM" : "BertForMaskedLM"));
  const Safetensors theirs(out), ours(exported.checkpoint / "model.safetensors");
  const std::string prefix = position == "rope" ? "roformer." : "bert.";
  CHECK(at::equal(theirs.tensor(prefix + "encoder.layer.1.attention.self.key.bias"),
                  ours.tensor("layers.1.attention.query_key_value.bias").narrow(0, 32, 32)));
}

TEST_CASE("a run of another scheme is not exported") {
  const TinyRun tiny("alibi");
  train_run(tiny.settings, ExistingRun::refuse);
  CHECK_THROWS_WITH(
      export_run(tiny.run(), "last", tiny.folder.path / "out"),
      Contains("rope in RoFormer, nezha in NEZHA and deberta in DeBERTa-v2, not alibi"));
}

TEST_CASE("the classes of a folder are told apart by their names, and keep them") {
  const TemporaryFolder folder;
  const fs::path copy = folder.path / "copy", out = folder.path / "out";
  fs::copy(model_folder("bert_classification"), copy);
  const auto name_classes = [&](const std::vector<std::string>& names) {
    auto config = nlohmann::json::parse(read_file(copy / "config.json"));
    config["id2label"] = nlohmann::json::object();
    for (std::size_t i = 0; i < names.size(); ++i) config["id2label"][std::to_string(i)] = names[i];
    std::ofstream(copy / "config.json") << config;
  };
  std::vector<NamedTensor> tensors;
  const auto cut_to = [&](std::int64_t classes) {
    const Safetensors theirs(model_folder("bert_classification"));
    tensors.clear();
    for (const std::string& name : theirs.names()) {
      at::Tensor value = theirs.tensor(name).clone();
      if (name.starts_with("classifier.")) value = value.narrow(0, 0, classes).clone();
      tensors.push_back({.name = name, .value = value});
    }
    write_safetensors(copy / "model.safetensors", tensors);
  };
  const auto import_as = [&](const char* task) {
    return import_run(copy, flags(folder, {{"glue.task", task}}), ExistingRun::overwrite);
  };
  const auto bias_of = [&](const ImportedRun& run) {
    return Safetensors(run.path / "checkpoints" / "step-00000000").tensor("classifier.bias");
  };
  cut_to(2);
  name_classes({"POSITIVE", "NEGATIVE"});  // SST-2's labels are 0 and 1
  const at::Tensor theirs = Safetensors(copy).tensor("classifier.bias");
  const ImportedRun known = import_as("sst2");
  CHECK(known.notes.empty());
  CHECK(at::equal(bias_of(known), theirs.flip(0)));
  CHECK(open_run_of<Classifier>(known.path).settings.glue.class_names == "NEGATIVE|POSITIVE");
  export_run(known.path, "best", out);
  CHECK(nlohmann::json::parse(read_file(out / "config.json"))["id2label"]["0"] == "NEGATIVE");

  name_classes({"ham", "spam"});
  const ImportedRun other = import_as("sst2");
  CHECK(at::equal(bias_of(other), theirs));
  REQUIRE(!other.notes.empty());
  CHECK_THAT(other.notes.back(), Contains("ham, spam") && Contains("taken as 0, 1"));
  CHECK(open_run_of<Classifier>(other.path).settings.glue.class_names == "ham|spam");

  // Five stars are no task of GLUE's.
  name_classes({"1 star", "2 stars", "3 stars", "4 stars", "5 stars"});
  for (NamedTensor& tensor : tensors) {
    if (!tensor.name.starts_with("classifier.")) continue;
    tensor.value = at::cat({tensor.value, tensor.value, tensor.value.narrow(0, 0, 1)});
  }
  write_safetensors(copy / "model.safetensors", tensors);
  CHECK_THROWS_WITH(import_as("rte"), Contains("rte has 2 outputs") && Contains("has 5"));
  const ImportedRun stars = import_run(copy, flags(folder), ExistingRun::overwrite);
  CHECK(open_run_of<Classifier>(stars.path).settings.classification.classes ==
        std::vector<std::string>{"1 star", "2 stars", "3 stars", "4 stars", "5 stars"});
  fs::remove_all(out);
  export_run(stars.path, "best", out);
  CHECK(nlohmann::json::parse(read_file(out / "config.json"))["id2label"]["4"] == "5 stars");
}
