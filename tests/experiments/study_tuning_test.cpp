// The `tune:` and `evaluate.split` of studies, study.reference and reference lines.
#include "catch.h"
#include "config/config_helpers.h"
#include "experiments/declaration/study_settings.h"
#include "has.h"

using namespace roformer;

namespace {

constexpr const char* kMatrix = "matrix:\n  position: [rope, none]\n  seed: [1, 2]\n";

struct StudyFolder : ConfigFolder {
  StudySettings load(const std::string& text) const {
    return load_study(write("s.yaml", kMatrix + text));
  }
  std::string refused(const std::string& text, const std::vector<Override>& flags = {}) const {
    const auto file = write("s.yaml", kMatrix + text);
    return local(refusal([&] { load_study(file, flags); }));
  }
};

}  // namespace

TEST_CASE("tuning tries every combination of its values for every row") {
  const StudyFolder folder;
  const StudySettings study = folder.load(
      "tune:\n"
      "  values: {training.learning_rate: [1e-3, 2e-3], training.warmup: [10, 20]}\n"
      "  with: {seed: 7, training.steps: 30}\n");
  REQUIRE(study.tuning);
  CHECK(study.tuning->keys ==
        std::vector<std::string>{"training.learning_rate", "training.warmup"});
  CHECK(study.tuning->per == std::vector<std::string>{"position"});
  CHECK(study.tuning->with == "seed 7, training.steps 30");
  CHECK(study.tuning->study->metric == "validation_loss");
  CHECK(study.tuning->study->runs.size() == 8);
  CHECK(study.tuning->study->runs[3].name == "rope-learning_rate2e-3-warmup20");
  REQUIRE(study.runs[2].candidates.size() == 4);
  const Settings& last = study.runs[2].candidates[3];
  CHECK(last.position.scheme == "none");
  CHECK(last.training.learning_rate == 2e-3);
  CHECK(last.training.warmup == study.tuning->study->runs[3].settings.training.warmup);
  CHECK(last.seed == 1);
  CHECK(last.run == "none-seed1");
  CHECK(last.runs == study.runs[2].settings.runs);
}

TEST_CASE("one tuning may serve all rows") {
  const StudyFolder folder;
  const StudySettings study = folder.load(
      "  training.batch: [8, 16]\n"
      "tune: {values: {training.learning_rate: [1e-3, 2e-3]}, with: {seed: 7}, per: [position]}\n");
  CHECK(study.tuning->study->runs.size() == 4);
  CHECK(study.tuning->study->runs[0].settings.training.batch == 8);
}

TEST_CASE("what is wrong with a tuning is said with its location") {
  const StudyFolder folder;
  const std::string values = "values: {training.learning_rate: [1e-3]}";
  CHECK(folder.refused("tune: {" + values + "}\n") ==
        "s.yaml:4: tune.with.seed: 1 is a seed of the table (hint: choose with a seed that the "
        "table does not use, for instance 1001)");
  CHECK(
      has(folder.refused("tune: {" + values + ", with: {seed: 2}}\n"), "2 is a seed of the table"));
  CHECK(has(folder.refused("tune: {with: {seed: 7}}\n"), "s.yaml:4: tune.values: not given"));
  CHECK(has(folder.refused("tune: {" + values + ", with: {seed: 7}, per: [data.length]}\n"),
            "\"data.length\" is no axis of this study"));
  CHECK(has(folder.refused("tune: {" + values + ", with: {seed: 1001}}\n", {{"seed", "1001,1002"}}),
            "for instance 1003)"));
  CHECK(has(folder.refused("tune: {" + values + ", with: {seed: 7}, metric: perplexty}\n"),
            "tune.metric: no run of this study has a figure \"perplexty\""));
  CHECK(has(folder.refused("tune: {" + values + ", with: {seed: 7}, metric: [a]}\n"),
            "tune.metric: got a list, wanted a text"));
  CHECK(has(folder.refused("tune: {" + values + ", with: {seed: 7}, record: \"\"}\n"),
            "tune.record: got \"\", wanted a word"));
  CHECK(has(folder.refused("tune: {values: {training.learning_rat: [1]}, with: {seed: 7}}\n"),
            "tune.values.training.learning_rat: unknown key"));
  CHECK(has(folder.refused("tune: {" + values + ", width: {seed: 7}}\n"),
            "tune.width: unknown key (hint: did you mean with)"));
  CHECK(has(folder.refused("tune: {values: {position: [t5]}, with: {seed: 7}}\n"), "set twice"));
  CHECK(has(folder.refused("tune: {" + values + ", with: {seed: 7}}\n",
                           {{"training.learning_rate", "1e-4"}}),
            "set twice"));
  CHECK(has(folder.refused("tune: {values: {training.learning_rate: [fast]}, with: {seed: 7}}\n"),
            "training.learning_rate"));
}

