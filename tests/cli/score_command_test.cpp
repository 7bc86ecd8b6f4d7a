// `roformer score`: prints what sacreBLEU's own command prints, and says what is wrong with files.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "cli/score_report.h"
#include "has.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

Outcome run_score(std::vector<std::string> words) {
  words.insert(words.begin(), "score");
  return run(std::move(words));
}

const nlohmann::json& translation_cases() {
  static const auto loaded =
      nlohmann::json::parse(read_file(FIXTURES "/../metrics/translation_cases.json"));
  return loaded;
}

std::string text_of(const nlohmann::json& lines) {
  std::string text;
  for (const auto& line : lines) text += line.get<std::string>() + "\n";
  return text;
}

// The files that the commands of the cases name lie in the current folder meanwhile.
class CaseFolder {
 public:
  CaseFolder() : before_(std::filesystem::current_path()) {
    const auto& data = translation_cases();
    write("one.txt", text_of(data["first"]));
    write("two.txt", text_of(data["second"]));
    write("ref.txt", text_of(data["references"][0]));
    write("ref2.txt", text_of(data["references"][1]));
    std::filesystem::current_path(folder_.path);
  }
  ~CaseFolder() { std::filesystem::current_path(before_); }

  void write(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_.path / name, text);
  }

 private:
  TemporaryFolder folder_;
  std::filesystem::path before_;
};

}  // namespace

TEST_CASE("score prints what sacreBLEU prints") {
  const CaseFolder folder;
  for (const auto& wanted : translation_cases()["commands"]) {
    INFO(wanted["arguments"].dump());
    const Outcome found = run_score(wanted["arguments"].get<std::vector<std::string>>());
    CHECK(found.code == 0);
    CHECK(found.output == wanted["output"].get<std::string>());
  }
}

TEST_CASE("score labels the older BLEU with split compounds") {
  const CaseFolder folder;
  const Outcome found = run_score({"one.txt", "ref.txt", "--compound-split", "--width", "2"});
  CHECK(found.code == 0);
  CHECK(has(found.output,
            "tokenized BLEU (compounds split)|nrefs:1|case:mixed|eff:no|"
            "tok:moses-de+compound-split|smooth:none|like:multi-bleu.perl = "));
  CHECK(run_score({"one.txt", "ref.txt", "--tokenize", "moses-compound", "--width", "2"}).output ==
        found.output);
  CHECK(run_score({"one.txt", "ref.txt", "--compound-split", "--width", "2", "--language", "en"})
            .output != found.output);
}

TEST_CASE("score names the file whose lines do not match") {
  const CaseFolder folder;
  folder.write("short.txt", "eine\nzwei\n");
  const Outcome reference = run_score({"one.txt", "short.txt"});
  CHECK(reference.code == 1);
  CHECK(has(reference.errors, "short.txt: 2 lines, but one.txt has "));
  CHECK(reference.output.empty());
  const Outcome other = run_score({"one.txt", "ref.txt", "--other", "short.txt"});
  CHECK(other.code == 1);
  CHECK(has(other.errors, "short.txt: 2 lines"));
  folder.write("empty.txt", "");
  CHECK(has(run_score({"empty.txt", "empty.txt"}).errors, "empty.txt: holds no line"));
  CHECK(run_score({"none.txt", "ref.txt"}).code == 1);
}

TEST_CASE("score repairs malformed text and takes a last line without its end") {
  const CaseFolder folder;
  folder.write("bad.txt", "ein \xff Satz\nnoch \xc3 einer");
  folder.write("good.txt", "ein \ufffd Satz\nnoch \ufffd einer\n");
  const Outcome found = run_score({"bad.txt", "good.txt", "--metrics", "chrf", "--score-only"});
  CHECK(found.code == 0);
  CHECK(found.output == "100.0\n");
}

TEST_CASE("score refuses flags that do not go together") {
  const CaseFolder folder;
  const std::vector<std::vector<std::string>> wrong = {
      {"--paired-bs"},
      {"--paired-ar"},
      {"--other", "two.txt", "--confidence"},
      {"--other", "two.txt", "--sentence-level"},
      {"--other", "two.txt", "--paired-bs", "--paired-ar"},
      {"--other", "one.txt"},
      {"--metrics", "bleu,chrf", "--sentence-level"},
      {"--metrics", "meteor"},
      {"--smooth-value", "1"},
      {"--tokenize", "moses"},
      {"--tokenize", "13a", "--compound-split"},
      {"--compound-split", "--smooth-method", "floor"},
      {"--sentence-level", "--format", "json"},
      {"--score-only", "--format", "json"},
      {"--chrf-char-order", "0"},
      {"--confidence-n", "0"},
      {"-", "-"},
  };
  for (std::vector<std::string> words : wrong) {
    words.insert(words.begin(), {"one.txt", "ref.txt"});
    INFO(words.back());
    const Outcome found = run_score(words);
    CHECK(found.code == 2);
    CHECK(found.output.empty());
    CHECK(has(found.errors, "error: "));
  }
}

TEST_CASE("numbers are written as Python writes them") {
  CHECK(python_number(100) == "100.0");
  CHECK(python_number(26.7) == "26.7");
  CHECK(python_number(0.000999000999000999) == "0.000999000999000999");
  CHECK(python_number(0.00001) == "1e-05");
  CHECK(python_number(1e16) == "1e+16");
  CHECK(python_number(-123456789012345) == "-123456789012345.0");
}
