// What a model comes to that has learned nothing: word frequencies, the commonest class.
#include <cmath>

#include "catch.h"
#include "data/prepare.h"
#include "experiments/baselines.h"
#include "experiments/fake_study.h"
#include "experiments/finished_run.h"
#include "experiments/study_results.h"
#include "experiments/study_table.h"
#include "has.h"
#include "text/plain_tokenizers.h"

using namespace roformer;

namespace {

// MRPC with 3 of 4 training pairs and 2 of 3 held-out ones alike; RTE's commonest class changes.
struct TinyGlue : TemporaryFolder {
  TinyGlue() {
    const std::string head = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n";
    const auto line = [](int label) { return std::to_string(label) + "\t1\t2\ta\tb\n"; };
    write("MRPC/train.tsv", head + line(1) + line(0) + line(1) + line(1));
    write("MRPC/dev.tsv", head + line(1) + line(0) + line(1));
    const std::string rte = "index\tsentence1\tsentence2\tlabel\n";
    write("RTE/train.tsv",
          rte + "0\ta\tb\tentailment\n1\ta\tb\tnot_entailment\n2\ta\tb\tentailment\n");
    write("RTE/dev.tsv",
          rte + "0\ta\tb\tnot_entailment\n1\ta\tb\tnot_entailment\n2\ta\tb\tentailment\n");
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path / name).parent_path());
    write_file_atomically(path / name, text);
  }
  Settings settings(const std::string& task) const {
    return default_settings(
        {{"task", "glue"}, {"glue.task", task}, {"data.directory", path.string()}});
  }
};

}  // namespace

TEST_CASE("the loss of word frequencies is the training text's on the held-out text") {
  const TemporaryFolder folder;
  write_file_atomically(folder.path / "train.txt", "aab\n");
  write_file_atomically(folder.path / "held.txt", "ab\n");
  prepare({.corpus = {.inputs = {folder.path / "train.txt"}},
           .validation_inputs = {folder.path / "held.txt"},
           .output = folder.path / "data"},
          *make_byte_tokenizer());
  const Dataset dataset(folder.path / "data");
  // 256 bytes and 4 marks, each counted once more than it was met; a line's end is a byte too.
  CHECK(unigram_loss(dataset, false) ==
        Approx(std::log(260.0) - (std::log(3.0) + 2 * std::log(2.0)) / 3));
  CHECK(unigram_loss(dataset, true) ==
        Approx(std::log(265.0) - (std::log(3.0) + 3 * std::log(2.0)) / 4));
  const Settings gone = default_settings({{"data.directory", (folder.path / "gone").string()}});
  CHECK_FALSE(unigram_loss(gone, "validation_loss").has_value());
  const Settings there = default_settings(
      {{"task", "causal_lm"}, {"data.directory", (folder.path / "data").string()}});
  const double loss = unigram_loss(dataset, true);
  CHECK(unigram_loss(there, "validation_loss").value() == loss);
  // Three bytes of one document, whose end is a target too.
  CHECK(unigram_loss(there, "bits_per_byte").value() == Approx(loss * 4 / 3 / std::log(2)));
  CHECK(unigram_loss(there, "bits_per_character").value() == Approx(loss * 4 / 3 / std::log(2)));
}

TEST_CASE("the commonest class is the training set's, its score the held-out set's") {
  const TinyGlue glue;
  // F1 with every pair called alike: 2 * 2 / (2 * 2 + 1 + 0).
  CHECK(commonest_class_score(glue.settings("mrpc")).value() == Approx(0.8));
  CHECK(commonest_class_score(glue.settings("rte")).value() == Approx(1.0 / 3));
  CHECK_FALSE(commonest_class_score(glue.settings("stsb")).has_value());
  CHECK_FALSE(commonest_class_score(glue.settings("cola")).has_value());  // no such files
}

TEST_CASE("tables of scores have the commonest class as a row") {
  const TinyGlue glue;
  glue.write("s.yaml",
             "task: glue\ndata: {directory: .}\n"
             "study: {name: g, metric: score, spread: glue.task}\n"
             "matrix:\n  glue.task: [mrpc, rte]\n  position: [rope, none]\n");
  StudySettings study = load_study(glue.path / "s.yaml");
  std::vector<RunResult> results;
  for (const StudyRun& run : study.runs) {
    results.push_back({.name = run.name,
                       .values = run.values,
                       .state = RunResult::State::finished,
                       .figures = {{"score", 0.7}}});
  }
  std::vector<StudyRow> rows = study_rows(study, results);
  for (StudyRow& row : rows) row.commonest_class = row.labels[0] == "mrpc" ? 0.8 : 0.333;
  const std::string spread = to_markdown(spread_table(study, rows, TableUse::document));
  CHECK(has(spread, "| always the commonest class | 80.0 | 33.3 |"));
  study.spread.clear();
  CHECK_FALSE(has(to_markdown(study_table(study, rows, TableUse::document)), "always"));
  for (StudyRow& row : rows) row.commonest_class = 0.8;
  CHECK(has(to_markdown(study_table(study, rows, TableUse::document)),
            "| always the commonest class |"));
}

TEST_CASE("seeds of fine-tuning over one pretraining are said to be that") {
  const FakeStudy fake("none, rope");
  StudySettings study = fake.load({{"seed", "1,2"}});
  std::vector<RunResult> results;
  for (StudyRun& run : study.runs) {
    results.push_back(finished_run(run.values[0], run.values[1], 3));
    run.settings.model.from = "runs/" + run.values[0];
  }
  const StudyResults all{.rows = study_rows(study, results)};
  const std::string words = "go on from one pretraining";
  CHECK(has(study_html(study, all, {}), words));
  study.runs[1].settings.model.from = "runs/none-2";
  CHECK_FALSE(has(study_html(study, all, {}), words));
}
