// `roformer runs` and `roformer report` as a user meets them, on runs of a few steps.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/directory_lock.h"
#include "base/file.h"
#include "base/terminal.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"
#include "in_terminal.h"
#include "runs/tiny_glue.h"
#include "runs/tiny_run.h"
#include "said.h"
#include "training/checkpoint.h"
#include "training/training_state.h"

using namespace roformer;

namespace {

namespace fs = std::filesystem;

// Two trained runs of one task in a folder, "tiny" with rope and "other" with alibi.
struct TwoRuns : TinyRun {
  TwoRuns()
      : TinyRun("rope", {{"training.steps", "4"},
                         {"training.validate_every", "2"},
                         {"training.save_every", "2"},
                         {"training.log_every", "1"},
                         {"training.keep_last", "2"}}) {
    train_run(settings, ExistingRun::refuse);
    Settings second = settings;
    second.run = "other";
    second.position.scheme = "alibi";
    train_run(second, ExistingRun::refuse);
  }
  fs::path runs() const { return settings.runs; }
  std::string path(const std::string& name) const { return (runs() / name).string(); }
};

nlohmann::json json_of(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  const Outcome outcome = run(words);
  CAPTURE(outcome.errors);
  REQUIRE(outcome.code == 0);
  return nlohmann::json::parse(outcome.output);
}

// The row of a table in JSON whose first cell is this.
nlohmann::json row_of(const nlohmann::json& table, const std::string& first,
                      const char* column = "run") {
  for (const nlohmann::json& row : table) {
    if (row.at(column) == first) return row;
  }
  FAIL("no row " << first);
  return nullptr;
}

}  // namespace

TEST_CASE("runs list shows every run with its state, also a damaged and a running one") {
  const TwoRuns two;
  SECTION("the figures are those that the training wrote") {
    const nlohmann::json table = json_of({"runs", "list", two.runs().string()});
    REQUIRE(table.size() == 2);
    const nlohmann::json row = row_of(table, "tiny");
    CHECK(row["task"] == "mlm");
    CHECK(row["scheme"] == "rope");
    CHECK(row["state"] == "finished");
    CHECK(row["steps"] == 4);
    CHECK(row["metric"] == "validation_loss");
    const nlohmann::json summary = nlohmann::json::parse(read_file(two.run() / "summary.json"));
    double best = 1e9;
    for (const nlohmann::json& record : summary["validations"]) {
      best = std::min(best, record["figures"]["loss"].get<double>());
    }
    CHECK(row["best"].get<double>() == best);
    CHECK(row["bytes"].get<std::int64_t>() >
          static_cast<std::int64_t>(fs::file_size(
              list_checkpoints(two.run() / "checkpoints").back() / "model.safetensors")));
  }
  SECTION("other states, in folders inside it") {
    fs::create_directories(two.runs() / "study");
    fs::copy(two.run(), two.runs() / "study" / "stopped", fs::copy_options::recursive);
    fs::remove(two.runs() / "study" / "stopped" / "summary.json");
    fs::copy(two.run(), two.runs() / "bad", fs::copy_options::recursive);
    std::ofstream(two.runs() / "bad" / "run.json") << "{\"format\": 1";
    fs::copy(two.run(), two.runs() / "lost", fs::copy_options::recursive);
    fs::remove(two.runs() / "lost" / "config.yaml");
    fs::create_directories(two.runs() / "notes");
    fs::create_directory_symlink(two.runs(), two.runs() / "study" / "loop");
    const DirectoryLock held(two.runs() / "other");
    fs::create_directories(two.runs() / "study" / "claims" / "next");
    const DirectoryLock claim(two.runs() / "study" / "claims" / "next");
    const nlohmann::json table = json_of({"runs", "list", two.runs().string()});
    CHECK(table.size() == 6);
    CHECK(row_of(table, "study/stopped")["state"] == "stopped");
    CHECK(row_of(table, "study/next")["state"] == "claimed");
    CHECK(row_of(table, "other")["state"] == "training now");
    CHECK(has(row_of(table, "other")["remark"], "process "));
    CHECK(row_of(table, "bad")["state"] == "damaged");
    CHECK(has(row_of(table, "bad")["remark"], "run.json"));
    CHECK(row_of(table, "lost")["state"] == "damaged");
    CHECK(has(row_of(table, "lost")["remark"], "config.yaml"));
    const Outcome text = run({"runs", "list", two.runs().string()});
    CHECK(text.code == 0);
    CHECK(has(text.output, "bad: damaged: "));
  }
  SECTION("filtered, sorted and refused") {
    const std::string runs = two.runs().string();
    const nlohmann::json table = json_of({"runs", "list", runs, "--scheme", "alibi"});
    REQUIRE(table.size() == 1);
    CHECK(table[0]["run"] == "other");
    CHECK(json_of({"runs", "list", runs, "--task", "glue"}).empty());
    const nlohmann::json sorted = json_of({"runs", "list", runs, "--sort", "best"});
    CHECK(sorted[0]["best"].get<double>() <= sorted[1]["best"].get<double>());
    CHECK(json_of({"runs", "list", runs, "--sort", "age"})[0]["run"] == "other");
    const Outcome scheme = run({"runs", "list", runs, "--scheme", "ropee"});
    CHECK(scheme.code == 2);
    CHECK(has(scheme.errors, "rope"));
    CHECK(run({"runs", "list", runs + "/nowhere"}).code == 2);
    CHECK(has(run({"runs", "list", runs, "--format", "markdown"}).output, "| tiny | mlm | rope |"));
    CHECK(has(run({"runs", "list", runs, "--format", "csv"}).output, "tiny,mlm,rope,finished,4,"));
  }
  SECTION("in 80 columns") {
    if (!terminals_exist()) return;
    fs::rename(two.runs() / "other", two.runs() / "relative-positions-of-a-long-name-seed-12");
    const std::string screen = in_terminal(80, [&] {
      std::vector<std::string> words{"roformer", "runs", "list", two.runs().string()};
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      ::_exit(run_program(*make_whole_program(), 4, arguments.data()));
    });
    CHECK(has(screen, "finished"));
    for (const std::string& line : lines_of(screen)) {
      CHECK(columns_of(line.substr(0, line.find('\r'))) <= 80);
    }
  }
}

