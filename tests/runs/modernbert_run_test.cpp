// A ModernBERT as a user meets it: imported, asked for masked words, fine-tuned, exported.
#include <ATen/ATen.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "config/load.h"
#include "has.h"
#include "interop/import.h"
#include "tasks/language/fill_mask.h"
#include "runs/export_run.h"
#include "runs/import_run.h"
#include "runs/model_folders.h"
#include "runs/model_source.h"
#include "runs/tiny_glue.h"
#include "runs/trained_model.h"
#include "tasks/classification/classification_task.h"
#include "tensor/safetensors.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

ImportedRun import_modernbert(const std::string& name, const TemporaryFolder& folder,
                              std::vector<Override> more = {}) {
  std::vector<Override> keys = {{"run", name}, {"runs", folder.path.string()}};
  keys.insert(keys.end(), more.begin(), more.end());
  return import_run(model_folder(name), keys, ExistingRun::refuse);
}

void check_same_weights(const fs::path& folder, const std::string& name) {
  const Safetensors written(folder), wanted(model_folder(name));
  CHECK(written.names() == wanted.names());
  for (const std::string& tensor : wanted.names()) {
    CAPTURE(tensor);
    CHECK(at::equal(written.tensor(tensor), wanted.tensor(tensor)));
  }
}

// GLUE's settings from a file, with what the source gives.
Settings fine_tuning(const TinyGlue& tiny, const fs::path& from,
                     const std::vector<Override>& more = {}) {
  const fs::path file = tiny.folder.path / "glue.yaml";
  std::ofstream(file) << "task: glue\nthreads: 1\nrun: tuned\nglue: {task: mrpc}\n"
                         "training: {steps: 20e, batch: 8, learning_rate: 3e-3, save_every: 0, "
                         "precision: fp32}\n";
  std::vector<Override> all = {{"data.directory", tiny.data().string()},
                               {"data.length", "64"},
                               {"runs", (tiny.folder.path / "runs").string()},
                               {"model.from", from.string()}};
  all.insert(all.end(), more.begin(), more.end());
  return load_settings(file, all, model_source_keys);
}

}  // namespace

TEST_CASE("an imported ModernBERT fills masks as transformers does, and is exported unchanged") {
  const TemporaryFolder folder;
  const ImportedRun run = import_modernbert("modernbert", folder);
  CHECK(run.model == "ModernBERT with a masked language head");
  const TrainedModel trained =
      open_run_of<LanguageModel>(run.path, {.overrides = {{"training.precision", "fp32"}}});
  const auto expected =
      nlohmann::json::parse(read_file(model_folder("modernbert") / "expected.json"))["masked"];
  const auto text = expected["text"].get<std::string>();
  const auto predictions = fill_mask(trained, text, 5);
  REQUIRE(predictions.size() == 1);
  REQUIRE(predictions[0].size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(predictions[0][i].id == expected["ids"][i].get<TokenId>());
    // Theirs are shares among all tokens but the special ones.
    const double ratio = predictions[0][i].probability / predictions[0][0].probability;
    const double theirs =
        expected["probabilities"][i].get<double>() / expected["probabilities"][0].get<double>();
    CHECK(ratio == Approx(theirs).epsilon(1e-4));
    // The white space before the mask is the mask's, and what stands for it brings its own.
    CHECK(predictions[0][i].filled == "click the" + predictions[0][i].text + " house");
  }
  const ExportedRun exported = export_run(run.path, "best", folder.path / "out");
  CHECK(exported.architecture == "ModernBertForMaskedLM");
  check_same_weights(folder.path / "out", "modernbert");
}

