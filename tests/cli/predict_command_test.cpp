// predict and evaluate for a fine-tuned classifier as a user meets them.
#include <archive.h>
#include <archive_entry.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/log.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"
#include "runs/tiny_glue.h"

using namespace roformer;

namespace {

std::string member_names(const std::filesystem::path& zip) {
  archive* const reader = archive_read_new();
  archive_read_support_format_zip(reader);
  REQUIRE(archive_read_open_filename(reader, zip.c_str(), 4096) == ARCHIVE_OK);
  std::string names;
  for (archive_entry* entry = nullptr; archive_read_next_header(reader, &entry) == ARCHIVE_OK;) {
    names += std::string(archive_entry_pathname(entry)) + " ";
  }
  archive_read_free(reader);
  return names;
}

}  // namespace

TEST_CASE("a classifier of single sentences predicts files, lines and the benchmark's test set") {
  const TinyGlue tiny("sst2");
  train_run(tiny.settings, ExistingRun::refuse);
  const std::string folder = tiny.run().string();

  SECTION("lines of standard input") {
    const Outcome outcome = run({"predict", folder}, "the cat is red .\nthe owl is gold .\n");
    REQUIRE(outcome.code == 0);
    const auto lines = lines_of(outcome.output);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] == "sentence\tpredicted\tp(0)\tp(1)");
    CHECK(lines[1].starts_with("the cat is red .\t1\t0.0"));
    CHECK(lines[2].starts_with("the owl is gold .\t0\t0.9"));
  }
  SECTION("with the names that its classes have") {
    const TinyGlue named("sst2", {{"glue.class_names", "bad|good"}, {"training.steps", "1"}});
    train_run(named.settings, ExistingRun::refuse);
    const auto lines =
        lines_of(run({"predict", named.run().string()}, "the cat is red .\n").output);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == "sentence\tpredicted\tp(bad)\tp(good)");
    CHECK((has(lines[1], "\tbad\t") || has(lines[1], "\tgood\t")));
    const auto json = nlohmann::json::parse(
        run({"predict", named.run().string(), "--json"}, "the cat is red .\n").output);
    CHECK(json["probabilities"].contains("good"));
  }
  SECTION("a file with a header, as JSON lines") {
    const std::string file = (tiny.data() / "SST-2/dev.tsv").string();
    const Outcome outcome = run({"predict", folder, file, "--json"});
    REQUIRE(outcome.code == 0);
    const auto lines = lines_of(outcome.output);
    REQUIRE(lines.size() == 16);
    const auto first = nlohmann::json::parse(lines[0]);
    CHECK(first["predicted"] == "1");
    CHECK(first["label"] == "1");  // of the file
    CHECK(first["probabilities"]["1"].get<double>() > 0.9);
    CHECK(first["probabilities"]["0"].get<double>() + first["probabilities"]["1"].get<double>() ==
          Approx(1));
  }
  SECTION("the files for the server") {
    const auto output = tiny.folder.path / "submission";
    const Outcome outcome =
        run({"predict", folder, "--glue", tiny.data().string(), "--output", output.string()});
    REQUIRE(outcome.code == 0);
    const auto lines = lines_of(read_file(output / "SST-2.tsv"));
    REQUIRE(lines.size() == 17);
    CHECK(lines[0] == "index\tprediction");
    CHECK(lines[1] == "0\t1");
    CHECK(lines[4] == "3\t0");
    CHECK(member_names(output / "submission.zip") == "SST-2.tsv ");
  }
  SECTION("the same metrics again, and the surest mistakes") {
    std::ofstream(tiny.data() / "SST-2/dev.tsv") << "sentence\tlabel\nthe cat is red .\t1\n"
                                                    "the owl is gold .\t1\nthe fox is pink .\t0\n";
    const Outcome outcome = run({"evaluate", folder, "--errors", "5"});
    REQUIRE(outcome.code == 0);
    CHECK(has(outcome.output, "66.7"));
    CHECK(has(outcome.output, "surest mistakes"));
    CHECK(has(outcome.output, "is 1: the owl is gold ."));
    CHECK(!has(outcome.output, "the fox"));
    const auto json = nlohmann::json::parse(run({"evaluate", folder, "--json"}).output);
    CHECK(json["evaluations"][0]["figures"]["accuracy"].get<double>() == Approx(2.0 / 3));
    const Outcome same = run({"evaluate", folder, "--against", folder});
    CHECK(has(same.output, "0 examples right only here, 0 right only there"));
    const auto compared =
        nlohmann::json::parse(run({"evaluate", folder, "--against", folder, "--json"}).output);
    CHECK(compared["evaluations"][0]["against"]["both_right"] == 2);
    CHECK(compared["evaluations"][0]["against"]["neither_right"] == 1);
    CHECK(has(run({"evaluate", folder, "--against", folder + "-gone"}).errors, "no such run"));
  }
  SECTION("a text with a tab stays in its column, and one that is too long is mentioned") {
    const Outcome tabbed = run({"predict", folder}, "{\"sentence\": \"the cat\\tis\\nred .\"}\n");
    CHECK(has(tabbed.output, "\"the cat\\tis\\nred .\",\"predicted\""));
    const auto said = tiny.folder.path / "said.txt";
    {
      const log::FileSink sink(said);
      run({"predict", folder}, "the cat is red . the cat is red . the cat is red . the cat .\n");
    }
    CHECK(has(read_file(said), "standard input: 1 text cut at data.length 16"));
  }
  SECTION("a line in, a line out, whatever the file is") {
    const std::string text = "the cat is red .\n\nthe owl is gold .\n\n";
    const auto lines = lines_of(run({"predict", folder}, text).output);
    REQUIRE(lines.size() == 4);
    CHECK(lines[2].empty());
    CHECK(lines[3].starts_with("the owl is gold .\t"));
    const std::string file = (tiny.folder.path / "texts").string();
    std::string utf16 = "\xff\xfe";
    for (const char c : text) utf16 += {c, '\0'};
    write_file_atomically(file, utf16);
    REQUIRE(std::system(("gzip -k " + file).c_str()) == 0);
    for (const std::string& name : {file, file + ".gz"}) {
      CHECK(lines_of(run({"predict", folder, name}).output) == lines);
    }
    write_file_atomically(file, utf16.substr(2));
    const Outcome refused = run({"predict", folder, file});
    CHECK(refused.code == 1);
    CHECK(has(refused.errors, file + ": is no text: a NUL byte at offset 1"));
    CHECK(refused.output.empty());
    const std::string json = "{\"sentence\": \"the cat is red .\", \"score\": NaN}\n{\n";
    CHECK(has(run({"predict", folder}, json).errors, "standard input:2: is not JSON"));
    CHECK(lines_of(run({"predict", folder, "--json", "--skip-broken"}, json).output).size() == 2);
    CHECK(run({"predict", folder, "--json", "--skip-broken", "--format", "jsonl"}, "x\n").output ==
          "\n");
  }
  SECTION("mistakes of the user are one line") {
    CHECK(has(run({"predict", folder, "/nowhere.tsv"}).errors, "/nowhere.tsv"));
    CHECK(has(run({"predict", folder}, "a\tb\n").errors, "standard input:1: has 2 columns"));
    CHECK(run({"predict", folder, "x.tsv", "--glue", "y"}).code == 2);
    CHECK(has(run({"evaluate", folder, "--length", "64"}).errors, "classifier"));
    CHECK(run({"predict", folder, "--glue", "/nowhere"}).code == 1);
  }
}

