// Translation from prepared pairs to a run that translates: training, resuming, searching, scoring,
// averaging.
#include "runs/trained_model.h"
#include "tasks/translation/text_translator.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "config/position_facts.h"
#include "runs/new_run.h"
#include "runs/run_settings.h"
#include "runs/tiny_translation.h"
#include "runs/train.h"
#include "tasks/translation/translation_evaluation.h"
#include "tensor/safetensors.h"
#include "text/plain_tokenizers.h"
#include "training/checkpoint.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

TextTranslator open_translator(const fs::path& run, std::vector<Override> overrides = {},
                               bool int8 = false) {
  std::vector<TrainedTranslator> runs;
  runs.push_back(open_run_of<Translator>(run, {.overrides = std::move(overrides), .int8 = int8}));
  return TextTranslator(std::move(runs));
}

}  // namespace

TEST_CASE("a translator learns to read backwards, and translates lines") {
  const TinyTranslation tiny(600);
  const auto summary = train_run(tiny.settings("backwards", {{"training.steps", "900"},
                                                             {"training.validate_every", "900"},
                                                             {"training.schedule", "linear"},
                                                             {"training.warmup", "50"}}),
                                 ExistingRun::refuse);
  const auto& figures = summary.validations.back().figures;
  CHECK(figures.at("chrf") == Approx(100).margin(1e-6));  // lines too short for BLEU
  CHECK(figures.at("accuracy") > 0.99);
  CHECK(figures.at("loss") == Approx(figures.at("smoothed_loss")));
  const fs::path run = tiny.folder.path / "runs" / "backwards";

  const TextTranslator translator = open_translator(run);
  const auto found = translator.translate({"abc", "", "  ", "dcbaa"}, {});
  REQUIRE(found.size() == 4);
  CHECK(found[0].translations.at(0).text == "cba");
  CHECK(found[1].translations.empty());
  CHECK(found[2].translations.empty());
  CHECK(found[3].translations.at(0).text == "aabcd");

  SECTION("n-best texts have the scores that they get when they are given") {
    const auto best = translator.translate({"abcd"}, {.n_best = 3});
    REQUIRE(best[0].translations.size() == 3);
    for (const TranslatedText& text : best[0].translations) {
      const auto scored = translator.score({"abcd"}, {text.text}, {});
      CHECK(scored[0].translations.at(0).log_probability ==
            Approx(text.log_probability).margin(1e-3));
    }
    CHECK(best[0].translations[0].score >= best[0].translations[1].score);
  }
  SECTION("an ensemble of a run with itself is the run") {
    std::vector<TrainedTranslator> twice;
    for (int i = 0; i < 2; ++i) twice.push_back(open_run_of<Translator>(run));
    const auto both = TextTranslator(std::move(twice)).translate({"dabc"}, {});
    const auto one = translator.translate({"dabc"}, {});
    CHECK(both[0].translations.at(0).text == one[0].translations.at(0).text);
    CHECK(both[0].translations[0].log_probability ==
          Approx(one[0].translations.at(0).log_probability).margin(1e-3));
  }
  SECTION("a token of the translation attended to the letter that it is") {
    const auto aligned =
        translator.translate({"abcd", "dacb", "cabd"}, {.n_best = 2, .alignment = true});
    for (const TranslatedLine& line : aligned) {
      const TranslatedText& best = line.translations.at(0);
      CHECK(best.alignment == Alignment{{3, 0}, {2, 1}, {1, 2}, {0, 3}});
      CHECK(line.pieces.size() == 4);
      CHECK(line.translations.at(1).alignment.size() == line.translations[1].pieces.size());
    }
  }
  SECTION("samples are drawn from what the model knows") {
    const auto samples = translator.translate(
        {"abcd"}, {.n_best = 20, .sampling = SamplingSettings{.temperature = 0.5}});
    REQUIRE(samples[0].translations.size() == 20);
    const auto right = std::ranges::count(samples[0].translations, "dcba", &TranslatedText::text);
    CHECK(right >= 15);
  }
  SECTION("weights of eight bits translate nearly the same") {
    const TextTranslator small = open_translator(run, {{"device", "cpu"}}, true);
    int differing = 0;  // so near to 0, two log probabilities may well round to the same
    for (const std::string line : {"abcd", "dacb", "cabd"}) {
      const TranslatedText exact = translator.translate({line}, {})[0].translations.at(0);
      const TranslatedText rounded = small.translate({line}, {})[0].translations.at(0);
      CHECK(rounded.text == exact.text);
      CHECK(rounded.log_probability == Approx(exact.log_probability).margin(0.1));
      differing += rounded.log_probability != exact.log_probability;
    }
    CHECK(differing > 0);
    CHECK(open_run_of<Translator>(run, {.int8 = true}).model->parameters().in_file());
    CHECK(!open_run_of<Translator>(run).model->parameters().in_file());
    CHECK_THROWS_WITH(
        open_run_of<Translator>(run, {.overrides = {{"training.precision", "bf16"}}, .int8 = true}),
        Catch::Contains("--int8: goes with --device cpu and --training.precision fp32"));
  }
  SECTION("runs of different vocabularies are no ensemble") {
    std::vector<TrainedTranslator> both;
    for (int i = 0; i < 2; ++i) both.push_back(open_run_of<Translator>(run));
    CharacterCounter letters;
    letters.add("abcd");
    both[1].tokenizers.target = make_character_tokenizer(letters.vocabulary(100), "letters");
    CHECK_THROWS_WITH(TextTranslator(std::move(both)), Catch::Contains("another vocabulary"));
  }
  SECTION("examples of a validation are in the log") {
    const std::string log = read_file(run / "log.txt");
    CHECK(log.find("  source     ") != std::string::npos);
    CHECK(log.find("  reference  ") != std::string::npos);
    CHECK(log.find("  this model ") != std::string::npos);
  }
  SECTION("a forced beginning begins the translation; a long line is cut") {
    CHECK(
        translator.translate({"abc"}, {.prefix = "b"})[0].translations.at(0).text.starts_with("b"));
    CHECK(translator.translate({std::string(10000, 'a')}, {.longest_source = 8})[0].cut);
  }
}