TEST_CASE("runs show says what a run is, and what starts from it") {
  const TwoRuns two;
  Settings child = two.settings;
  child.run = "child";
  child.model.from = two.run();
  train_run(child, ExistingRun::refuse);
  const nlohmann::json shown = json_of({"runs", "show", two.path("tiny")});
  const auto fact = [&](const char* name) {
    return row_of(shown["facts"], name, "what")["of the run"].get<std::string>();
  };
  CHECK(has(fact("state"), "finished after step 4"));
  CHECK(has(fact("task"), "mlm"));
  CHECK(has(fact("scheme"), "rope"));
  CHECK(has(fact("data"), two.data().string()));
  CHECK(has(fact("model"), "2 layers, width 32, 2 heads"));
  CHECK(has(fact("is the start of"), "child"));
  CHECK(fact("command") != "");
  CHECK(shown["checkpoints"].size() == 2);
  CHECK(shown["checkpoints"][1]["checkpoint"] == 4);
  CHECK(has(run({"runs", "show", two.path("child")}).output, "starts from"));

  SECTION("what is no run") {
    const Outcome missing = run({"runs", "show", two.path("nowhere")});
    CHECK(missing.code == 2);
    CHECK(has(missing.errors, "there is no such run"));
    const Outcome folder = run({"runs", "show", two.runs().string()});
    CHECK(folder.code == 2);
    CHECK(has(folder.errors, "is a folder of runs, not a run"));
    const fs::path checkpoint = list_checkpoints(two.run() / "checkpoints").back();
    const Outcome part = run({"runs", "show", checkpoint.string()});
    CHECK(part.code == 2);
    CHECK(has(part.errors, "is a checkpoint, not a run"));
    std::ofstream(two.run() / "run.json") << "[";
    const Outcome damaged = run({"runs", "show", two.path("tiny")});
    CHECK(damaged.code == 1);
    CHECK(has(damaged.errors, "run.json"));
  }
}