TEST_CASE("pairs, scores and MNLI's two sets") {
  SECTION("scores are clamped for the server") {
    const TinyGlue tiny("stsb");
    train_run(tiny.settings, ExistingRun::refuse);
    const auto output = tiny.folder.path / "submission";
    REQUIRE(run({"predict", tiny.run().string(), "--glue", tiny.data().string(), "--output",
                 output.string()})
                .code == 0);
    const auto lines = lines_of(read_file(output / "STS-B.tsv"));
    REQUIRE(lines.size() == 17);
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const double score = std::stod(lines[i].substr(lines[i].find('\t')));
      CHECK((score >= 0 && score <= 5));
    }
    const Outcome outcome = run({"predict", tiny.run().string()}, "the cat\ta cat\n");
    CHECK(lines_of(outcome.output)[0] == "sentence1\tsentence2\tpredicted");
    CHECK(run({"evaluate", tiny.run().string(), "--errors", "1"}).code == 0);
  }
  SECTION("matched and mismatched, by the labels' names") {
    const TinyGlue tiny("mnli", {{"training.steps", "1"}});
    train_run(tiny.settings, ExistingRun::refuse);
    const auto output = tiny.folder.path / "submission";
    REQUIRE(run({"predict", tiny.run().string(), "--glue", tiny.data().string(), "--output",
                 output.string()})
                .code == 0);
    CHECK(member_names(output / "submission.zip") == "MNLI-m.tsv MNLI-mm.tsv ");
    CHECK((has(read_file(output / "MNLI-mm.tsv"), "\tneutral\n") ||
           has(read_file(output / "MNLI-mm.tsv"), "\tentailment\n") ||
           has(read_file(output / "MNLI-mm.tsv"), "\tcontradiction\n")));
    CHECK(has(run({"evaluate", tiny.run().string()}).output, "MNLI (mismatched)"));
  }
}
