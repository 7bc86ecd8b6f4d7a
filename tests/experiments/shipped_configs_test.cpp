// The files of configs/: each loads, and the ones with a promise keep it.
#include "catch.h"
#include "config/load.h"
#include "experiments/declaration/study_settings.h"

using namespace roformer;

namespace {

const std::filesystem::path kConfigs = std::filesystem::path(FIXTURES) / "../../configs";

}  // namespace

TEST_CASE("every shipped configuration is good") {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kConfigs)) {
    if (entry.path().extension() != ".yaml") continue;
    if (entry.path().filename() == "formulas.yaml") continue;  // in formula_test.cpp
    CAPTURE(entry.path().string());
    ++files;
    if (is_study(entry.path())) {
      CHECK_NOTHROW(load_study(entry.path()));
    } else {
      CHECK_NOTHROW(load_settings(entry.path()));
    }
  }
  CHECK(files >= 10);
}

TEST_CASE("the paper's recipe has the paper's numbers and ours differs where it says") {
  const Settings paper = load_settings(kConfigs / "pretraining/paper/roformer-base.yaml");
  CHECK(paper.model.layers == 12);
  CHECK(paper.model.width == 768);
  CHECK(paper.model.vocabulary == 30522);
  CHECK(paper.data.length == 512);
  CHECK(paper.training.batch == 64);
  CHECK(paper.training.learning_rate == 1e-5);
  CHECK(to_string(paper.training.steps) == "100000");
  CHECK(paper.position.scheme == "rope");
  CHECK(paper.run == "paper-roformer-base");
  CHECK(load_settings(kConfigs / "pretraining/roformer-base.yaml").training.learning_rate == 1e-4);
  const auto learned = load_settings(kConfigs / "pretraining/bert-base.yaml").position;
  CHECK(learned.scheme == "learned");
}

TEST_CASE("the benchmark's configurations are those of the speed targets") {
  const Settings small = load_settings(kConfigs / "bench/mlm-small.yaml");
  CHECK(small.model.layers == 4);
  CHECK(small.model.vocabulary == 16000);
  CHECK(small.training.batch * small.data.length == 32 * 128);
  CHECK(small.model.dropout == 0.1);
  CHECK(small.attention.dropout == 0);
  CHECK(small.training.precision == Precision::fp32);
  CHECK(small.threads == 2);
  const Settings base = load_settings(kConfigs / "bench/mlm-base.yaml");
  CHECK(base.model.layers == 12);
  CHECK(base.training.batch * base.data.length == 4 * 512);
}

TEST_CASE("the quickstart's study compares four schemes under one budget") {
  const StudySettings study = load_study(kConfigs / "study/quickstart.yaml");
  REQUIRE(study.runs.size() == 4);
  for (const StudyRun& run : study.runs) CHECK(run.name == run.settings.position.scheme);
}

TEST_CASE("every shipped configuration of a single run has a smoke run") {
  std::size_t tried = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kConfigs)) {
    if (entry.path().extension() != ".yaml" || entry.path().filename() == "formulas.yaml" ||
        is_study(entry.path())) {
      continue;
    }
    CAPTURE(entry.path());
    CHECK_NOTHROW(load_settings(entry.path(), smoke_flags(load_settings(entry.path()))));
    ++tried;
  }
  CHECK(tried > 20);
}
