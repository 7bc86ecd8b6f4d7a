// What a study makes of its translators' output, with a program that only pretends to decode.
#include "experiments/evaluations.h"

#include "base/hexadecimal.h"
#include "catch.h"
#include "data/prepare_pairs.h"
#include "experiments/record.h"
#include "experiments/study_results.h"
#include "fake_program.h"
#include "has.h"
#include "metrics/bleu.h"
#include "tasks/translation/translation_evaluation.h"
#include "text/plain_tokenizers.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

constexpr int kSentences = 40;  // half of 4 words, half of 15

// `evaluate RUN ... --output FILE` copies the references; `none` changes a word in every line.
constexpr const char* kFakeDecoder = R"script(
if [ "$1" = evaluate ]; then
  echo "$*" >> "$2/decoded"
  here=$(dirname "$0")
  run=$2
  while [ "$1" != --output ]; do shift; done
  case $run in
    */none*) sed 's/Haus/Baum/' "$here/test.de" > "$2" ;;
    */t5*) echo "error: no such luck"; exit 1 ;;
    *) cp "$here/test.de" "$2" ;;
  esac
  exit 0
fi
case $2 in *.yaml)
  run=$(dirname "$(dirname "$2")")/$(basename "$2" .yaml)
  mkdir -p "$run/checkpoints/step-00000100"
  cp "$2" "$run/checkpoints/step-00000100/config.yaml"
  cp "$(dirname "$0")/state.json" "$run/checkpoints/step-00000100/state.json" ;;
esac
)script";

struct DecodedStudy : FakeProgram {
  explicit DecodedStudy(const std::string& positions, const std::string& more = "")
      : FakeProgram(positions) {
    write_file_atomically(path / "tiny.yaml",
                          read_file(path / "tiny.yaml") + "task: translation\n" +
                              "data: {directory: data}\nevaluate: {split: test, examples: 2}\n" +
                              "study: {metric: bleu, columns: [bleu, test_bleu, "
                              "test_bleu_compound_split], reference: none, "
                              "primary: {rows: [rope], metrics: [test_bleu]}}\n" +
                              more);
    std::string source, target;
    for (int i = 0; i < kSentences; ++i) {
      const std::string number = std::to_string(i);
      source += "the house number " + number +
                (i < kSentences / 2 ? ""
                                    : " in the very long street by the "
                                      "river where nobody lives") +
                "\n";
      target += "das Haus mit der Nummer " + number + " steht hier\n";
    }
    write_file_atomically(path / "test.en", source);
    write_file_atomically(path / "test.de", target);
    write_file_atomically(path / "train.en", "a house\n");
    write_file_atomically(path / "train.de", "ein Haus\n");
    const auto tokenizer = make_byte_tokenizer();
    const auto pairs = [&](const char* name) {
      return PairSource{.source = path / (std::string(name) + ".en"),
                        .target = path / (std::string(name) + ".de")};
    };
    const ParallelDescription made =
        prepare_pairs({.corpus = {.languages = {.source = "en", .target = "de"},
                                  .train = {pairs("train")},
                                  .validation = HeldOutPairs{.pairs = pairs("test")},
                                  .test = HeldOutPairs{.pairs = pairs("test")}},
                       .output = path / "data",
                       .name = "houses"},
                      *tokenizer, *tokenizer);
    write_file_atomically(path / "state.json", read_file(FIXTURES "/../training/state.json"));
    std::string train = kFakeTrain;
    const std::string shell = "#!/bin/sh\n", other = "000000000000f00d";
    train.replace(train.find(other), other.size(), hexadecimal(made.fingerprint));
    write_file_atomically(path / "train", shell + kFakeDecoder + train.substr(shell.size()));
    fs::permissions(path / "train", fs::perms::owner_all);
  }
};

}  // namespace

