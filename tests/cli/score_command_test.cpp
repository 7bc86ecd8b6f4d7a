// `roformer score`: prints sacreBLEU's lines, JSON and numbers, and says what is wrong with files.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
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

// The numbers of a table of systems, sorted: sacreBLEU lays its table out in another way.
std::vector<std::string> numbers_of_table(const std::string& output) {
  const std::string table = output.substr(0, output.find("\n\n"));
  const std::regex number("[0-9]+\\.[0-9]+");
  std::vector<std::string> numbers;
  for (std::sregex_iterator at(table.begin(), table.end(), number), end; at != end; ++at) {
    numbers.push_back(at->str());
  }
  std::ranges::sort(numbers);
  return numbers;
}

// The JSON of a bootstrap without our two-sided p, which sacreBLEU's lacks.
std::string without_two_sided(const std::string& output) {
  return std::regex_replace(
      output, std::regex(",\\s*\"p_two_sided\": [0-9.e-]+|,\\s*\"p_two_sided\": null"), "");
}

struct Signature {
  std::string line, name, text;
};

// " - BLEU       nrefs:1|..."
std::vector<Signature> signatures_of(const std::string& output) {
  const std::regex line(" - (\\S+) +(nrefs\\S+)");
  std::vector<Signature> found;
  for (std::sregex_iterator at(output.begin(), output.end(), line), end; at != end; ++at) {
    found.push_back({at->str(), (*at)[1], (*at)[2]});
  }
  REQUIRE(!found.empty());
  return found;
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
    const std::string output = wanted["output"].get<std::string>();
    CHECK(found.code == 0);
    if (!has(output, "Metric signatures")) {
      CHECK(without_two_sided(found.output) == output);
      continue;
    }
    // A bootstrap has our two-sided p beside sacreBLEU's.
    std::vector<std::string> missing;
    std::ranges::set_difference(numbers_of_table(output), numbers_of_table(found.output),
                                std::back_inserter(missing));
    CHECK(missing.empty());
    const bool further = has(found.output, "p, two-sided");
    CHECK(further == has(wanted["arguments"].dump(), "--paired-bs"));
    if (!further) CHECK(numbers_of_table(found.output) == numbers_of_table(output));
    for (const auto& [line, name, signature] : signatures_of(output)) {
      INFO(line);
      CHECK(has(found.output, "\n" + name + "|" + signature + "\n"));
    }
  }
}

TEST_CASE("a bootstrap has a two-sided p beside it, whose seed and trials are printed") {
  const CaseFolder folder;
  const std::vector<std::string> words{"one.txt",     "ref.txt",   "--other",      "two.txt",
                                       "--paired-bs", "--metrics", "bleu,chrf,ter"};
  const Outcome text = run_score(words);
  CHECK(has(text.output, "p, two-sided"));
  CHECK(has(text.output, "one-sided"));
  CHECK(has(text.output, "10,000 trials"));
  CHECK(has(text.output, "seed 12345"));
  std::vector<std::string> as_json = words;
  as_json.insert(as_json.end(), {"--format", "json"});
  const auto json = nlohmann::json::parse(run_score(as_json).output);
  for (const char* metric : {"BLEU", "chrF2", "TER"}) {
    CHECK(json[0][metric]["p_two_sided"].is_null());
    CHECK(json[1][metric]["p_two_sided"].get<double>() > 0);
    CHECK(json[1][metric]["p_value"].get<double>() > 0);
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

TEST_CASE("numbers of JSON are written as Python writes them") {
  const auto written = [](double value) { return nlohmann::json(value).dump(); };
  CHECK(written(100) == "100.0");
  CHECK(written(26.7) == "26.7");
  CHECK(written(0.000999000999000999) == "0.000999000999000999");
  CHECK(written(0.00001) == "1e-05");
  CHECK(written(1e16) == "1e+16");
  CHECK(written(-123456789012345) == "-123456789012345.0");
}
