// Preparing sentence pairs and reading them back.
#include "data/parallel_dataset.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/checksummed_json.h"
#include "base/file.h"
#include "catch.h"
#include "data/parallel_batches.h"
#include "data/prepare_pairs.h"
#include "pair_fixture.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

TextPairs sample_pairs(int count) {
  TextPairs pairs;
  for (int i = 0; i < count; ++i) {
    std::string source = fmt::format("sentence {}", i);
    std::string target = fmt::format("Satz {}", i);
    for (int word = 0; word < i % 5; ++word) source += " on", target += " weiter";
    pairs.emplace_back(source, target);
  }
  return pairs;
}

// A corpus of 300 pairs with a validation and a test set of their own.
PreparePairsOptions sample_options(const fs::path& folder) {
  TextPairs train = sample_pairs(300);
  train.emplace_back("", "leer");
  train.emplace_back("empty", " ");
  train.push_back(train[7]);
  train.emplace_back("same", "same");
  train.emplace_back("bad \xff", "schlecht");
  train.emplace_back("long " + std::string(200, 'x'), "lang");
  return {.corpus = {.languages = {.source = "en", .target = "de"},
                     .train = {write_pairs(folder, "train", train)},
                     .validation = HeldOutPairs{.pairs = write_pairs(
                                                    folder, "valid",
                                                    {{"same", "same"}, {"", "leer"}, {"a", ""}})},
                     .test = HeldOutPairs{.pairs = write_pairs(folder, "test",
                                                               {{"one", "eins"}, {"two", "zwei"}})},
                     .rules = {.longest_pieces = 100,
                               .remove_identical = true,
                               .remove_duplicates = true}},
          .output = folder / "out",
          .threads = 2,
          .shard_tokens = 1000,
          .name = "sample"};
}

TextPairs decoded(const ParallelDataset& dataset, Split split) {
  TextPairs pairs;
  for (std::int64_t i = 0; i < dataset.sentences(split); ++i) {
    pairs.emplace_back(
        dataset.tokenizer(Side::source).decode(dataset.sentence(split, Side::source, i)),
        dataset.tokenizer(Side::target).decode(dataset.sentence(split, Side::target, i)));
  }
  return pairs;
}

}  // namespace

TEST_CASE("two divisions of the same pairs have one text, and are two data sets") {
  const TemporaryFolder folder;
  PreparePairsOptions options = sample_options(folder.path);
  options.corpus.validation.reset();
  options.corpus.validation_fraction = 0.2;
  const auto tokenizer = open_tokenizer({.kind = TokenizerKind::bytes});
  const auto prepared = [&](std::uint64_t seed, const char* output) {
    options.corpus.seed = seed;
    options.output = folder.path / output;
    prepare_pairs(options, *tokenizer, *tokenizer);
    return read_parallel_description(options.output);
  };
  const ParallelDescription one = prepared(1, "one"), again = prepared(1, "again"),
                            two = prepared(2, "two");
  REQUIRE(one.text_fingerprint);
  CHECK(one.text_fingerprint == again.text_fingerprint);
  CHECK(one.text_fingerprint == two.text_fingerprint);
  CHECK(one.fingerprint == again.fingerprint);
  CHECK(one.fingerprint != two.fingerprint);
  // What an older program prepared has no such fingerprint, and is read.
  const fs::path file = folder.path / "one" / "dataset.json";
  nlohmann::json json = read_checksummed_json(file);
  json.erase("text_fingerprint");
  write_checksummed_json(file, json);
  CHECK_FALSE(ParallelDataset(folder.path / "one").description().text_fingerprint);
}

TEST_CASE("A prepared parallel corpus gives back its pairs, and says what the rules removed") {
  const TemporaryFolder folder;
  const auto tokenizer = byte_tokenizer();
  const PreparePairsOptions options = sample_options(folder.path);
  const ParallelDescription made = prepare_pairs(options, *tokenizer, *tokenizer);
  const ParallelDataset dataset(folder.path / "out");
  dataset.verify_checksums();

  TextPairs wanted = sample_pairs(300);
  wanted.emplace_back("bad \xef\xbf\xbd", "schlecht");
  CHECK(decoded(dataset, Split::train) == wanted);
  CHECK(dataset.shards(Split::train) > 3);
  const PairCounts& counts = dataset.description().origins[0].counts;
  CHECK(counts.read == 306);
  CHECK(counts.kept == 301);
  CHECK(counts.invalid == 1);
  CHECK(counts[PairRule::empty] == 2);
  CHECK(counts[PairRule::duplicate] == 1);
  CHECK(counts[PairRule::identical] == 1);
  CHECK(counts[PairRule::too_many_pieces] == 1);

  // Nothing of a validation set is left out, not even an empty line.
  CHECK(decoded(dataset, Split::validation) ==
        TextPairs{{"same", "same"}, {"", "leer"}, {"a", ""}});
  CHECK(dataset.text(Split::validation, Side::target) ==
        std::vector<std::string>{"same", "leer", ""});
  CHECK(dataset.text(Split::test, Side::source) == std::vector<std::string>{"one", "two"});
  CHECK(dataset.length(Split::validation, Side::source, 1) == 1);
  CHECK(dataset.lengths(Split::test, Side::target) == std::vector<std::int32_t>{5, 5});
  CHECK(dataset.sentence(Split::test, Side::source, 0).back() == tokenizer->special().separator);
  CHECK(dataset.description().fingerprint == made.fingerprint);
  CHECK(dataset.description()[Split::test][Side::source].tokens == 8);
  CHECK(dataset.description().rules.longest_pieces == 100);
  CHECK(is_parallel_dataset(folder.path / "out"));
  CHECK_FALSE(is_parallel_dataset(folder.path));
}

