// Fine-tuning as a whole: what it learns, where it starts, and that it goes on where it stopped.
#include "config/schemes/learned.h"
#include "tasks/classification/classification_task.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "config/task_facts.h"
#include "has.h"
#include "report/json_lines.h"
#include "runs/import_run.h"
#include "runs/model_folders.h"
#include "runs/model_source.h"
#include "runs/tiny_glue.h"
#include "runs/tiny_run.h"
#include "runs/trained_model.h"
#include "training/checkpoint.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

std::string complaint(const Settings& settings) {
  try {
    train_run(settings, ExistingRun::refuse);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Losses, norms and figures of all lines, without times.
std::vector<nlohmann::json> numbers(const std::filesystem::path& run) {
  std::vector<nlohmann::json> lines = read_json_lines(run / "metrics.jsonl");
  for (nlohmann::json& line : lines) {
    for (const char* time :
         {"minutes", "tokens_per_s", "step_ms", "loader_wait_ms", "loader_share"}) {
      line.erase(time);
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("a small classifier learns a few examples by heart, with either head") {
  const std::string task = GENERATE("mrpc", "sst2", "mnli", "stsb");
  const std::string head = GENERATE("bert", "roformer");
  CAPTURE(task, head);
  const TinyGlue tiny(task, {{"glue.head", head}});
  const TrainingSummary summary = train_run(tiny.settings, ExistingRun::refuse);
  const ValidationRecord& result = *summary.best();
  const std::string metric(glue_metric(tiny.settings.glue.task));
  CHECK(result.ranking.figure == metric);
  // Equal labels, which predictions never are, keep Spearman's coefficient below 1.
  CHECK(result.figures.at(metric == "spearman" ? "pearson" : metric) > 0.95);
  CHECK(result.figures.at("collapsed") == 0);
  CHECK(result.figures.contains("accuracy_mismatched") == (task == "mnli"));
  // The loss of an epoch is that of its 16 examples.
  CHECK(summary.consumed.epochs == Approx(30));
  CHECK(summary.consumed.steps == 60);

  const TrainedClassifier trained = open_run_of<Classifier>(tiny.run());
  const EncodedSet set = load_glue_set(trained.settings, *trained.tokenizer, GlueSplit::validation);
  const auto again = classification_figures(targets_of(trained.settings),
                                            trained.model->predict(set.texts), set.source.examples);
  CHECK(again.values.at(metric) == Approx(result.figures.at(metric)));
  CHECK(again.values.at("loss") == Approx(result.figures.at("loss")).epsilon(1e-4));
  const auto record = nlohmann::json::parse(read_file(tiny.run() / "run.json"));
  CHECK(record["data"]["training_examples"] == 16);
  CHECK(record["data"].contains("mismatched_fingerprint") == (task == "mnli"));
}

TEST_CASE("a fine-tuning that was stopped goes on with the same numbers") {
  const TinyGlue tiny("mrpc", {{"model.dropout", "0.1"},
                               {"glue.head_dropout", "0.1"},
                               {"training.schedule", "constant"},
                               {"training.log_every", "1"}});
  train_run(tiny.settings, ExistingRun::refuse);
  Settings stopped = tiny.settings;
  stopped.run = "stopped";
  stopped.training.steps = Period{10, Period::Unit::epochs};
  train_run(stopped, ExistingRun::refuse);
  stopped.training.steps = tiny.settings.training.steps;
  // Going on takes neither the vocabulary's file nor another look at it.
  std::filesystem::remove(tiny.settings.tokenizer.file);
  train_run(stopped, ExistingRun::resume);
  const auto straight = numbers(tiny.run()), continued = numbers(stopped.runs / stopped.run);
  CHECK(straight.size() == 63);  // 60 steps, 3 validations
  CHECK(continued == straight);
}

TEST_CASE("a run of MNLI does not go on with another mismatched set") {
  const TinyGlue tiny("mnli", {{"training.steps", "1e"}});
  train_run(tiny.settings, ExistingRun::refuse);
  const auto file = tiny.data() / "MNLI" / "dev_mismatched.tsv";
  write_file_atomically(file, read_file(file) + "\n");
  Settings longer = tiny.settings;
  longer.training.steps = Period{2, Period::Unit::epochs};
  try {
    train_run(longer, ExistingRun::resume);
    FAIL("it went on");
  } catch (const Error& error) {
    CHECK(has(error.what(), "mismatched fingerprint"));
  }
}

TEST_CASE("unpadded batches give what each text alone gives") {
  const TinyGlue tiny("mrpc");
  const auto tokenizer = open_tokenizer(tiny.settings.tokenizer);
  const Classifier classifier(tiny.settings, tokenizer->vocabulary_size(),
                              classifier_shape(tiny.settings), ComputePlan{});
  const EncodedSet set = load_glue_set(tiny.settings, *tokenizer, GlueSplit::validation);
  std::vector<EncodedText> texts = set.texts;
  texts.push_back(encode_text(*tokenizer, "the cat", std::nullopt, 16));
  texts.push_back(encode_text(*tokenizer, "a a a a a a a", "dog dog dog dog dog", 16));
  const at::Tensor together = classifier.predict(texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const at::Tensor alone = classifier.predict(std::span(&texts[i], 1));
    CHECK(at::allclose(alone[0], together[static_cast<std::int64_t>(i)], 1e-4, 1e-5));
  }
}

TEST_CASE("a classifier starts from a pretrained model with its shape, scheme and tokenizer") {
  const TinyRun pretrained("learned", {{"position.length", "40"}, {"model.token_types", "2"}});
  train_run(pretrained.settings, ExistingRun::refuse);
  const std::string from = pretrained.run().string();
  const TinyGlue tiny("mrpc");
  const auto load = [&](const std::vector<Override>& overrides) {
    const auto file = tiny.folder.path / "glue.yaml";
    std::ofstream(file) << "task: glue\nthreads: 1\ntraining: {steps: 1, batch: 4}\n";
    std::vector<Override> all = {{"data.directory", tiny.data().string()},
                                 {"data.length", "32"},
                                 {"runs", (tiny.folder.path / "runs").string()},
                                 {"model.from", from}};
    all.insert(all.end(), overrides.begin(), overrides.end());
    return load_settings(file, all, model_source_keys);
  };

  SECTION("all of it where nothing else is given") {
    const Settings settings = load({});
    CHECK(settings.model.width == 32);
    CHECK(settings.model.token_types == 2);
    CHECK(settings.position.scheme == "learned");
    CHECK(settings.position.of<LearnedSettings>().length == 40);
    CHECK(settings.training.batch == 4);
    const ModelSource source = open_model_source(from);
    Classifier classifier(settings, source.settings.model.vocabulary, classifier_shape(settings),
                          ComputePlan{});
    const std::string line = start_from(source, settings, classifier.parameters());
    CHECK(has(line, "position learned"));
    CHECK(has(line, "new: pooler.weight, pooler.bias, classifier.weight, classifier.bias"));
    CHECK(has(line, "not used: head.*"));
    for (const char* name : {"embedding.tokens.weight", "layers.1.attention.output.weight"}) {
      CHECK(at::equal(classifier.parameters().find(name)->value.detach(), source.weights.at(name)));
    }
    CHECK(train_run(settings, ExistingRun::refuse).consumed.steps == 1);
  }
  SECTION("another scheme, in words") {
    const Settings settings = load({{"position", "rope"}});
    CHECK(settings.position.scheme == "rope");
    const ModelSource source = open_model_source(from);
    Classifier classifier(settings, source.settings.model.vocabulary, classifier_shape(settings),
                          ComputePlan{});
    const std::string line = start_from(source, settings, classifier.parameters());
    CHECK(has(line, "position rope instead of learned"));
    CHECK(!has(line.substr(0, line.find("not used")), "position."));
    CHECK(has(line.substr(line.find("not used")), "position"));
  }
  SECTION("new heads come from the run's seed") {
    const auto weights = [&](const char* seed) {
      const Settings settings = load({{"seed", seed}});
      const ModelSource source = open_model_source(from);
      Classifier classifier(settings, source.settings.model.vocabulary, classifier_shape(settings),
                            ComputePlan{});
      start_from(source, settings, classifier.parameters());
      return classifier.parameters().find("classifier.weight")->value.detach().clone();
    };
    CHECK(at::equal(weights("1"), weights("1")));
    CHECK(!at::equal(weights("1"), weights("2")));
  }
  SECTION("what does not fit is refused before anything is written") {
    CHECK(has(complaint(load({{"model.feed_forward", "48"}})), "has the shape"));
    Settings settings = load({});
    settings.tokenizer.file = tiny.folder.path / "vocab.txt";
    CHECK(complaint(settings).empty());  // fewer pieces: with a warning
    settings.run = "other";
    settings.model.vocabulary = 4;
    CHECK(has(complaint(settings), "model.vocabulary: 4 is smaller than"));
    CHECK(!std::filesystem::exists(settings.runs / "other"));
    const auto opened = [](const std::filesystem::path& folder) -> std::string {
      try {
        open_model_source(folder);
      } catch (const Error& error) {
        return error.what();
      }
      return "";
    };
    CHECK(has(opened(tiny.data()), "neither a run, a checkpoint"));
    CHECK(has(opened("/nowhere"), "is not there"));
  }
}

TEST_CASE("a classifier of another task gives its encoder, and its head only to the same task") {
  const TinyGlue tiny("mrpc", {{"training.steps", "1"}, {"training.warmup", "0"}});
  train_run(tiny.settings, ExistingRun::refuse);
  const ModelSource source = open_model_source(tiny.run());
  for (const std::string task : {"mrpc", "rte"}) {  // of two classes both
    CAPTURE(task);
    const Settings settings = tiny.with({{"glue.task", task}});
    Classifier classifier(settings, source.settings.model.vocabulary, classifier_shape(settings),
                          ComputePlan{});
    const std::string line = start_from(source, settings, classifier.parameters());
    const bool same = task == "mrpc";
    CHECK(has(line, same ? "new: none; not used: none"
                         : "new: classifier.weight, classifier.bias; not used: classifier.bias"));
    CHECK(at::equal(classifier.parameters().find("classifier.weight")->value,
                    source.weights.at("classifier.weight")) == same);
    CHECK(at::equal(classifier.parameters().find("pooler.weight")->value,
                    source.weights.at("pooler.weight")));
  }
}

TEST_CASE("a folder's classes come into the task's order, whichever way it is taken") {
  const TemporaryFolder folder;
  const fs::path copy = folder.path / "mnli";
  fs::copy(model_folder("bert_classification"), copy);
  nlohmann::json config = nlohmann::json::parse(read_file(copy / "config.json"));
  config["id2label"] = {{"0", "contradiction"}, {"1", "entailment"}, {"2", "neutral"}};
  fs::remove(copy / "config.json");
  write_file_atomically(copy / "config.json", config.dump());
  import_run(copy,
             {{"run", "mnli"}, {"runs", folder.path.string() + "/runs"}, {"glue.task", "mnli"}},
             ExistingRun::refuse);
  const auto rows_from = [&](const fs::path& from, const std::string& task) {
    const ModelSource source = open_model_source(from);
    std::vector<Override> keys = model_source_keys(from);
    std::erase_if(keys, [](const Override& key) { return key.key.starts_with("classification."); });
    keys.insert(keys.begin(), {{"task", "glue"}, {"glue.task", task}, {"data.length", "16"}});
    const Settings settings = default_settings(keys);
    Classifier classifier(settings, source.settings.model.vocabulary, classifier_shape(settings),
                          ComputePlan{});
    start_from(source, settings, classifier.parameters());
    return classifier.parameters().find("classifier.weight")->value.detach().clone();
  };
  const at::Tensor theirs = open_model_source(copy).weights.at("classifier.weight");
  const at::Tensor taken = rows_from(copy, "mnli");
  CHECK(at::equal(taken, rows_from(folder.path / "runs" / "mnli", "mnli")));
  const auto& labels = glue_task_facts(GlueTask::mnli).labels;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int64_t row = labels[i] == "contradiction" ? 0 : labels[i] == "entailment" ? 1 : 2;
    CHECK(at::equal(taken[static_cast<std::int64_t>(i)], theirs[row]));
  }
}

TEST_CASE("a folder that names no classes gives its head, as an import does") {
  const ModelSource source = open_model_source(model_folder("roformer_classification"));
  std::vector<Override> keys = model_source_keys(model_folder("roformer_classification"));
  std::erase_if(keys, [](const Override& key) { return key.key.starts_with("classification."); });
  keys.insert(keys.begin(), {{"task", "glue"}, {"glue.task", "stsb"}, {"data.length", "16"}});
  const Settings settings = default_settings(keys);
  Classifier classifier(settings, source.settings.model.vocabulary, classifier_shape(settings),
                        ComputePlan{});
  CHECK(has(start_from(source, settings, classifier.parameters()), "new: none"));
}

TEST_CASE("frozen layers keep their weights, and patience ends a training early") {
  const TinyGlue tiny("mrpc", {{"model.freeze_embeddings", "true"},
                               {"model.freeze_layers", "1"},
                               {"training.layer_decay", "0.5"},
                               {"training.warmup_ratio", "0.2"},
                               {"training.validate_every", "1e"},
                               {"training.save_every", "0"},
                               {"training.learning_rate", "1e-9"},
                               {"training.patience", "3"}});
  const TrainingSummary summary = train_run(tiny.settings, ExistingRun::refuse);
  CHECK(summary.reason == StopReason::patience);
  // Equal scores are ordered by the loss, whose last bits depend on the processor: the best need
  // not be the first.
  REQUIRE(summary.best() != nullptr);
  const std::int64_t every = summary.validations.front().step;
  CHECK(summary.validations.back().step == summary.best()->step + 3 * every);
  const TrainedClassifier trained = open_run_of<Classifier>(tiny.run(), {.checkpoint = "last"});
  const Classifier fresh(tiny.settings, trained.tokenizer->vocabulary_size(),
                         classifier_shape(tiny.settings), ComputePlan{});
  const auto same = [&](const char* name) {
    Classifier& other = const_cast<Classifier&>(fresh);
    return at::equal(trained.model->parameters().find(name)->value,
                     other.parameters().find(name)->value);
  };
  CHECK(same("embedding.tokens.weight"));
  CHECK(same("layers.0.feed_forward.inner.weight"));
  CHECK(!same("layers.1.feed_forward.inner.weight"));
  CHECK(!same("classifier.weight"));
}

TEST_CASE("metrics that are not defined are 0 with their name, never NaN") {
  std::vector<LabelledText> examples;
  for (int i = 0; i < 4; ++i) examples.push_back({.label = i % 2, .score = static_cast<double>(i)});
  const at::Tensor one_class = at::tensor({2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0}).view({4, 2});
  const ClassificationFigures mrpc =
      classification_figures(glue_targets(GlueTask::mrpc), one_class, examples);
  CHECK(mrpc.values.at("f1") == 0);
  CHECK(mrpc.values.at("accuracy") == 0.5);
  CHECK(mrpc.values.at("collapsed") == 1);
  CHECK(mrpc.undefined == std::vector<std::string>{"f1"});
  const ClassificationFigures cola =
      classification_figures(glue_targets(GlueTask::cola), one_class, examples);
  CHECK(cola.undefined == std::vector<std::string>{"matthews"});
  const ClassificationFigures constant = classification_figures(
      glue_targets(GlueTask::stsb), at::tensor({1.0, 1.0, 1.0, 1.0}).view({4, 1}), examples);
  CHECK(constant.values.at("spearman") == 0);
  CHECK(constant.values.at("collapsed") == 1);
  CHECK(constant.undefined == std::vector<std::string>{"pearson", "spearman"});
  // numpy: mean of (1 - i)^2 for i of 0 to 3.
  CHECK(constant.values.at("loss") == Approx(1.5));
}

TEST_CASE("a folder, split or file that is not right is said in one line") {
  const TinyGlue tiny("mrpc");
  std::filesystem::remove(tiny.data() / "MRPC/dev.tsv");
  CHECK(has(complaint(tiny.settings), "MRPC/dev.tsv: no such file"));
  Settings nowhere = tiny.settings;
  nowhere.data.directory = "";
  CHECK(has(complaint(nowhere), "data.directory"));
  std::ofstream(tiny.data() / "SST-2/train.tsv") << "sentence\nfine\n";
  CHECK(has(complaint(tiny.with({{"glue.task", "sst2"}})), "has no labels"));
  CHECK(!std::filesystem::exists(tiny.run()));
}