TEST_CASE("a translator that is stopped and resumed has the losses of one that is not") {
  const TinyTranslation tiny;
  const auto weights = [&](const std::string& run) {
    return Safetensors(find_checkpoint(tiny.folder.path / "runs" / run, "last") /
                       "model.safetensors");
  };
  const std::vector<Override> short_run = {{"training.steps", "6"},
                                           {"training.schedule", "constant"},
                                           {"training.validate_every", "3"},
                                           {"decoding.sentences", "4"},
                                           {"model.dropout", "0.1"}};
  train_run(tiny.settings("whole", short_run), ExistingRun::refuse);
  std::vector<Override> half = short_run;
  half[0].text = "3";
  train_run(tiny.settings("halves", half), ExistingRun::refuse);
  train_run(tiny.settings("halves", short_run), ExistingRun::resume);
  const Safetensors whole = weights("whole"), halves = weights("halves");
  for (const std::string& name : whole.names()) {
    CAPTURE(name);
    CHECK(at::equal(whole.tensor(name), halves.tensor(name)));
  }
}

TEST_CASE("two vocabularies are a run's own: resumed, and overwritten with it") {
  const TinyTranslation tiny;
  const fs::path pairs = tiny.folder.path / "pairs";
  const auto words = make_byte_tokenizer();
  CharacterCounter counter;
  counter.add("abcd ");
  const auto letters = make_character_tokenizer(counter.vocabulary(100), "letters");
  PreparePairsOptions options;
  options.corpus.languages = {.source = "en", .target = "de"};
  options.corpus.train = {
      {.source = tiny.folder.path / "train.en", .target = tiny.folder.path / "train.de"}};
  options.corpus.validation = HeldOutPairs{.pairs = {.source = tiny.folder.path / "validation.en",
                                                     .target = tiny.folder.path / "validation.de"}};
  options.output = pairs;
  prepare_pairs(options, *words, *letters);
  const auto settings = [&](const char* steps) {
    return tiny.settings("two", {{"data.directory", pairs.string()},
                                 {"translation.tie_embeddings", "false"},
                                 {"training.steps", steps},
                                 {"decoding.sentences", "2"}});
  };
  train_run(settings("2"), ExistingRun::refuse);
  const fs::path run = tiny.folder.path / "runs" / "two";
  REQUIRE(fs::exists(run / "source"));
  CHECK(train_run(settings("4"), ExistingRun::resume).consumed.steps == 4);
  // With one vocabulary in their place nothing of the two is left to be read.
  train_run(tiny.settings("two", {{"training.steps", "2"}, {"decoding.sentences", "2"}}),
            ExistingRun::overwrite);
  CHECK_FALSE(fs::exists(run / "source"));
  CHECK_NOTHROW(open_run_of<Translator>(run, {}));
}