TEST_CASE("Threads and the size of shards do not change the pairs") {
  const TemporaryFolder folder;
  const auto tokenizer = byte_tokenizer();
  PreparePairsOptions options = sample_options(folder.path);
  const ParallelDescription first = prepare_pairs(options, *tokenizer, *tokenizer);
  const TextPairs pairs = decoded(ParallelDataset(options.output), Split::train);
  options.threads = 1;
  options.shard_tokens = 1 << 20;
  options.overwrite = true;
  const ParallelDescription second = prepare_pairs(options, *tokenizer, *tokenizer);
  const ParallelDataset dataset(options.output);
  CHECK(second.fingerprint == first.fingerprint);
  CHECK(dataset.shards(Split::train) == 1);
  CHECK(decoded(dataset, Split::train) == pairs);
}

TEST_CASE("Weights repeat the pairs of a source, and fractions split by page") {
  const TemporaryFolder folder;
  const auto tokenizer = byte_tokenizer();
  PreparePairsOptions options = sample_options(folder.path);
  PairSource twice = write_pairs(folder.path, "twice", {{"x", "y"}, {"v", "w"}});
  twice.weight = 2;
  PairSource half = options.corpus.train[0];
  half.weight = 0.25;
  options.corpus.train = {twice, half};
  const ParallelDescription made = prepare_pairs(options, *tokenizer, *tokenizer);
  const TextPairs pairs = decoded(ParallelDataset(options.output), Split::train);
  CHECK(TextPairs(pairs.begin(), pairs.begin() + 4) ==
        TextPairs{{"x", "y"}, {"x", "y"}, {"v", "w"}, {"v", "w"}});
  CHECK(pairs.size() > 50);
  CHECK(pairs.size() < 105);
  CHECK(made.origins[1].counts.kept == 301);

  options.overwrite = true;
  options.corpus.validation.reset();
  options.corpus.test.reset();
  options.corpus.train = {options.corpus.train[0],
                          write_pairs(folder.path, "b", sample_pairs(300))};
  options.corpus.validation_fraction = 0.2;
  options.corpus.test_fraction = 0.1;
  prepare_pairs(options, *tokenizer, *tokenizer);
  const ParallelDataset split(options.output);
  TextPairs all;
  for (const Split which : kSplits) {
    const TextPairs part = decoded(split, which);
    all.insert(all.end(), part.begin(), part.end());
  }
  CHECK(split.sentences(Split::validation) > 40);
  CHECK(split.sentences(Split::validation) < 80);
  CHECK(split.sentences(Split::test) > 15);
  CHECK(split.sentences(Split::test) < 50);
  CHECK(all.size() - 300 <= 4);
}

TEST_CASE("References stand in place of tokenised targets, line by line") {
  const TemporaryFolder folder;
  const auto tokenizer = byte_tokenizer();
  PreparePairsOptions options = sample_options(folder.path);
  options.corpus.test->reference = folder.path / "reference";
  write_text(folder.path / "reference", "Eins!\nZwei!\n");
  prepare_pairs(options, *tokenizer, *tokenizer);
  const ParallelDataset dataset(options.output);
  CHECK(dataset.text(Split::test, Side::target) == std::vector<std::string>{"Eins!", "Zwei!"});
  CHECK(decoded(dataset, Split::test)[0].second == "eins");

  options.overwrite = true;
  write_text(folder.path / "reference", "\nZwei!\n");
  prepare_pairs(options, *tokenizer, *tokenizer);
  CHECK(ParallelDataset(options.output).text(Split::test, Side::target) ==
        std::vector<std::string>{"", "Zwei!"});
  write_text(folder.path / "reference", "Eins!\nZwei!\n");
  prepare_pairs(options, *tokenizer, *tokenizer);

  for (const char* const lines : {"Eins!\n", "Eins!\nZwei!\nDrei!\n"}) {
    write_text(folder.path / "reference", lines);
    CHECK(error_of([&] {
            prepare_pairs(options, *tokenizer, *tokenizer);
          }).find("the references and the pairs do not match") != std::string::npos);
  }
  // What was there is untouched, and nothing is left beside it.
  CHECK(ParallelDataset(options.output).text(Split::test, Side::target)[0] == "Eins!");
  CHECK_FALSE(fs::exists(folder.path / "out.partial"));
}

