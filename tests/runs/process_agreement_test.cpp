#include "runs/process_agreement.h"

#include <nlohmann/json.hpp>

#include "catch.h"
#include "has.h"
#include "message_of.h"
#include "runs/step_rows.h"
#include "training/on_ranks.h"

namespace roformer {

TEST_CASE("processes agree on names that are no UTF-8, and tell them apart") {
  const auto problems_with = [](const std::string& other_run) {
    return on_ranks(2, std::chrono::milliseconds(20'000), [&](Processes& processes) {
      Settings settings;
      settings.run = processes.first() ? "run-\xff" : other_run;
      compare_processes(settings, {{"fingerprint", "text \xfe"}}, {}, processes);
    });
  };
  CHECK(problems_with("run-\xff") == std::vector<std::string>(2));
  for (const std::string& problem : problems_with("run-\xfe")) {
    CHECK_THAT(problem, Catch::Contains("process 0 has run run-\xff, process 1 has run run-\xfe"));
  }
}

// What each of so many processes says of a step of these settings, or its micro-batches.
std::string said_of_step(std::int64_t processes, const TrainingSettings& training,
                         const std::vector<StageSettings>& stages = {},
                         const nlohmann::json& record = nullptr) {
  std::vector<std::string> said(static_cast<std::size_t>(processes));
  const auto problems = on_ranks(processes, std::chrono::seconds(20), [&](Processes& own) {
    Settings settings;
    settings.training = training;
    settings.stages = stages;
    said[static_cast<std::size_t>(own.rank())] =
        std::to_string(micro_batches_of_step({.record = record}, settings, own));
  });
  for (const std::string& problem : problems) CHECK(problem == problems.front());
  for (const std::string& number : said) CHECK(number == said.front());
  return problems.front() + said.front();
}

TEST_CASE("rows of a step that processes cannot share evenly are refused") {
  TrainingSettings training;
  training.batch = 6;
  training.accumulation = 2;
  CHECK(said_of_step(4, training) == "2");  // three rows each
  training.accumulation = 1;
  CHECK(said_of_step(4, training) ==
        "training.batch: a step has 6 rows (batch 6 x accumulation 1), which 4 processes cannot "
        "share evenly (hint: batch 8 is the nearest that they can)");
  training.batch = 3;
  CHECK(has(said_of_step(4, training), "batch 4 is the nearest"));
  training.batch = 9;
  CHECK(has(said_of_step(4, training), "batch 8 is the nearest"));
  training.batch_tokens = 100;
  CHECK(said_of_step(4, training) == "1");
  training.batch_tokens = 0;
  training.batch = 8;
  CHECK(has(said_of_step(3, training, {{.steps = 2, .batch = 6}, {.steps = 1, .accumulation = 2}}),
            "stages: a step of stage 2 has 16 rows (batch 8 x accumulation 2), which 3 processes"));
  training.reduce = GradientReduction::deterministic;
  CHECK(has(said_of_step(2, training),
            "training.reduce: deterministic shares whole micro-batches: a step has 1, which 2 "
            "processes cannot share evenly (hint: batch 4 x accumulation 2 has as many rows"));
  training.accumulation = 2;
  CHECK(said_of_step(2, training) == "2");
}

TEST_CASE("a run whose record does not say that processes share a step has a batch of each") {
  TrainingSettings training;
  training.batch = 8;
  training.accumulation = 3;
  CHECK(said_of_step(2, training, {}, {{"processes", 2}, {"batch_of", "step"}}) == "3");
  CHECK(said_of_step(2, training, {}, {{"processes", 2}}) == "6");
  CHECK(said_of_step(3, training, {}, {{"processes", 4}}) == "12");
  CHECK(said_of_step(3, training, {}, nlohmann::json::object()) == "3");
  CHECK(has(said_of_step(7, training, {}, {{"processes", 2}}),
            "a step has 48 rows (batch 8 x accumulation 6), which 7 processes cannot share evenly "
            "(hint: continue with a number of processes that divides 48)"));
}

}  // namespace roformer
