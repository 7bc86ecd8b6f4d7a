// Training on several data sets at once: what is drawn, how a run goes on, what is refused.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/checksums.h"
#include "base/error.h"
#include "catch.h"
#include "has.h"
#include "report/json_lines.h"
#include "runs/tiny_run.h"
#include "text/plain_tokenizers.h"
#include "text/tokenizer.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

// Another data set of bytes, of a few lines in capitals.
fs::path prepare_capitals(const fs::path& folder, const Tokenizer& tokenizer) {
  std::ofstream text(folder / "capitals.txt");
  for (int i = 0; i < 300; ++i) text << "A LINE IN CAPITALS " << i % 7 << "\n\n";
  text.close();
  CorpusOptions corpus;
  corpus.inputs = {folder / "capitals.txt"};
  prepare({.corpus = corpus, .output = folder / "capitals"}, tokenizer);
  return folder / "capitals";
}

std::vector<double> losses_of(const fs::path& run) {
  std::vector<double> values;
  for (const nlohmann::json& line : read_json_lines(run / "metrics.jsonl")) {
    if (line.contains("loss")) values.push_back(line["loss"]);
  }
  return values;
}

std::string refused(const Settings& settings, ExistingRun existing = ExistingRun::refuse) {
  try {
    train_run(settings, existing);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Mixture {
  TinyRun tiny{"rope"};
  fs::path capitals =
      prepare_capitals(tiny.folder.path, *open_tokenizer({.kind = TokenizerKind::bytes}));

  Settings settings(const std::string& run, const std::string& sources,
                    const std::string& steps = "6") const {
    Settings result = tiny.settings;
    result.run = run;
    result.data.sources = parse_sources(sources, tiny.folder.path);
    result.training.steps = {std::stod(steps)};
    result.training.schedule = ScheduleKind::constant;  // a longer one has the same first steps
    result.training.log_every = {1};
    result.training.save_every = {1};
    return result;
  }
};

}  // namespace

TEST_CASE("several sources are trained on, recorded, and gone on with as if never stopped") {
  const Mixture mixture;
  const std::string both = "[{directory: data, weight: 3}, {directory: capitals}]";
  const Settings whole = mixture.settings("whole", both);
  train_run(whole, ExistingRun::refuse);
  train_run(mixture.settings("alone", ""), ExistingRun::refuse);
  CHECK(losses_of(whole.runs / "whole") != losses_of(whole.runs / "alone"));
  const nlohmann::json record = read_checksummed_json(whole.runs / "whole" / "run.json");
  REQUIRE(record["data"]["source_fingerprints"].size() == 2);
  CHECK(has(record["data"]["source_fingerprints"][0].get<std::string>(), " x 3"));

  train_run(mixture.settings("parts", both, "2"), ExistingRun::refuse);
  train_run(mixture.settings("parts", both), ExistingRun::resume);
  CHECK(losses_of(whole.runs / "parts") == losses_of(whole.runs / "whole"));
  // The same set named as the only source is no mixture.
  train_run(mixture.settings("one", "[{directory: data}]"), ExistingRun::refuse);
  CHECK(losses_of(whole.runs / "one") == losses_of(whole.runs / "alone"));
  // Other weights would go on with other numbers.
  CHECK(has(refused(mixture.settings("parts", "[{directory: data}, {directory: capitals}]", "8"),
                    ExistingRun::resume),
            "is not what the run was started with: fingerprint "));
  // So would the same text divided again.
  CorpusOptions corpus;
  corpus.inputs = {mixture.tiny.folder.path / "capitals.txt"};
  prepare({.corpus = corpus,
           .validation_fraction = 0.9,
           .output = mixture.tiny.folder.path / "capitals",
           .overwrite = true},
          *open_tokenizer({.kind = TokenizerKind::bytes}));
  CHECK(has(refused(mixture.settings("parts", both, "8"), ExistingRun::resume),
            "is not what the run was started with: training fingerprint "));
}

TEST_CASE("sources that do not fit are refused before the run is made") {
  const Mixture mixture;
  CharacterCounter counter;
  counter.add("A LINE IN CAPITALS 0123456789");
  std::ofstream(mixture.tiny.folder.path / "characters.json") << counter.vocabulary(100);
  const auto tokenizer = open_tokenizer(
      {.kind = TokenizerKind::characters, .file = mixture.tiny.folder.path / "characters.json"});
  TemporaryFolder other;
  prepare_capitals(other.path, *tokenizer);
  const std::string of_characters =
      fmt::format("[{{directory: data}}, {{directory: {}}}]", (other.path / "capitals").string());
  CHECK(has(refused(mixture.settings("none", of_characters)), "source 2"));
  CHECK(has(refused(mixture.settings("none", "[{directory: data}, {directory: nowhere}]")),
            "nowhere"));
  CHECK_FALSE(fs::exists(mixture.tiny.settings.runs / "none" / "config.yaml"));
}