TEST_CASE("translators decode a set once for scores, tests, chart and examples") {
  const DecodedStudy fake("rope, none");
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  CHECK(outcome.failed_evaluations == 0);
  REQUIRE(outcome.translations);
  const TranslationReport& report = *outcome.translations;
  const std::string scores = to_markdown(report.scores);
  CHECK(has(scores, "| rope | **100.00** | **100.00** | **100.00** |"));
  CorpusBleu bleu;
  for (int i = 0; i < kSentences; ++i) {
    const std::string rest = " mit der Nummer " + std::to_string(i) + " steht hier";
    bleu.add("das Baum" + rest, {"das Haus" + rest});
  }
  Table one({{.title = "b", .format = {NumberFormat::Style::fixed, 2}}});
  one.add_row({bleu.score().score});
  CHECK(has(scores, "| none | " + one.text(0, 0) + " |"));
  CHECK(has(report.scores_caption, "40 sentences of the test set"));
  CHECK(has(report.scores_caption, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"));
  CHECK(has(report.scores_caption, "moses-de+compound-split"));

  REQUIRE(report.tests.rows().size() == 1);
  CHECK(report.tests.text(0, 0) == "rope");
  CHECK(report.tests.text(0, 1) == "none");
  CHECK(report.tests.text(0, 7) == report.tests.text(0, 6));  // one comparison
  CHECK(report.tests.text(0, 6) == "0.0001");                 // rope is better in every sentence
  CHECK(has(report.tests_caption, "nearly one-sided"));

  REQUIRE(report.by_length.series.size() == 2);
  CHECK(report.by_length.series[0].x.size() == 2);  // 4 words, and 15
  CHECK(report.by_length.series[0].x[0] == 4);
  REQUIRE(report.examples.size() == 2);
  CHECK(report.examples[1].text(0, 1) ==
        "the house number 20 in the very long street by the river where nobody lives");
  const std::string page = read_file(outcome.report);
  CHECK(has(page, "<h2 id=\"section-2\">Translations</h2>"));
  CHECK(has(page, "das Baum mit der Nummer 20 steht hier"));
  CHECK(has(page, "BLEU by the length of the source"));

  SECTION("once") {
    run_study(fake.load(), fake_options(fake));
    CHECK(read_file(fake.runs() / "rope" / "decoded").find("evaluate", 9) == std::string::npos);
  }
  SECTION("and all of it is in the record") {
    write_study_record(fake.path / "r.json", fake.path / "tiny.yaml", outcome.study, outcome, {});
    CHECK(to_markdown(recorded_table(fake.path / "r.json", "translations")) == scores);
    CHECK(has(recorded_chart(fake.path / "r.json", "bleu_by_length"), "words of the source"));
    const std::string results = to_markdown(recorded_table(fake.path / "r.json", "results"));
    CHECK(has(results, "| test BLEU | test BLEU, compounds split |"));
    CHECK(has(results, " | **100.00** | **100.00** |"));
    const nlohmann::json record = read_record(fake.path / "r.json");
    for (const auto& one : record["runs"]) {
      const bool rope = one["name"].get<std::string>().starts_with("rope");
      CHECK(one["figures"]["test_bleu"] == Approx(rope ? 100 : bleu.score().score));
      CHECK(one["figures"].contains("test_chrf"));
      CHECK(one["figures"].contains("test_bleu_compound_split"));
    }
    CHECK(record["signatures"]["test_bleu"] == bleu.score().signature);
  }
  SECTION("a file of other length is decoded again") {
    for (const auto& entry : fs::directory_iterator(fake.runs() / "evaluations")) {
      if (entry.path().extension() == ".txt") write_file_atomically(entry.path(), "one\n");
    }
    const StudyOutcome again = run_study(fake.load(), fake_options(fake));
    CHECK(to_markdown(again.translations->scores) == scores);
  }
}

TEST_CASE("translations are made again for other data and another way to decode") {
  const DecodedStudy fake("rope, none");
  const auto decodings = [&](const std::vector<Override>& flags) {
    run_study(fake.load(flags), fake_options(fake));
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(fake.runs() / "evaluations")) {
      count += entry.path().extension() == ".txt" ? 1 : 0;
    }
    return count;
  };
  CHECK(decodings({}) == 2);
  CHECK(decodings({}) == 2);
  CHECK(decodings({{"decoding.beam", "2"}}) == 4);
}

TEST_CASE("a decoding that fails is a row with the reason") {
  const DecodedStudy fake("rope, none");
  std::string script = read_file(fake.path / "train");
  const std::string good = "*/none*) sed";
  script.replace(script.find(good), good.size(), "*/none*) echo broken >&2; exit 3; sed");
  write_file_atomically(fake.path / "train", script);
  fs::permissions(fake.path / "train", fs::perms::owner_all);
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  CHECK(outcome.failed_evaluations == 1);
  CHECK(has(to_markdown(outcome.translations->missing), "none failed: exit code 3: broken"));
  CHECK(outcome.translations->tests.rows().empty());  // without its reference
}

TEST_CASE("sentences are counted by the words of their source") {
  const std::vector<std::string> sources{"one", "a b  c", std::string(41, 'x') + " y", ""};
  const std::vector<std::string> lines{"eins", "a b c", "x y", ""};
  const auto buckets = bleu_by_source_length(sources, lines, lines, "de");
  REQUIRE(buckets.size() == 1);
  CHECK(buckets[0].name == "1 and more");
  CHECK(buckets[0].sentences == 4);
  CHECK(buckets[0].mean_words == Approx((1 + 3 + 2 + 1) / 4.0));
}

TEST_CASE("few sentences of a length join their neighbours") {
  const auto of_words = [](std::size_t words) {
    std::string line = "w";
    for (std::size_t i = 1; i < words; ++i) line += " w";
    return line;
  };
  std::vector<std::string> sources;
  const auto add = [&](std::size_t sentences, std::size_t words) {
    sources.insert(sources.end(), sentences, of_words(words));
  };
  add(19, 5);
  add(20, 15);
  add(20, 25);
  add(2, 35);
  add(1, 70);
  const auto buckets = bleu_by_source_length(sources, sources, sources, "de");
  REQUIRE(buckets.size() == 2);
  CHECK(buckets[0].name == "1 to 20");
  CHECK(buckets[0].sentences == 39);
  CHECK(buckets[1].name == "21 and more");
  CHECK(buckets[1].sentences == 23);
  CHECK(buckets[1].mean_words == Approx((20 * 25 + 2 * 35 + 70) / 23.0));
}