TEST_CASE("runs compare shows what differs, and draws the curves of unfinished runs, too") {
  const TwoRuns two;
  fs::remove(two.runs() / "other" / "summary.json");  // as if it were still training
  const std::string page = (two.folder.path / "page.html").string();
  const Outcome outcome =
      run({"runs", "compare", two.path("tiny"), two.path("other"), "--chart", page});
  CAPTURE(outcome.errors);
  REQUIRE(outcome.code == 0);
  CHECK(has(outcome.output, "position.scheme"));
  CHECK(has(outcome.output, "alibi"));
  CHECK_FALSE(has(outcome.output, "training.batch"));
  const std::string html = read_file(page);
  CHECK(has(html, "validation loss over the steps"));
  CHECK(has(html, "training loss over the steps"));
  CHECK(has(html, "data-name=\"other\""));
  const nlohmann::json both = json_of({"runs", "compare", two.runs().string()});
  CHECK(both["figures"].size() == 2);
  CHECK(row_of(both["settings"], "position.scheme", "key")["tiny"] == "rope");
  const Outcome alone = run({"runs", "compare", two.path("tiny"), two.path("tiny")});
  CHECK(alone.code == 2);
  CHECK(has(alone.errors, "got one run"));

  SECTION("of other tasks only what all have, and no best") {
    TinyGlue glue("sst2",
                  {{"run", "glue"}, {"training.steps", "4"}, {"training.validate_every", "2"}});
    train_run(glue.settings, ExistingRun::refuse);
    const std::vector<std::string> words{"runs", "compare", two.path("tiny"), glue.run().string()};
    const nlohmann::json mixed = json_of(words);
    const nlohmann::json row = row_of(mixed["figures"], "tiny");
    CHECK(row.contains("validation_loss"));
    CHECK(row["task"] == "mlm");
    CHECK_FALSE(row.contains("masked_accuracy"));
    CHECK_FALSE(row.contains("score"));
    std::vector<std::string> markdown = words;
    markdown.insert(markdown.end(), {"--format", "markdown"});
    CHECK_FALSE(has(run(markdown).output, "**"));
  }
}

TEST_CASE("report writes the page of a run into its folder, of several where it is told") {
  const TwoRuns two;
  const fs::path page = two.run() / "report.html";
  REQUIRE(run({"report", two.path("tiny")}).code == 0);
  const std::string html = read_file(page);
  CHECK(has(html, "learning rate over the steps"));
  CHECK(has(html, "Configuration of "));
  CHECK(run({"report", two.path("tiny")}).code == 0);  // again
  const Outcome several = run({"report", two.runs().string()});
  CHECK(several.code == 2);
  CHECK(has(several.errors, "--output"));
  const std::string all = (two.folder.path / "all.html").string();
  CHECK(run({"report", two.runs().string(), "--output", all}).code == 0);
  CHECK(has(read_file(all), "Settings that differ"));
  fs::remove(page);
  fs::create_symlink(two.folder.path / "elsewhere.html", page);
  CHECK(run({"report", two.path("tiny")}).code == 1);
  CHECK_FALSE(fs::exists(two.folder.path / "elsewhere.html"));
}