TEST_CASE("a run that is ranked by what it decodes goes on decoding in the same way") {
  const TinyTranslation tiny;
  const std::string figure = GENERATE("bleu", "loss");
  CAPTURE(figure);
  const auto settings = [&](const char* steps, const Override& changed) {
    return tiny.settings("run", {{"training.steps", steps},
                                 {"translation.ranked_by", figure},
                                 {"decoding.sentences", "2"},
                                 changed});
  };
  train_run(settings("2", {"decoding.beam", "1"}), ExistingRun::refuse);
  const fs::path file = tiny.folder.path / "runs" / "run" / "config.yaml";
  const std::vector<Override> flags{{"runs", (tiny.folder.path / "runs").string()},
                                    {"decoding.batch_tokens", "64"}};
  CHECK(resumed_settings(file, flags).decoding.batch_tokens == 64);
  std::vector<Override> other = flags;
  other.push_back({"decoding.beam", "2"});
  if (figure == "bleu") {
    CHECK_THROWS_WITH(resumed_settings(file, other),
                      Catch::Contains("--decoding.beam: is 1 in the stored run, got 2"));
  } else {
    CHECK(resumed_settings(file, other).decoding.beam == 2);
  }
}

TEST_CASE("a blank source stays blank in a validation, as in a translation") {
  const TinyTranslation tiny;
  const fs::path pairs = tiny.folder.path / "blank";
  PreparePairsOptions options;
  options.corpus.languages = {.source = "en", .target = "de"};
  options.corpus.train = {
      {.source = tiny.folder.path / "train.en", .target = tiny.folder.path / "train.de"}};
  std::ofstream(tiny.folder.path / "blank.en") << "abc\n\ndcb\n";
  std::ofstream(tiny.folder.path / "blank.de") << "cba\nabc\nbcd\n";
  options.corpus.validation = HeldOutPairs{
      .pairs = {.source = tiny.folder.path / "blank.en", .target = tiny.folder.path / "blank.de"}};
  options.output = pairs;
  prepare_pairs(options, *make_byte_tokenizer(), *make_byte_tokenizer());
  train_run(tiny.settings("run", {{"data.directory", pairs.string()}, {"training.steps", "20"}}),
            ExistingRun::refuse);
  const TrainedTranslator trained = open_run_of<Translator>(tiny.folder.path / "runs" / "run", {});
  const ParallelDataset dataset(pairs);
  REQUIRE(dataset.sentences(Split::validation) == 3);
  const TranslationEvaluation found = evaluate_translator(
      *trained.model, trained.settings, dataset, Split::validation, *make_single_process());
  CHECK(found.hypotheses.at(1).empty());
  CHECK_FALSE(found.hypotheses.at(0).empty());
}

TEST_CASE("a run that has come further is not shortened") {
  const TinyTranslation tiny;
  const std::vector<Override> keys = {{"training.steps", "4"}, {"decoding.sentences", "2"}};
  train_run(tiny.settings("run", keys), ExistingRun::refuse);
  const fs::path config = tiny.folder.path / "runs" / "run" / "config.yaml";
  const std::string before = read_file(config);
  CHECK_THROWS_WITH(
      train_run(tiny.settings("run", {{"training.steps", "2"}, {"decoding.sentences", "2"}}),
                ExistingRun::resume),
      Catch::Contains("got 2, but the run has reached 4 (step 4)"));
  CHECK(read_file(config) == before);
  CHECK(train_run(tiny.settings("run", keys), ExistingRun::resume).consumed.steps == 4);
}

TEST_CASE("a training stops early by whichever figure ranks it") {
  const TinyTranslation tiny;
  const std::string figure = GENERATE("bleu", "chrf", "loss", "smoothed_loss", "accuracy");
  const auto summary = train_run(tiny.settings("run", {{"training.steps", "40"},
                                                       {"training.schedule", "constant"},
                                                       {"training.learning_rate", "1e-12"},
                                                       {"training.validate_every", "1"},
                                                       {"training.patience", "2"},
                                                       {"translation.label_smoothing", "0.1"},
                                                       {"translation.ranked_by", figure},
                                                       {"decoding.sentences", "4"}}),
                                 ExistingRun::refuse);
  // Nothing is learned: the first validation stays the best, but for the last digits of the losses.
  CHECK(summary.reason == StopReason::patience);
  CHECK(summary.consumed.steps < 40);
  for (const ValidationRecord& record : summary.validations) {
    CHECK(record.ranking.figure == figure);
    CHECK(record.ranking.higher_is_better == (figure.find("loss") == std::string::npos));
    CHECK_FALSE(is_better(record, *summary.best()));
  }
}

