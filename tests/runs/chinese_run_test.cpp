// The whole path of Chinese text: words, prepared data, pretraining in stages, and matching of
// triplets from the model that came of it.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "catch.h"
#include "config/load.h"
#include "data/prepare.h"
#include "experiments/declaration/study_settings.h"
#include "has.h"
#include "report/json_lines.h"
#include "runs/tiny_chinese.h"
#include "runs/train.h"
#include "runs/trained_model.h"
#include "tasks/evaluation.h"
#include "tasks/matching/matching_task.h"
#include "training/checkpoint.h"

using namespace roformer;
namespace fs = std::filesystem;

TEST_CASE("Chinese text is pretrained in stages and its model matches cases") {
  const TinyChinese tiny;
  const TrainingSummary summary = train_run(tiny.pretraining("zh"), ExistingRun::refuse);
  CHECK(summary.consumed.steps == 9);
  CHECK(summary.consumed.tokens == 4 * 8 * 16 + 3 * 4 * 32 + 2 * 4 * 48);
  REQUIRE(summary.validations.size() == 3);
  for (const ValidationRecord& record : summary.validations) {
    for (const char* name : {"loss", "loss_at_length_16", "loss_at_length_32",
                             "accuracy_at_length_16", "accuracy_at_length_32"}) {
      CHECK(record.figures.contains(name));
    }
    CHECK_FALSE(record.figures.contains("loss_at_length_48"));
  }
  const std::string table = to_text(stage_table(tiny.pretraining("zh"), summary), {.width = 200});
  CHECK(has(table, "loss at 48"));
  CHECK(std::ranges::count(table, '\n') >= 4);
  // The dictionary travels with the run and each checkpoint.
  CHECK(load_tokenizer(tiny.run("zh"))->kind() == TokenizerKind::words);
  CHECK(load_tokenizer(find_checkpoint(tiny.run("zh"), "last"))->fingerprint() ==
        load_tokenizer(tiny.folder.path / "data")->fingerprint());

  Settings settings = tiny.matching("case", {{"model.from", tiny.run("zh").string()},
                                             {"tokenizer.file", ""},
                                             {"tokenizer.dictionary", ""}});
  const TrainingSummary matched = train_run(settings, ExistingRun::refuse);
  CHECK(matched.validations.back().figures.at("accuracy") > 0.9);
  CHECK(matched.validations.back().figures.contains("test_accuracy"));
  const TrainedClassifier trained = open_run_of<Classifier>(tiny.run("case"), {}, "matcher");
  const MatchingSet set = load_matching_set(trained.settings, *trained.tokenizer, Split::test);
  const MatchingEvaluation evaluation =
      evaluate_matching(*trained.model, trained.settings.matching, set);
  CHECK(evaluation.all.examples == std::ssize(set.source.examples));
  CHECK(evaluation.by_length.size() == 1);
  CHECK(evaluation.all.interval().low < evaluation.all.accuracy());
  CHECK(compare_answers(evaluation.right, evaluation.right).p_value == 1);
  CHECK_THROWS_AS(open_run_of<Classifier>(tiny.run("case")), Error);
  CHECK_THROWS_AS(open_run_of<Classifier>(tiny.run("zh"), {}, "matcher"), Error);
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
        .figures.at("accuracy");
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

TEST_CASE("a folder of triplets with pairs for validation is refused before the training") {
  const TinyChinese tiny;
  const fs::path triplets = tiny.folder.path / "triplets", mixed = tiny.folder.path / "mixed";
  fs::copy(triplets, mixed);
  write_file_atomically(mixed / "validation.jsonl",
                        "{\"sentence1\": \"一\", \"sentence2\": \"二\", \"label\": 1}\n");
  CHECK_THROWS_WITH(train_run(tiny.matching("mixed", {{"data.directory", mixed.string()},
                                                      {"matching.loss", "triplet"}}),
                              ExistingRun::refuse),
                    Catch::Contains("the training set holds triplets, the validation set pairs"));
}
