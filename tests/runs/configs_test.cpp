// Every configuration that comes with the program trains: two steps of each on a scaled-down model.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catch.h"
#include "config/load.h"
#include "config/task_facts.h"
#include "data/glue.h"
#include "data/prepare.h"
#include "experiments/declaration/study_settings.h"
#include "runs/tiny_glue.h"
#include "runs/train.h"
#include "temporary_folder.h"
#include "text/plain_tokenizers.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

fs::path make_data(const fs::path& folder) {
  const fs::path text = folder / "text.txt";
  std::ofstream stream(text);
  for (int i = 0; i < 60; ++i) {
    for (int j = 0; j < 30; ++j) stream << "word" << (i * 7 + j * 3) % 23 << ' ';
    stream << "\n\n";
  }
  stream.close();
  PrepareOptions options;
  options.corpus.inputs = {text};
  options.output = folder / "data";
  prepare(options, *make_byte_tokenizer());
  return options.output;
}

}  // namespace

TEST_CASE("every configuration trains for two steps on a small model") {
  const TemporaryFolder folder;
  const fs::path data = make_data(folder.path);
  int number = 0;
  for (const auto& entry : fs::recursive_directory_iterator(CONFIGS)) {
    if (entry.path().extension() != ".yaml" || is_study(entry.path())) continue;
    if (entry.path().filename() == "formulas.yaml") continue;  // a library of formulas
    const Settings original = load_settings(entry.path());
    if (original.task != TaskKind::mlm && original.task != TaskKind::causal_lm) {
      continue;  // below, in matching_test.cpp and translation_test.cpp
    }
    CAPTURE(entry.path().string());
    const Settings settings =
        load_settings(entry.path(), {{"model.layers", "1"},
                                     {"model.width", "16"},
                                     {"model.heads", "2"},
                                     {"model.feed_forward", "16"},
                                     {"model.embedding_width", "0"},
                                     {"model.vocabulary", "0"},
                                     {"data.directory", data.string()},
                                     {"data.length", "32"},
                                     {"data.validation_tokens", "200"},
                                     {"stages", ""},
                                     {"training.steps", "2"},
                                     {"training.batch", "2"},
                                     {"training.accumulation", "1"},
                                     {"training.warmup", "0"},
                                     {"runs", folder.path.string()},
                                     {"run", "run" + std::to_string(number++)}});
    const TrainingSummary summary = train_run(settings, ExistingRun::refuse);
    CHECK(summary.consumed.steps == 2);
    CHECK(summary.validations.back().figures.at("loss") > 0);
  }
  CHECK(number >= 8);
}

TEST_CASE("every configuration of a GLUE task trains for two steps on a small model") {
  const TinyGlue tiny("mrpc");
  int number = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(CONFIGS) / "glue")) {
    if (is_study(entry.path())) continue;
    CAPTURE(entry.path().string());
    const Settings settings =
        load_settings(entry.path(), {{"model.layers", "1"},
                                     {"model.width", "16"},
                                     {"model.heads", "2"},
                                     {"model.feed_forward", "16"},
                                     {"tokenizer.file", tiny.settings.tokenizer.file.string()},
                                     {"data.directory", tiny.data().string()},
                                     {"training.steps", "2"},
                                     {"training.batch", "4"},
                                     {"runs", tiny.settings.runs.string()},
                                     {"run", "run" + std::to_string(number++)}});
    const TrainingSummary summary = train_run(settings, ExistingRun::refuse);
    CHECK(summary.consumed.steps == 2);
    CHECK(
        summary.validations.back().figures.contains(std::string(glue_metric(settings.glue.task))));
  }
  CHECK(number == 13);
}
