// `roformer translate` as a user meets it: every format, every wrong flag, lines of any kind.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "base/log.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"
#include "runs/tiny_run.h"
#include "runs/tiny_translation.h"
#include "training/signals.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

Outcome run_translate(std::vector<std::string> words, const std::string& input = "") {
  words.insert(words.begin(), "translate");
  return run(std::move(words), input);
}

// Trained for a step: what it says is noise, which is enough for how it is said.
struct TinyRunOfPairs {
  TinyTranslation tiny{60};
  std::string folder;

  explicit TinyRunOfPairs(const std::vector<Override>& more = {}) {
    std::vector<Override> all = {{"training.steps", "1"}, {"decoding.sentences", "2"}};
    all.insert(all.end(), more.begin(), more.end());
    train_run(tiny.settings("run", all), ExistingRun::refuse);
    folder = (tiny.folder.path / "runs" / "run").string();
  }
  std::string file(const std::string& name) const { return (tiny.folder.path / name).string(); }
};

}  // namespace

TEST_CASE("a line in, a line out, whatever the line") {
  const TinyRunOfPairs pairs;
  const std::string input =
      "abc\n\n  \t\ncab\r\nb\xff\xff"
      "a\n" +
      std::string(100'000, 'd') + "\nbad";
  std::optional<log::FileSink> sink(pairs.file("log"));
  const Outcome outcome = run_translate({pairs.folder, "--longest-source", "64"}, input);
  sink.reset();
  REQUIRE(outcome.code == 0);
  const std::string log = read_file(pairs.file("log"));
  const auto lines = lines_of(outcome.output);
  REQUIRE(lines.size() == 7);
  CHECK(lines[1].empty());
  CHECK(lines[2].empty());
  CHECK(has(log, "1 line cut at 64 tokens"));
  CHECK(has(log, "2 malformed UTF-8 sequences became U+FFFD"));
  // One at a time, and the line without its carriage return, give the same.
  CHECK(run_translate({pairs.folder, "--longest-source", "64", "--lines", "1"}, input).output ==
        outcome.output);
  CHECK(lines_of(run_translate({pairs.folder}, "cab\n").output).at(0) == lines[3]);
  // A compressed file is read as what is in it.
  std::ofstream(pairs.file("lines.txt")) << "cab\nabc\n";
  REQUIRE(std::system(("gzip -k " + pairs.file("lines.txt")).c_str()) == 0);
  CHECK(run_translate({pairs.folder, "--input", pairs.file("lines.txt.gz")}, "").output ==
        run_translate({pairs.folder}, "cab\nabc\n").output);
  CHECK(run_translate({pairs.folder}, "").output.empty());
  CHECK(run_translate({pairs.folder}, "\n").output == "\n");
  // As many lines for each, also for what has no translation.
  CHECK(lines_of(run_translate({pairs.folder, "--n-best", "3"}, "ab\n\ncd\n").output).size() == 9);
}

TEST_CASE("input that breaks off is not taken for its end") {
  const TinyRunOfPairs pairs;
  const Outcome broken =
      run_translate({pairs.folder, "--input", "/proc/self/mem", "--output", pairs.file("out")});
  CHECK(broken.code == 1);
  CHECK(has(broken.errors, "/proc/self/mem: cannot read"));
  CHECK_FALSE(fs::exists(pairs.file("out")));
}

TEST_CASE("a translation of a blank line has a score that is no better than any") {
  const TinyRunOfPairs pairs;
  const Outcome scored =
      run_translate({pairs.folder, "--score", "--format", "marian"}, "\tba\nab\tba\n\n\t\n");
  CHECK(scored.code == 0);
  const auto lines = lines_of(scored.output);
  REQUIRE(lines.size() == 4);
  CHECK(has(lines[0], "0 ||| ba ||| LogProbability= -"));
  CHECK(has(lines[2], "2 |||  ||| LogProbability= -"));
  CHECK(lines[3].substr(1) == lines[2].substr(1));
}

TEST_CASE("what cannot be done is one line that says so") {
  const TinyRunOfPairs pairs;
  const auto refused = [&](std::vector<std::string> words, int code, const std::string& message,
                           const std::string& input = "ab\n") {
    words.insert(words.begin(), pairs.folder);
    const Outcome outcome = run_translate(std::move(words), input);
    CAPTURE(message, outcome.errors);
    CHECK(outcome.code == code);
    CHECK(has(outcome.errors, message));
    CHECK(outcome.output.empty());
  };
  refused({"--n-best", "5"}, 2, "5 translations cannot come from a beam of 4");
  refused({"--n-best", "0"}, 2, "--n-best");
  refused({"--beam", "0"}, 2, "beam");
  refused({"--temperature", "0.5"}, 2, "--sample");
  refused({"--sample", "--top-p", "0"}, 2, "--top-p");
  refused({"--sample", "--temperature", "-1"}, 2, "--temperature");
  refused({"--sample", "--score"}, 2, "--score");
  refused({"--score", "--n-best", "2"}, 2, "--n-best");
  refused({"--score", "--prefix", "a"}, 2, "--prefix");
  refused({"--sample", "--beam", "3"}, 2, "--sample");
  refused({"--decoding.alignment_layer", "2"}, 2, "the decoder has 1 layers");
  refused({"--format", "xml"}, 2, "--format");
  refused({"--input", pairs.file("nothing")}, 1, "cannot read");
  refused({"--weights", "ema"}, 2, "keeps no moving average of its weights");
  refused({"--score"}, 2, "prints probabilities, which text has no place for");
  refused({"--score", "--format", "json"}, 1,
          "standard input:2: has 0 tabs, wanted one: a source, a tab and a translation",
          "ab\tba\nab\n");
  refused({"--model.width", "8"}, 2, "does not take");
  refused({pairs.tiny.data().string()}, 1, "holds no checkpoint");

  const TinyRun language("rope");
  train_run(language.settings, ExistingRun::refuse);
  const Outcome foreign = run_translate({language.run().string()}, "ab\n");
  CHECK(foreign.code == 2);
  CHECK(has(foreign.errors, "is not a translator's run"));
}

TEST_CASE("a table of positions that a given beginning does not fit is no crash") {
  const TinyRunOfPairs pairs({{"position", "learned"}, {"position.learned.length", "16"}});
  const std::string text(40, 'a');
  const Outcome scored =
      run_translate({pairs.folder, "--score", "--format", "json"}, "ab\tba\nab\t" + text + "\n");
  CHECK(scored.code == 1);
  CHECK(has(scored.errors, "line 2: the given text has 40 tokens"));
  CHECK(has(run_translate({pairs.folder, "--prefix", text}, "ab\n").errors,
            "the given text has 40 tokens"));
  CHECK(lines_of(run_translate({pairs.folder}, text + "\n").output).size() == 1);
}

TEST_CASE("the output file is what standard output would be, whole or not there") {
  const TinyRunOfPairs pairs;
  const std::string file = pairs.file("out.txt");
  const std::string printed = run_translate({pairs.folder}, "ab\n\ncd\n").output;
  const Outcome written = run_translate({pairs.folder, "--output", file}, "ab\n\ncd\n");
  CHECK(written.code == 0);
  CHECK(written.output.empty());
  CHECK(read_file(file) == printed);
  fs::remove(file);
  CHECK(
      run_translate({pairs.folder, "--score", "--format", "json", "--lines", "1", "--output", file},
                    "ab\tba\nab\n")
          .code == 1);
  CHECK_FALSE(fs::exists(file));
  CHECK_FALSE(fs::exists(file + ".partial"));
  // Nor is what is read written over.
  write_file_atomically(file, "ab\n");
  const Outcome same = run_translate({pairs.folder, "--input", file, "--output", file});
  CHECK(same.code == 2);
  CHECK(has(same.errors, "is an input of this command, which would overwrite it"));
  CHECK(read_file(file) == "ab\n");
  // A folder is made, where one can be.
  CHECK(run_translate({pairs.folder, "--output", pairs.file("new/out")}, "ab\n").code == 0);
  CHECK(has(run_translate({pairs.folder, "--output", pairs.file("new/out/in")}, "ab\n").errors,
            "new/out"));
}

TEST_CASE("every format says the same, and alignments name a source token for each target token") {
  const TinyRunOfPairs pairs({{"training.steps", "150"}, {"model.dropout", "0"}});
  const std::string input = "abcd\n\nba\n";
  const auto printed = [&](std::vector<std::string> words) {
    words.insert(words.begin(), pairs.folder);
    const Outcome outcome = run_translate(std::move(words), input);
    REQUIRE(outcome.code == 0);
    return lines_of(outcome.output);
  };
  const bool samples = GENERATE(false, true);
  std::vector<std::string> more = {"--alignment", "--n-best", "2"};
  if (samples) more.insert(more.end(), {"--sample", "--seed", "5", "--top-k", "4"});
  const auto with = [&](const std::string& format) {
    std::vector<std::string> words = more;
    words.insert(words.end(), {"--format", format});
    return printed(words);
  };
  const auto text = with("text"), json = with("json"), marian = with("marian");
  REQUIRE(text.size() == 6);
  REQUIRE(json.size() == 3);
  REQUIRE(marian.size() == 5);
  CHECK((text[2].empty() && text[3].empty()));
  CHECK(nlohmann::json::parse(json[1])["translations"].empty());
  CHECK(marian[2].starts_with("1 |||  |||"));
  for (const std::size_t line : {0, 2}) {
    const auto object = nlohmann::json::parse(json[line]);
    CHECK(object["source_tokens"].size() == object["source"].get<std::string>().size());
    REQUIRE(object["translations"].size() == 2);
    for (std::size_t k = 0; k < 2; ++k) {
      const auto& translation = object["translations"][k];
      std::string words;
      REQUIRE(translation["alignment"].size() == translation["tokens"].size());
      for (std::size_t i = 0; i < translation["alignment"].size(); ++i) {
        const auto source = translation["alignment"][i][0].get<std::size_t>();
        CHECK(source < object["source_tokens"].size());
        CHECK(translation["alignment"][i][1] == i);
        words += (i > 0 ? " " : "") + std::to_string(source) + "-" + std::to_string(i);
      }
      const std::string shown = translation["text"].get<std::string>() + " ||| " + words;
      CHECK(text[(line == 0 ? 0 : 4) + k] == shown);
      CHECK(marian[(line == 0 ? 0 : 3) + k].starts_with(std::to_string(line) + " ||| " + shown +
                                                        " ||| LogProbability= "));
    }
  }
}

TEST_CASE("a sample is its line's, whatever is read with it") {
  const TinyRunOfPairs pairs;
  const std::string input = "abc\nabc\n\ndca\n";
  const std::vector<std::string> words = {pairs.folder, "--sample", "--n-best", "2"};
  const std::string all = run_translate(words, input).output;
  std::vector<std::string> each = words;
  each.insert(each.end(), {"--lines", "1"});
  CHECK(run_translate(each, input).output == all);
  const auto lines = lines_of(all);
  REQUIRE(lines.size() == 8);
  CHECK(lines[0] != lines[1]);
  CHECK(lines[0] != lines[2]);
  CHECK(lines_of(run_translate(words, "abc\nd\n").output).at(0) == lines[0]);
}

TEST_CASE("a signal leaves neither the file nor its beginning") {
  const TinyRunOfPairs pairs;
  const std::string output = pairs.file("stopped.txt");
  const auto left = [&] { return fs::exists(output) || fs::exists(output + ".partial"); };
  {
    const StopSignals signals;  // the command's own pass on what these have received
    std::raise(SIGINT);
    const Outcome stopped = run_translate({pairs.folder, "--output", output}, "abc\n");
    CHECK(stopped.code == 128 + SIGINT);
    CHECK(has(stopped.errors, "stopped by a signal after 0 lines: " + output + " is not written"));
    CHECK(!left());
    // What goes to standard output has no file to keep whole.
    CHECK(lines_of(run_translate({pairs.folder}, "abc\n").output).size() == 1);
  }
  CHECK(run_translate({pairs.folder, "--output", output}, "abc\n").code == 0);
  CHECK(left());
}

TEST_CASE("a set is evaluated whole, whatever part of it the training decoded") {
  const TinyRunOfPairs pairs;  // decodes two sentences in a validation
  const std::string output = pairs.file("hypotheses.txt");
  const Outcome whole = run({"evaluate", pairs.folder, "--output", output});
  REQUIRE(whole.code == 0);
  CHECK(has(whole.output, "\n20 sentences, "));
  CHECK(lines_of(read_file(output)).size() == 20);
  const Outcome part = run({"evaluate", pairs.folder, "--decoding.sentences", "3"});
  CHECK(has(part.output, "20 sentences, of which the first 3 are decoded (decoding.sentences)"));
  const Outcome refused =
      run({"evaluate", pairs.folder, "--output", pairs.tiny.folder.path.string()});
  CHECK(refused.code == 1);
  CHECK(has(refused.errors, "is a directory"));
}
