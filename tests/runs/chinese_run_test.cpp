// The whole path of Chinese text: words, prepared data, pretraining in stages, and matching of
// triplets from the model that came of it.
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/sealed_json.h"
#include "catch.h"
#include "config/load.h"
#include "config/study_settings.h"
#include "data/prepare.h"
#include "data/triplet_maker.h"
#include "has.h"
#include "report/json_lines.h"
#include "runs/matching_evaluation.h"
#include "runs/model_source.h"
#include "runs/train.h"
#include "runs/trained_model.h"
#include "temporary_folder.h"
#include "tensor/device.h"
#include "training/checkpoint.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

// Cases of two causes, told by their words, which the dictionary has.
struct TinyChinese {
  TemporaryFolder folder;
  std::vector<Override> small;

  TinyChinese() {
    std::ofstream(folder.path / "dict.txt")
        << "原告 10\n被告 10\n借款 9\n合同 9\n离婚 8\n子女 8\n抚养 8\n法院 7\n判决 7\n归还 6\n";
    std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (const char* piece : {"原告", "被告", "借款", "离婚", "子", "女", "抚", "养", "合", "同",
                              "法院", "判", "决", "归", "还", "。", "，"}) {
      vocabulary += std::string(piece) + "\n";
    }
    std::ofstream(folder.path / "vocab.txt") << vocabulary;
    std::ofstream text(folder.path / "text.txt"), cases(folder.path / "cases.jsonl");
    for (int i = 0; i < 60; ++i) {
      const bool loan = i % 2 == 0;
      std::string line = loan ? "原告借款，被告归还借款合同。" : "原告离婚，被告抚养子女离婚。";
      for (int n = 0; n < i % 5; ++n) line += loan ? "借款归还。" : "子女抚养。";
      line += "法院判决。";
      text << line << line << "\n\n";
      cases << nlohmann::json({{"text", line}, {"casename", loan ? "借款" : "离婚"}}).dump()
            << "\n";
    }
    text.close();
    cases.close();
    CorpusOptions corpus;
    corpus.inputs = {folder.path / "text.txt"};
    prepare({.corpus = corpus, .output = folder.path / "data"},
            *open_tokenizer(
                {.file = folder.path / "vocab.txt", .dictionary = folder.path / "dict.txt"}));
    make_triplets({.inputs = {folder.path / "cases.jsonl"},
                   .output = folder.path / "triplets",
                   .topic_field = "casename",
                   .per_text = 1});
    small = {{"runs", (folder.path / "runs").string()},
             {"threads", "1"},
             {"model.layers", "2"},
             {"model.width", "32"},
             {"model.heads", "2"},
             {"model.feed_forward", "64"},
             {"model.dropout", "0"},
             {"training.precision", "fp32"},
             {"data.validation_tokens", "640"}};
  }

  Settings with(const std::vector<Override>& more) const {
    std::vector<Override> all = small;
    all.insert(all.end(), more.begin(), more.end());
    return default_settings(all);
  }
  Settings pretraining(const std::string& run) const {
    return with({{"run", run},
                 {"data.directory", (folder.path / "data").string()},
                 {"data.length", "48"},
                 {"data.masking.whole_words", "true"},
                 {"training.batch", "4"},
                 {"training.learning_rate", "1e-3"},
                 {"training.log_every", "1"},
                 {"training.validate_every", "0"},
                 {"training.save_every", "2"},
                 {"stages",
                  "[{steps: 4, length: 16, batch: 8}, {steps: 3, length: 32}, "
                  "{steps: 2, batch: 2, accumulation: 2}]"}});
  }
  Settings matching(const std::string& run, const std::vector<Override>& more = {}) const {
    std::vector<Override> all = {{"task", "matching"},
                                 {"run", run},
                                 {"data.directory", (folder.path / "triplets").string()},
                                 {"data.length", "64"},
                                 {"tokenizer.file", (folder.path / "vocab.txt").string()},
                                 {"tokenizer.dictionary", (folder.path / "dict.txt").string()},
                                 {"model.initialization", "0.1"},
                                 {"matching.head_dropout", "0"},
                                 {"training.steps", "25e"},
                                 {"training.batch", "8"},
                                 {"training.learning_rate", "3e-3"},
                                 {"training.validate_every", "5e"},
                                 {"training.save_every", "5e"}};
    all.insert(all.end(), more.begin(), more.end());
    for (const Override& key : small) {
      if (key.key != "data.validation_tokens") all.insert(all.begin(), key);
    }
    return default_settings(all);
  }
  fs::path run(const std::string& name) const { return folder.path / "runs" / name; }
};

}  // namespace