TEST_CASE("Preparing refuses what would not train") {
  const TemporaryFolder folder;
  const auto tokenizer = byte_tokenizer();
  const auto failure = [&](auto change) {
    PreparePairsOptions options = sample_options(folder.path);
    change(options.corpus);
    return error_of([&] { prepare_pairs(options, *tokenizer, *tokenizer); });
  };
  CHECK(failure([](ParallelCorpus& corpus) { corpus.train.clear(); }).starts_with("train: "));
  CHECK(failure([](ParallelCorpus& corpus) {
          corpus.validation_fraction = 0.1;
        }).starts_with("validation_fraction: cannot be combined"));
  CHECK(failure([](ParallelCorpus& corpus) {
          corpus.test.reset();
          corpus.test_fraction = 1.5;
        }).starts_with("test_fraction: is 1.5"));
  CHECK(failure([](ParallelCorpus& corpus) { corpus.train[0].weight = 0; }).find("has weight 0") !=
        std::string::npos);
  CHECK(failure([](ParallelCorpus& corpus) {
          corpus.rules.shortest_words = 1000;
        }).find("the train set would be empty") != std::string::npos);
  CHECK(failure([](ParallelCorpus& corpus) {
          corpus.languages.target = "xx";
          corpus.rules.script_share = 0.9;
        }).find("language 'xx'") != std::string::npos);
  CHECK_FALSE(fs::exists(folder.path / "out"));
}

TEST_CASE("A vocabulary comes from the training pairs, joint or one a language") {
  const TemporaryFolder folder;
  ParallelCorpus corpus = sample_options(folder.path).corpus;
  PairVocabulary vocabulary;
  vocabulary.training.pieces = 60;
  const PairTokenizers joint = train_pair_vocabulary(corpus, vocabulary);
  CHECK(joint.source == joint.target);
  CHECK(joint.source->vocabulary_size() == 60);
  CHECK(joint.source->encode("sentence").size() < 4);
  CHECK(joint.source->encode("Satz").size() < 4);
  vocabulary.joint = false;
  vocabulary.training.pieces = 40;
  const PairTokenizers separate = train_pair_vocabulary(corpus, vocabulary);
  CHECK(separate.source->fingerprint() != separate.target->fingerprint());
  CHECK(separate.target->encode("Satz").size() < separate.source->encode("Satz").size());

  PreparePairsOptions options = sample_options(folder.path);
  options.corpus.test->pairs = write_pairs(folder.path, "test", {{"sentence 12", "Satz 12"}});
  prepare_pairs(options, *separate.source, *separate.target);
  const ParallelDataset dataset(options.output);
  CHECK(dataset.tokenizer(Side::target).fingerprint() == separate.target->fingerprint());
  CHECK(decoded(dataset, Split::test) == TextPairs{{"sentence 12", "Satz 12"}});
}

TEST_CASE("A folder that was tampered with is refused with the file's name") {
  const TemporaryFolder folder;
  const auto tokenizer = byte_tokenizer();
  const PreparePairsOptions options = sample_options(folder.path);
  prepare_pairs(options, *tokenizer, *tokenizer);
  const auto open = [&] { ParallelDataset(options.output).verify_checksums(); };
  const auto with = [&](const fs::path& file, auto change) {
    const std::string before = read_file(options.output / file);
    write_text(options.output / file, change(before));
    const std::string message = error_of(open);
    write_text(options.output / file, before);
    return message;
  };
  const auto changed = [](std::string text) {
    text[text.size() / 2] ^= 1;
    return text;
  };
  CHECK(error_of(open) == "none");
  CHECK(with("train-source-00001.bin", changed).find("train-source-00001.bin: is damaged") !=
        std::string::npos);
  CHECK(with("test.target.txt", changed).find("test.target.txt: is damaged") != std::string::npos);
  const std::string other = read_file(options.output / "train-target-00000.bin");
  CHECK(with("train-source-00000.bin", [&](const std::string&) {
          return other;
        }).find("does not belong to this data set") != std::string::npos);
  CHECK(with("dataset.json", [](std::string text) {
          return text.replace(text.find("\"sentences\": 301"), 16, "\"sentences\": 300");
        }).find("do not fit their checksum") != std::string::npos);
  const auto unsealed = [](const std::string& text) {
    auto json = nlohmann::ordered_json::parse(text);
    json.erase("checksum");
    return json.dump(2);
  };
  CHECK(with("dataset.json", [&](std::string text) {
          text = unsealed(text);
          return text.replace(text.find("\"sentences\": 301"), 16, "\"sentences\": 300");
        }).find("dataset.json says") != std::string::npos);
  CHECK(with("dataset.json", [&](std::string text) {
          text = unsealed(text);
          return text.replace(text.find("\"removed\""), 9, "\"remover\"");
        }).find("has no field origins[0].counts.removed") != std::string::npos);
  CHECK(with("dataset.json", [](std::string) {
          return std::string("{}");
        }).find("does not describe a prepared parallel corpus") != std::string::npos);
  fs::remove(options.output / "validation-target-00000.bin");
  CHECK(error_of(open).find("validation-target-00000.bin") != std::string::npos);
}

