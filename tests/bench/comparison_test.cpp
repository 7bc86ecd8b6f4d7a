#include "bench/comparison.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "experiments/record.h"
#include "has.h"
#include "message_of.h"
#include "temporary_folder.h"

namespace roformer {
namespace {

std::filesystem::path comparison_file(const TemporaryFolder& folder, const std::string& text) {
  const auto path = folder.path / "speed.yaml";
  std::ofstream(path) << text;
  return path;
}

// What stands for `roformer`: prints the figure that it is given.
std::string printing(const TemporaryFolder& folder) {
  const auto path = folder.path / "program";
  std::ofstream(path) << "#!/bin/sh\necho a warning\necho \"{\\\"step_ms\\\": $1}\"\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path.string();
}

}  // namespace

TEST_CASE("pairs of commands alternate, and the ratio is of each round") {
  const TemporaryFolder folder;
  // The peer's figure is 30, 20, 60 in turn.
  const std::string counted = folder.path.string() + "/count";
  const auto file =
      comparison_file(folder,
                      "rounds: 3\npairs:\n  - work: a step\n    ours: '10'\n    peer: another\n    "
                      "figure: step_ms\n"
                      "    command: |-\n      echo x >> " +
                          counted + "; n=$(wc -l < " + counted +
                          "); set -- 30 20 60; shift $((n - 1)); echo \"{\\\"step_ms\\\": $1}\"\n");
  const SpeedComparison comparison = read_comparison(file);
  REQUIRE(comparison.pairs.size() == 1);
  const std::vector<MeasuredPair> measured = {
      {.pair = comparison.pairs[0],
       .timings = compare(comparison.pairs[0], comparison.rounds,
                          {.scratch = folder.path, .program = printing(folder)}),
       .commit = "abc"}};
  const ComparedTimings& timings = measured[0].timings;
  REQUIRE(timings.peers.size() == 3);
  CHECK(timings.ours[2].figure == 10);
  CHECK(timings.peers[1].figure == 20);
  CHECK(timings.ours[0].memory > 0);
  const Table table = comparison_table(measured);
  CHECK(table.text(0, 4) == "30");
  CHECK(table.text(0, 5) == "3.00 (2.00 to 6.00)");

  const auto record = folder.path / "speed.json";
  const Origin origin{.command = "roformer bench compare", .commit = "abc"};
  write_comparison_record(record, file, measured, origin, {{"processor", "one"}});
  CHECK(to_markdown(recorded_table(record)) == to_markdown(table));

  // A later measurement of other pairs keeps this one, with its commit, but not another machine's.
  const auto kept = [&](const char* processor) {
    return measured_before(record, comparison, {{"processor", processor}});
  };
  REQUIRE(kept("one").size() == 1);
  CHECK(kept("one")[0].commit == "abc");
  CHECK(to_markdown(comparison_table(kept("one"))) == to_markdown(table));
  CHECK(kept("two").empty());
  CHECK(measured_before(record, comparison, {{"processor", "one"}, {"cores", 8}}).empty());
  CHECK(measured_before(record, comparison, {{"processor", "one"}, {"memory_bytes", 1}}).size() ==
        1);
  SpeedComparison renamed = comparison;
  renamed.pairs[0].figure = "tokens_per_s";
  CHECK(measured_before(record, renamed, {{"processor", "one"}}).empty());
  CHECK(measured_before(folder.path / "none.json", comparison, {}).empty());
  // A table of several commits says of each row by which it was timed.
  std::vector<MeasuredPair> mixed = {measured[0], measured[0]};
  mixed[1].commit = "abd";
  CHECK(comparison_table(mixed).columns().back().title == "commit");
  CHECK(comparison_table(mixed).text(1, 9) == "abd");
  SpeedComparison other = comparison;
  other.pairs[0].command += " --another";
  CHECK(measured_before(record, other, {{"processor", "one"}}).empty());
}

TEST_CASE("a rate is better when it is higher") {
  CHECK(advantage("step_ms", 10, 30) == 3);
  CHECK(advantage("sentences_per_s", 30, 10) == 3);
}

TEST_CASE("a comparison's file and commands are refused by what is wrong with them") {
  const TemporaryFolder folder;
  const auto broken =
      comparison_file(folder, "rouns: 3\npairs:\n  - {work: a, ours: b, peer: c}\n");
  const std::string said = message_of([&] { read_comparison(broken); });
  CHECK(has(said, "speed.yaml:1: rouns: unknown key"));
  CHECK(has(said, "command: is missing"));
  const ComparisonOptions options{.scratch = folder.path, .program = printing(folder)};
  ComparedPair pair{
      .work = "a", .ours = "10", .peer = "p", .command = "echo no; exit 3", .figure = "step_ms"};
  CHECK(has(message_of([&] { compare(pair, 1, options); }), "echo no; exit 3: failed: no"));
  pair.command = "echo '{\"step\": 3}'";
  CHECK(has(message_of([&] { compare(pair, 1, options); }),
            "printed no JSON object with a \"step_ms\""));
}

}  // namespace roformer