TEST_CASE("Chinese text is pretrained in stages and its model matches cases") {
  const TinyChinese tiny;
  const TrainingSummary summary = train_run(tiny.pretraining("zh"), ExistingRun::refuse);
  CHECK(summary.consumed.steps == 9);
  CHECK(summary.consumed.tokens == 4 * 8 * 16 + 3 * 4 * 32 + 2 * 4 * 48);
  REQUIRE(summary.validations.size() == 3);
  for (const ValidationRecord& record : summary.validations) {
    for (const char* name : {"loss", "loss_at_length_16", "loss_at_length_32",
                             "accuracy_at_length_16", "accuracy_at_length_32"}) {
      CHECK(record.result.figures.contains(name));
    }
    CHECK_FALSE(record.result.figures.contains("loss_at_length_48"));
  }
  // The dictionary travels with the run and each checkpoint.
  CHECK(load_tokenizer(tiny.run("zh"))->kind() == TokenizerKind::words);
  CHECK(load_tokenizer(find_checkpoint(tiny.run("zh"), "last"))->fingerprint() ==
        load_tokenizer(tiny.folder.path / "data")->fingerprint());

  Settings settings = tiny.matching("case", {{"model.from", tiny.run("zh").string()},
                                             {"tokenizer.file", ""},
                                             {"tokenizer.dictionary", ""}});
  const TrainingSummary matched = train_run(settings, ExistingRun::refuse);
  CHECK(matched.validations.back().result.figures.at("accuracy") > 0.9);
  CHECK(matched.validations.back().result.figures.contains("test_accuracy"));
  const TrainedClassifier trained = open_trained_matcher(tiny.run("case"));
  const MatchingSet set =
      load_matching_set(trained.settings, *trained.tokenizer, MatchingSplit::test);
  const MatchingEvaluation evaluation =
      evaluate_matching(*trained.classifier, trained.settings.matching, set);
  CHECK(evaluation.all.examples == std::ssize(set.source.examples));
  CHECK(evaluation.by_length.size() == 1);
  CHECK(evaluation.all.interval().low < evaluation.all.accuracy());
  CHECK(compare_answers(evaluation.right, evaluation.right).p_value == 1);
  CHECK_THROWS_AS(open_trained_classifier(tiny.run("case")), Error);
  CHECK_THROWS_AS(open_trained_matcher(tiny.run("zh")), Error);
}

TEST_CASE("A run in stages that goes on inside a stage is bitwise the same") {
  const TinyChinese tiny;
  const auto losses = [&](const std::string& run) {
    std::vector<double> values;
    for (const nlohmann::json& line : read_json_lines(tiny.run(run) / "metrics.jsonl")) {
      if (line.contains("loss")) values.push_back(line["loss"]);
      if (line.contains("validation_loss_at_length_16")) {
        values.push_back(line["validation_loss_at_length_16"]);
      }
    }
    return values;
  };
  train_run(tiny.pretraining("whole"), ExistingRun::refuse);
  train_run(tiny.pretraining("cut"), ExistingRun::refuse);
  for (const fs::path& folder : list_checkpoints(tiny.run("cut") / "checkpoints")) {
    if (folder.filename() > "step-00000006") fs::remove_all(folder);
  }
  train_run(tiny.pretraining("cut"), ExistingRun::resume);
  CHECK(losses("whole").size() == 9 + 3);
  CHECK(losses("cut") == losses("whole"));
}

TEST_CASE("A stage with a data set of another vocabulary is refused") {
  const TinyChinese tiny;
  CorpusOptions corpus;
  corpus.inputs = {tiny.folder.path / "text.txt"};
  prepare({.corpus = corpus, .output = tiny.folder.path / "bytes"},
          *open_tokenizer({.kind = TokenizerKind::bytes}));
  Settings settings = tiny.pretraining("zh");
  settings.stages[1].directory = tiny.folder.path / "bytes";
  try {
    train_run(settings, ExistingRun::refuse);
    CHECK(false);
  } catch (const Error& error) {
    CHECK(has(error.what(), "stage 2"));
    CHECK(has(error.what(), "another tokenizer"));
  }
  CHECK_FALSE(fs::exists(tiny.run("zh")));
}

TEST_CASE("The triplet loss, the heads and both poolings learn to match") {
  const TinyChinese tiny;
  const auto accuracy = [&](const std::string& run, const std::vector<Override>& keys) {
    return train_run(tiny.matching(run, keys), ExistingRun::refuse)
        .validations.back()
        .result.figures.at("accuracy");
  };
  CHECK(accuracy("triplet", {{"matching.loss", "triplet"}, {"training.batch", "4"}}) > 0.9);
  CHECK(accuracy("first", {{"matching.pooling", "first"}, {"matching.head", "bert"}}) > 0.9);
  CHECK(accuracy("augmented", {{"matching.augmentation.swap", "true"},
                               {"training.steps", "15e"},
                               {"matching.truncation", "tail"}}) > 0.9);
}

TEST_CASE("Every configuration of matching trains for two steps on a small model") {
  const TinyChinese tiny;
  int number = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(CONFIGS) / "matching")) {
    if (is_study(entry.path())) continue;
    CAPTURE(entry.path().string());
    const Settings settings =
        load_settings(entry.path(), {{"model.layers", "1"},
                                     {"model.width", "16"},
                                     {"model.heads", "2"},
                                     {"model.feed_forward", "16"},
                                     {"tokenizer.file", (tiny.folder.path / "vocab.txt").string()},
                                     {"data.directory", (tiny.folder.path / "triplets").string()},
                                     {"training.steps", "2"},
                                     {"training.batch", "4"},
                                     {"runs", (tiny.folder.path / "runs").string()},
                                     {"run", "run" + std::to_string(number++)}});
    CHECK(train_run(settings, ExistingRun::refuse).consumed.steps == 2);
  }
  CHECK(number == 2);
}