TEST_CASE("an imported ModernBERT's classifier gives transformers' logits, and is exported") {
  const TemporaryFolder folder;
  const ImportedRun run =
      import_modernbert("modernbert_classification", folder, {{"glue.task", "mrpc"}});
  CHECK(run.model == "ModernBERT with a head for mrpc");
  const TrainedClassifier trained =
      open_run_of<Classifier>(run.path, {.overrides = {{"training.precision", "fp32"}}});
  const Safetensors expected(model_folder("modernbert_classification") / "expected.safetensors");
  const at::Tensor ids = expected.tensor("ids"), lengths = expected.tensor("lengths");
  std::vector<EncodedText> texts;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < lengths.numel(); ++i) {
    const std::int64_t length = lengths[i].item<std::int64_t>();
    EncodedText& text = texts.emplace_back();
    for (std::int64_t place = begin; place < begin + length; ++place) {
      text.ids.push_back(ids[place].item<TokenId>());
    }
    text.second = length;
    begin += length;
  }
  const at::Tensor logits = trained.model->predict(texts);
  CHECK((logits - expected.tensor("logits")).abs().max().item<double>() < 1e-4);
  const ExportedRun exported = export_run(run.path, "best", folder.path / "out");
  CHECK(exported.architecture == "ModernBertForSequenceClassification");
  check_same_weights(folder.path / "out", "modernbert_classification");
}

TEST_CASE("a ModernBERT is fine-tuned from its run or its folder, with its own head") {
  const TinyGlue tiny("mrpc");
  const bool as_run = GENERATE(true, false);
  CAPTURE(as_run);
  const fs::path from =
      as_run ? import_modernbert("modernbert", tiny.folder).path : model_folder("modernbert");
  const std::vector<Override> head = {{"glue.head", "modernbert"}, {"glue.pooling", "mean"}};
  const Settings settings = fine_tuning(tiny, from, as_run ? head : std::vector<Override>{});
  CHECK(settings.glue.head == ClassifierHead::modernbert);
  CHECK(settings.glue.pooling == (as_run ? TextPooling::mean : TextPooling::first));
  CHECK(settings.model.embedding_norm);
  CHECK(settings.position.scheme == "layers");

  const ModelSource source = open_model_source(from);
  Classifier begun(settings, source.settings.model.vocabulary, classifier_shape(settings),
                   ComputePlan{});
  const std::string line = start_from(source, settings, begun.parameters());
  // As transformers does, with what stands in front of the language head's decoder.
  CHECK(has(line, "new: classifier.weight, classifier.bias;"));
  CHECK(has(line, "not used: head.decoder.bias"));
  CHECK(at::equal(begun.parameters().find("head.dense.weight")->value,
                  source.weights.at("head.dense.weight")));

  const TrainingSummary summary = train_run(settings, ExistingRun::refuse);
  CHECK(summary.consumed.epochs == Approx(20));
  CHECK(summary.best()->figures.at("accuracy") > 0.9);
  const fs::path run = settings.runs / settings.run, out = tiny.folder.path / "out";
  CHECK(export_run(run, "best", out).architecture == "ModernBertForSequenceClassification");
  const PretrainedModel read = read_hugging_face_folder(out);
  CHECK(read.settings.glue.pooling == settings.glue.pooling);
  CHECK(read.labels == glue_task_facts(GlueTask::mrpc).labels);
  // What was exported predicts the same.
  import_run(out, {{"run", "again"}, {"runs", settings.runs.string()}, {"glue.task", "mrpc"}},
             ExistingRun::refuse);
  const TrainedClassifier trained = open_run_of<Classifier>(run),
                          again = open_run_of<Classifier>(settings.runs / "again");
  const EncodedSet set = load_glue_set(trained.settings, *trained.tokenizer, GlueSplit::validation);
  CHECK(at::equal(trained.model->predict(set.texts), again.model->predict(set.texts)));
}

TEST_CASE("a head of another width than the language head's is new") {
  const TemporaryFolder folder;
  const fs::path from =
      import_run(model_folder("roformer"), {{"run", "narrow"}, {"runs", folder.path.string()}},
                 ExistingRun::refuse)
          .path;
  const TinyGlue tiny("mrpc");
  const Settings settings =
      fine_tuning(tiny, from, {{"glue.head", "modernbert"}, {"data.length", "16"}});
  const ModelSource source = open_model_source(from);
  Classifier classifier(settings, source.settings.model.vocabulary, classifier_shape(settings),
                        ComputePlan{});
  const std::string line = start_from(source, settings, classifier.parameters());
  CHECK(has(line.substr(line.find("new: ")), "head.*"));
}
