// `roformer positions`: what it prints and when it fails.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "has.h"
#include "runs/tiny_run.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

Outcome run_positions(std::vector<std::string> words) {
  words.insert(words.begin(), "positions");
  return run(std::move(words));
}

const std::filesystem::path kGolden = std::filesystem::path(FIXTURES) / "../position/golden";

}  // namespace

TEST_CASE("positions list and show explain every scheme and every key") {
  const Outcome list = run_positions({"list"});
  CHECK(list.code == 0);
  for (const std::string& name : position_names()) {
    CHECK(has(list.output, name));
    const Outcome show = run_positions({"show", name});
    CHECK(show.code == 0);
    for (const Key& key : schema()) {
      const std::string option = key.name.substr(key.name.rfind('.') + 1);
      if (key.scheme() == name) CHECK(has(show.output, "\n" + option + " "));
    }
    const PositionFacts& facts = *find_position_facts(name);
    for (const auto text : {facts.formula, facts.cost, facts.longer, facts.paper}) {
      CHECK(!text.empty());
      CHECK(has(show.output, std::string(text)));
    }
  }
  const auto rows = nlohmann::json::parse(run_positions({"list", "--json"}).output);
  REQUIRE(rows.size() == position_names().size());
  for (const nlohmann::json& row : rows) {
    const PositionFacts& facts = *find_position_facts(row["scheme"].get<std::string>());
    CHECK((facts.held_against.empty() ? row["held_against"].is_null()
                                      : row["held_against"] == facts.held_against));
  }
  const Outcome unknown = run_positions({"show", "ropes"});
  CHECK(unknown.code == 2);
}

TEST_CASE("positions verify passes the golden cases and names what misses") {
  const Outcome good = run_positions({"verify", kGolden.string()});
  CHECK(good.code == 0);
  CHECK(has(good.output, "178 of 178"));

  const TemporaryFolder folder;
  std::filesystem::copy(kGolden, folder.path / "golden");
  const std::filesystem::path file = folder.path / "golden/05_t5_default.json";
  std::string text = read_file(file);
  const std::size_t place = text.find("\"num_buckets\"");
  REQUIRE(place != std::string::npos);
  text.insert(place, "\"unknown_option\": 1, ");
  write_file_atomically(file, text);
  std::filesystem::remove(folder.path / "golden/14_nope.json");
  const Outcome bad = run_positions({"verify", (folder.path / "golden").string()});
  CHECK(bad.code == 1);
  CHECK(has(bad.output, "176 of 178"));
}

TEST_CASE("positions plot writes a page and its numbers") {
  const TemporaryFolder folder;
  const std::string page = (folder.path / "p.html").string();
  const std::string numbers = (folder.path / "p.csv").string();
  CHECK(run_positions({"plot", "--output", page, "--csv", numbers}).code == 0);
  CHECK(has(read_file(page), "<svg"));
  const std::string csv = read_file(numbers);
  for (const std::string& name : position_names()) {
    CHECK(has(csv, "Expected score against distance," + name + ",127,"));
  }
  CHECK(has(csv, "bias alibi,head 0 query 3,1,-"));
}

TEST_CASE("positions plot writes pages and no picture under a picture's name") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "bias.svg").string();
  const Outcome refused = run_positions({"plot", "alibi", "--output", file});
  CHECK(refused.code == 2);
  CHECK(has(refused.errors, "a name that ends in .html"));
}

TEST_CASE("positions plot draws a run as it was trained") {
  const TinyRun tiny("t5");
  train_run(tiny.settings, ExistingRun::refuse);
  const std::string page = (tiny.folder.path / "p.html").string();
  const std::string numbers = (tiny.folder.path / "p.csv").string();
  const std::string run = tiny.run().string();
  CHECK(run_positions({"plot", run, "alibi", "--output", page, "--csv", numbers}).code == 0);
  const std::string html = read_file(page);
  CHECK(has(html, "position.bias"));
  const std::string csv = read_file(numbers);
  CHECK(has(csv, "bias " + run + " (the layers),head 0 query 3,1,"));
  CHECK(has(csv, "Expected score against distance,alibi,127,"));
  CHECK(has(csv, "Expected score against distance," + run + ",127,"));
  const Outcome unknown = run_positions({"plot", tiny.folder.path.string()});
  CHECK(unknown.code != 0);
  CHECK(!unknown.errors.empty());
}