TEST_CASE(
    "a validation's sentence that a table of positions does not reach is told before training") {
  const TinyTranslation tiny;
  const auto keys = [](const std::string& length) {
    return std::vector<Override>{{"position", "learned"},
                                 {"position.learned.length", length},
                                 {"data.length", length},
                                 {"training.steps", "1"},
                                 {"decoding.sentences", "1"}};
  };
  CHECK_THROWS_WITH(train_run(tiny.settings("short", keys("5")), ExistingRun::refuse),
                    Catch::Contains("tokens in its validation set, and the table of positions ends "
                                    "at 5"));
  const ParallelDataset dataset(tiny.data());
  const auto& validation = dataset.description()[Split::validation];
  const auto longest = std::max(validation[Side::source].longest, validation[Side::target].longest);
  train_run(tiny.settings("long", keys(std::to_string(longest))), ExistingRun::refuse);
  CHECK_THROWS_AS(
      train_run(tiny.settings("one-less", keys(std::to_string(longest - 1))), ExistingRun::refuse),
      Error);
}

TEST_CASE("the average of checkpoints is the mean of their weights") {
  const TinyTranslation tiny;
  train_run(tiny.settings("run", {{"training.steps", "3"},
                                  {"training.save_every", "1"},
                                  {"training.keep_last", "3"},
                                  {"decoding.sentences", "2"}}),
            ExistingRun::refuse);
  const fs::path run = tiny.folder.path / "runs" / "run";
  const auto used = average_run({.run = run, .count = 2, .output = run.string() + "-average/"});
  REQUIRE(used.size() == 2);
  CHECK(read_run_settings(run.string() + "-average").run == "run-average");
  const fs::path average = find_checkpoint(run.string() + "-average");
  const Safetensors mean(average / "model.safetensors");
  const Safetensors first(used[0] / "model.safetensors"), second(used[1] / "model.safetensors");
  for (const std::string& name : mean.names()) {
    const at::Tensor wanted =
        (first.tensor(name).to(at::kDouble) + second.tensor(name).to(at::kDouble)) / 2;
    CHECK(at::allclose(mean.tensor(name).to(at::kDouble), wanted, 0, 1e-7));
  }
  CHECK(open_translator(run.string() + "-average").translate({"ab"}, {}).size() == 1);
  CHECK_THROWS_AS(average_run({.run = run, .count = 4, .output = run.string() + "-too-many"}),
                  Error);
  CHECK_THROWS_WITH(
      average_run({.run = run, .count = 2, .output = run, .existing = ExistingRun::overwrite}),
      Catch::Contains("is the run itself"));
  std::string bytes = read_file(used[1] / "model.safetensors");
  bytes.back() ^= 1;
  write_file_atomically(used[1] / "model.safetensors", bytes);
  CHECK_THROWS_WITH(average_run({.run = run, .count = 2, .output = run.string() + "-damaged"}),
                    Catch::Contains("is damaged"));
  CHECK_FALSE(fs::exists(run.string() + "-damaged"));
  CHECK_THROWS_WITH(
      train_run(tiny.settings("run-average", {{"training.steps", "9"}}), ExistingRun::resume),
      Catch::Contains("is an average of checkpoints"));
}

TEST_CASE("every scheme that serves an encoder trains a translator and decodes with it") {
  const TinyTranslation tiny(60);
  for (const PositionFacts& facts : position_facts()) {
    if (facts.causal_only) continue;
    const std::string name(facts.name);
    CAPTURE(name);
    const auto summary = train_run(
        tiny.settings(name,
                      {{"training.steps", "2"}, {"decoding.sentences", "3"}, {"position", name}}),
        ExistingRun::refuse);
    CHECK(std::isfinite(summary.validations.back().figures.at("loss")));
  }
  train_run(tiny.settings("two", {{"training.steps", "2"},
                                  {"decoding.sentences", "3"},
                                  {"position.decoder", "t5"},
                                  {"position.cross", "rope"}}),
            ExistingRun::refuse);
}

TEST_CASE("every configuration of a translator trains for two steps on a small model") {
  const TinyTranslation tiny(60);
  int number = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(CONFIGS) / "translation")) {
    CAPTURE(entry.path().string());
    const Settings settings =
        load_settings(entry.path(), {{"model.layers", "1"},
                                     {"model.width", "16"},
                                     {"model.heads", "2"},
                                     {"model.feed_forward", "16"},
                                     {"translation.decoder_layers", "1"},
                                     {"data.directory", tiny.data().string()},
                                     {"data.length", "16"},
                                     {"decoding.sentences", "2"},
                                     {"training.steps", "2"},
                                     {"training.batch_tokens", "100"},
                                     {"training.accumulation", "1"},
                                     {"training.warmup", "0"},
                                     {"runs", tiny.folder.path.string()},
                                     {"run", "run" + std::to_string(number++)}});
    CHECK(train_run(settings, ExistingRun::refuse).consumed.steps == 2);
  }
  CHECK(number == 5);
}

TEST_CASE("a folder that holds no run does not translate") {
  const TinyTranslation tiny(20);
  CHECK_THROWS_AS(open_run_of<Translator>(tiny.data()), Error);
}
