// `roformer positions`: what it prints and when it fails.
#include <filesystem>
#include <iostream>
#include <sstream>

#include "base/file.h"
#include "catch.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

struct Outcome {
  int code = 0;
  std::string output;  // of both streams
};

Outcome run(std::vector<std::string> words) {
  words.insert(words.begin(), {"roformer", "positions"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  CLI::App program("test", "roformer");
  add_positions_command(program);
  std::ostringstream text;
  std::streambuf* const out = std::cout.rdbuf(text.rdbuf());
  std::streambuf* const err = std::cerr.rdbuf(text.rdbuf());
  Outcome outcome;
  outcome.code = run_program(program, static_cast<int>(arguments.size()), arguments.data());
  std::cout.rdbuf(out);
  std::cerr.rdbuf(err);
  outcome.output = text.str();
  return outcome;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::filesystem::path kGolden = std::filesystem::path(FIXTURES) / "../position/golden";

}  // namespace

TEST_CASE("positions list and show explain every scheme and every key") {
  const Outcome list = run({"list"});
  CHECK(list.code == 0);
  for (const std::string& name : position_names()) {
    CHECK(contains(list.output, name));
    const Outcome show = run({"show", name});
    CHECK(show.code == 0);
    for (const Key& key : schema()) {
      const std::string option = key.name.substr(key.name.rfind('.') + 1);
      if (key.scheme() == name) CHECK(contains(show.output, "\n" + option + " "));
    }
    const PositionFacts& facts = *find_position_facts(name);
    for (const auto text : {facts.formula, facts.cost, facts.longer, facts.paper}) {
      CHECK(!text.empty());
      CHECK(contains(show.output, std::string(text)));
    }
  }
  const Outcome unknown = run({"show", "ropes"});
  CHECK(unknown.code == 2);
}

TEST_CASE("positions verify passes the golden cases and names what misses") {
  const Outcome good = run({"verify", kGolden.string()});
  CHECK(good.code == 0);
  CHECK(contains(good.output, "101 of 101"));

  const TemporaryFolder folder;
  std::filesystem::copy(kGolden, folder.path / "golden");
  const std::filesystem::path file = folder.path / "golden/05_t5_default.json";
  std::string text = read_file(file);
  const std::size_t place = text.find("\"num_buckets\"");
  REQUIRE(place != std::string::npos);
  text.insert(place, "\"unknown_option\": 1, ");
  write_file_atomically(file, text);
  std::filesystem::remove(folder.path / "golden/14_nope.json");
  const Outcome bad = run({"verify", (folder.path / "golden").string()});
  CHECK(bad.code == 1);
  CHECK(contains(bad.output, "99 of 101"));
}

TEST_CASE("positions plot writes a page and its numbers") {
  const TemporaryFolder folder;
  const std::string page = (folder.path / "p.html").string();
  const std::string numbers = (folder.path / "p.csv").string();
  CHECK(run({"plot", "--output", page, "--csv", numbers}).code == 0);
  CHECK(contains(read_file(page), "<svg"));
  const std::string csv = read_file(numbers);
  for (const std::string& name : position_names()) {
    CHECK(contains(csv, "Expected score against distance," + name + ",127,"));
  }
  CHECK(contains(csv, "bias alibi,head 1 query 3,1,-"));
}