TEST_CASE("runs remove asks, and touches nothing but the run") {
  const TwoRuns two;
  SECTION("where nobody can be asked") {
    const Outcome outcome = run({"runs", "remove", two.path("tiny")});
    CHECK(outcome.code == 2);
    CHECK(has(outcome.errors, "--yes"));
    CHECK(run({"runs", "show", two.path("tiny")}).code == 0);
  }
  SECTION("a run, several runs, a damaged run") {
    std::ofstream(two.runs() / "other" / "run.json") << "{";
    const Outcome outcome =
        run({"runs", "remove", two.path("tiny") + "/", two.path("other"), "--yes"});
    CAPTURE(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(fs::is_empty(two.runs()));
  }
  SECTION("not what the user put there") {
    std::ofstream(two.run() / "notes.txt") << "mine";
    const Outcome outcome = run({"runs", "remove", two.path("tiny"), "--yes"});
    CHECK(outcome.code == 0);
    CHECK(has(outcome.output, "notes.txt"));
    CHECK(read_file(two.run() / "notes.txt") == "mine");
    CHECK_FALSE(fs::exists(two.run() / "checkpoints"));
    CHECK(json_of({"runs", "list", two.runs().string()}).size() == 1);
  }
  SECTION("not a run that is training now, and then none of the others") {
    const DirectoryLock held(two.run());
    const Outcome outcome = run({"runs", "remove", two.path("other"), two.path("tiny"), "--yes"});
    CHECK(outcome.code == 1);
    CHECK(has(outcome.errors, "training now"));
    CHECK(fs::exists(two.runs() / "other" / "config.yaml"));
    CHECK(fs::exists(two.run() / "config.yaml"));
  }
  SECTION("not a run that a study has claimed") {
    fs::create_directories(two.runs() / "configs");
    fs::create_directories(two.runs() / "claims" / "tiny");
    const DirectoryLock held(two.runs() / "claims" / "tiny");
    CHECK(run({"runs", "remove", two.path("tiny"), "--yes"}).code == 1);
    CHECK(fs::exists(two.run() / "config.yaml"));
  }
  SECTION("no links, nor what they lead to") {
    const fs::path outside = two.folder.path / "outside";
    fs::create_directories(outside);
    std::ofstream(outside / "file") << "precious";
    fs::create_directory_symlink(outside, two.run() / "checkpoints" / "link");
    const Outcome inside = run({"runs", "remove", two.path("tiny"), "--yes"});
    CHECK(inside.code == 1);
    CHECK(has(inside.errors, "is a link to"));
    fs::create_directory_symlink(two.runs() / "other", two.runs() / "alias");
    const Outcome folder = run({"runs", "remove", two.path("alias") + "/", "--yes"});
    CHECK(folder.code == 2);
    CHECK(has(folder.errors, "is a link to"));
    CHECK(fs::exists(two.runs() / "other" / "config.yaml"));
    CHECK(read_file(outside / "file") == "precious");
  }
  SECTION("what starts from it is named") {
    Settings child = two.settings;
    child.run = "child";
    child.model.from = list_checkpoints(two.run() / "checkpoints").back();
    train_run(child, ExistingRun::refuse);
    const std::string log = said([&] {
      CHECK(run({"runs", "remove", two.path("tiny"), "--yes"}).code == 0);
    });
    CHECK(has(log, "start from it: " + two.path("child")));
  }
  SECTION("no folder that is none") {
    CHECK(run({"runs", "remove", two.path("nowhere"), "--yes"}).code == 2);
    CHECK(run({"runs", "remove", two.runs().string(), "--yes"}).code == 2);
    CHECK(run({"runs", "remove", two.data().string(), "--yes"}).code == 2);
    CHECK(fs::exists(two.data()));
    const fs::path checkpoint = list_checkpoints(two.run() / "checkpoints").back();
    CHECK(run({"runs", "remove", checkpoint.string(), "--yes"}).code == 2);
    CHECK(fs::exists(checkpoint));
  }
}

TEST_CASE("a renamed run is resumed under its new name") {
  const TwoRuns two;
  const auto renamed = [&](const std::string& name) {
    return run({"runs", "rename", two.path("tiny"), name});
  };
  SECTION("and goes on where it was") {
    const Outcome outcome = renamed("fresh");
    CAPTURE(outcome.errors);
    REQUIRE(outcome.code == 0);
    CHECK_FALSE(fs::exists(two.run()));
    const Outcome resumed = run({"train", two.path("fresh") + "/config.yaml", "--resume",
                                 "--training.steps", "6", "--threads", "1"});
    CAPTURE(resumed.errors);
    CHECK(resumed.code == 0);
    CHECK(read_training_summary(two.runs() / "fresh")->consumed.steps == 6);
    CHECK_FALSE(fs::exists(two.run()));
    CHECK(row_of(json_of({"runs", "list", two.runs().string()}), "fresh")["steps"] == 6);
  }
  SECTION("unless the name is taken, in another folder, or no name") {
    for (const std::string& name :
         {std::string("other"), two.path("other"), std::string(".."), std::string("a/b"),
          two.folder.path.string() + "/there", std::string("tiny")}) {
      const Outcome outcome = renamed(name);
      CAPTURE(name, outcome.errors);
      CHECK(outcome.code == 2);
      CHECK(fs::exists(two.run() / "config.yaml"));
    }
    fs::create_symlink("nowhere", two.runs() / "dangling");
    CHECK(renamed("dangling").code == 2);
    CHECK(fs::is_symlink(two.runs() / "dangling"));
    CHECK(renamed(two.path("by-path")).code == 0);
  }
  SECTION("or it is training now") {
    const DirectoryLock held(two.run());
    CHECK(renamed("fresh").code == 1);
    CHECK(fs::exists(two.run()));
  }
  SECTION("or a study knows it by its name and nobody can be asked") {
    fs::create_directories(two.runs() / "configs");
    fs::create_directories(two.runs() / "claims");
    CHECK(has(said([&] { CHECK(renamed("fresh").code == 2); }), "which will train it again"));
    CHECK(fs::exists(two.run()));
    CHECK(run({"runs", "rename", two.path("tiny"), "fresh", "--yes"}).code == 0);
  }
}