TEST_CASE("A batch of pairs has a source, a target to read and the labels that follow it") {
  const TemporaryFolder folder;
  const auto tokenizer = byte_tokenizer();
  const PreparePairsOptions options = sample_options(folder.path);
  prepare_pairs(options, *tokenizer, *tokenizer);
  const ParallelDataset dataset(options.output);
  const ParallelBatch batch = make_parallel_batch(dataset, Split::test, {1, 0});
  const SentenceTokens tokens = sentence_tokens(*tokenizer);
  CHECK(tokens.begin == 257);
  CHECK(batch.source_ids ==
        std::vector<std::int64_t>{'t', 'w', 'o', tokens.end, 'o', 'n', 'e', tokens.end});
  CHECK(batch.source_starts == std::vector<std::int64_t>{0, 4, 8});
  CHECK(batch.target_ids == std::vector<std::int64_t>{tokens.begin, 'z', 'w', 'e', 'i',
                                                      tokens.begin, 'e', 'i', 'n', 's'});
  CHECK(batch.labels ==
        std::vector<std::int64_t>{'z', 'w', 'e', 'i', tokens.end, 'e', 'i', 'n', 's', tokens.end});
  CHECK(batch.target_starts == std::vector<std::int64_t>{0, 5, 10});

  const ParallelBatches batches(dataset, Split::train,
                                {.tokens = 200, .longest_source = 15, .longest_target = 20});
  CHECK(batches.pairs() + batches.left_out() == 301);
  CHECK(batches.left_out() > 0);
  std::vector<std::int64_t> seen;
  for (std::int64_t n = 0; n < batches.batches_per_epoch(); ++n) {
    const ParallelBatch one = batches[n];
    CHECK(one.source_ids.size() <= 200);
    CHECK(one.labels.size() <= 200);
    CHECK(one.target_ids.size() == one.labels.size());
    CHECK(one.source_starts.back() == std::ssize(one.source_ids));
    for (const std::int64_t sentence : one.sentences) {
      CHECK(dataset.length(Split::train, Side::source, sentence) <= 15);
      CHECK(dataset.length(Split::train, Side::target, sentence) <= 20);
    }
    seen.insert(seen.end(), one.sentences.begin(), one.sentences.end());
  }
  std::ranges::sort(seen);
  CHECK(std::ssize(seen) == batches.pairs());
  CHECK(std::ranges::adjacent_find(seen) == seen.end());
  CHECK(error_of([&] {
          ParallelBatches(dataset, Split::train, {.longest_source = 1});
        }).find("are longer than 1 and 0 tokens") != std::string::npos);
}

TEST_CASE("A sentence begins with what its vocabulary offers, and must have an end") {
  struct Special : Tokenizer {
    SpecialTokens tokens;
    void encode(std::string_view, std::vector<TokenId>&) const override {}
    std::string decode(std::span<const TokenId>, bool) const override { return ""; }
    std::int64_t vocabulary_size() const override { return 4; }
    std::string piece(TokenId) const override { return ""; }
    const SpecialTokens& special() const override { return tokens; }
    bool begins_word(TokenId) const override { return true; }
    TokenizerKind kind() const override { return TokenizerKind::bytes; }
    const std::string& file_contents() const override { return empty; }
    std::string description() const override { return "special"; }
    std::string empty;
  } tokenizer;
  CHECK(error_of([&] { sentence_tokens(tokenizer); }).find("no token that ends a sentence") !=
        std::string::npos);
  tokenizer.tokens.separator = 0;
  CHECK(sentence_tokens(tokenizer).begin == 0);
  tokenizer.tokens.padding = 3;
  CHECK(sentence_tokens(tokenizer).begin == 3);
  tokenizer.tokens.classification = 1;
  CHECK(sentence_tokens(tokenizer).begin == 1);
  CHECK(sentence_tokens(tokenizer).end == 0);
}