TEST_CASE("the reference of a study is one of its rows") {
  const StudyFolder folder;
  CHECK(folder.load("study: {reference: rope}\n").reference == "rope");
  CHECK(folder.refused("study: {reference: roper}\n") ==
        "s.yaml: study.reference: \"roper\" names no row (hint: did you mean rope)");
  CHECK(has(folder.refused("study: {reference: '1'}\n"), "names no row"));
  // Flags may leave it out.
  const auto file = folder.write("s.yaml", std::string(kMatrix) + "study: {reference: rope}\n");
  CHECK(load_study(file, {{"position", "t5,alibi"}}).reference.empty());
  CHECK(load_study(file, {{"position", "rope,alibi"}}).reference == "rope");
  const std::string two = "  training.batch: [8, 16]\n  training.warmup: [8, 9]\n";
  CHECK(has(folder.refused(two + "study: {reference: '8'}\n"), "is a value of several axes"));
  CHECK(folder.refused(two + "study: {reference: 'rope, 8, 9'}\n") == "no error");
}

TEST_CASE("reference lines are values or the loss of word frequencies") {
  const StudyFolder folder;
  const StudySettings study =
      folder.load("study: {reference_lines: [unigram, {label: paper, value: 1.5}]}\n");
  REQUIRE(study.reference_lines.size() == 2);
  CHECK_FALSE(study.reference_lines[0].value);
  CHECK(study.reference_lines[1].value == 1.5);
  CHECK(folder.refused("task: causal_lm\n"
                       "study: {metric: bits_per_character, reference_lines: [unigram]}\n") ==
        "no error");
  CHECK(has(folder.refused("study: {metric: masked_accuracy, reference_lines: [unigram]}\n"),
            "unigram is a loss of text"));
  CHECK(has(folder.refused("study: {reference_lines: [{label: paper}]}\n"), "value: is missing"));
  CHECK(has(folder.refused("study: {reference_lines: bigram}\n"), "wanted a list"));
}

TEST_CASE("a set is decoded by translators only, lengths are of language models") {
  const StudyFolder folder;
  CHECK(has(folder.refused("evaluate: {split: test}\n"),
            "evaluate.split: without lengths is of translators"));
  const StudySettings study =
      folder.load("task: translation\nevaluate: {split: test, sentences: 30, examples: 5}\n");
  CHECK(study.evaluations.split == "test");
  CHECK(study.evaluations.sentences == 30);
  CHECK(study.evaluations.examples == 5);
  CHECK(has(folder.refused("task: translation\nevaluate: {lengths: [64]}\n"),
            "evaluate.lengths: are of language models"));
  CHECK(has(folder.refused("task: translation\nevaluate: {split: train}\n"), "validation or test"));
  CHECK(has(folder.refused("evaluate: {lengths: [64], examples: 3}\n"),
            "evaluate.examples: is of translations"));
  CHECK(has(folder.refused("task: translation\nevaluate: {split: test, variants: [{name: near, "
                           "attention.window: 8}]}\n"),
            "evaluate.variants: is for losses at lengths"));
}
