#include "runs/process_agreement.h"

#include <nlohmann/json.hpp>

#include "catch.h"
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

}  // namespace roformer
