#include "data/batches.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "catch.h"
#include "fixture.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/sentencepiece_training.h"
#include "text/word_tokenizer.h"

using namespace roformer;

namespace {

struct Masked {
  std::vector<TokenId> ids;
  std::vector<std::int32_t> positions;
  std::vector<TokenId> labels;
};

Masked mask(const Masker& masker, std::vector<TokenId> ids, std::uint64_t key) {
  Masked result{.ids = std::move(ids), .positions = {}, .labels = {}};
  masker.mask(result.ids, key, result.positions, result.labels);
  return result;
}

// Within five standard deviations of a binomial distribution.
bool is_about(std::int64_t count, std::int64_t trials, double probability) {
  const double mean = static_cast<double>(trials) * probability;
  return std::abs(static_cast<double>(count) - mean) <
         5 * std::sqrt(mean * (1 - probability)) + 1e-9;
}

}  // namespace

TEST_CASE("Masks have BERT's shares and spare special tokens") {
  const auto tokenizer = byte_tokenizer();
  const SpecialTokens& special = tokenizer->special();
  const Masker masker(*tokenizer, {});
  std::int64_t text = 0, chosen = 0, masked = 0, random = 0, kept = 0;
  for (std::uint64_t key = 0; key < 500; ++key) {
    std::vector<TokenId> ids(400, 'x');
    ids[0] = special.classification;
    ids[200] = ids[399] = special.separator;
    const Masked result = mask(masker, ids, key);
    text += 397;
    chosen += static_cast<std::int64_t>(result.positions.size());
    REQUIRE(result.positions.size() == result.labels.size());
    std::vector<TokenId> restored = result.ids;
    for (std::size_t i = 0; i < result.positions.size(); ++i) {
      REQUIRE((i == 0 || result.positions[i] > result.positions[i - 1]));
      const auto position = static_cast<std::size_t>(result.positions[i]);
      const TokenId now = result.ids[position];
      masked += now == special.mask;
      kept += now == 'x';
      random += now != special.mask && now != 'x';
      REQUIRE((now == special.mask || !tokenizer->is_special(now)));
      restored[position] = result.labels[i];
    }
    REQUIRE(restored == ids);
  }
  CHECK(is_about(chosen, text, 0.15));
  CHECK(is_about(masked, chosen, 0.8));
  CHECK(is_about(random, chosen, 0.1 * 255 / 256));  // one in 256 draws the token itself
  CHECK(is_about(kept, chosen, 0.1 + 0.1 / 256));
}

TEST_CASE("Random tokens are drawn evenly from all that are not special") {
  const auto tokenizer = byte_tokenizer();
  const Masker masker(*tokenizer, {.probability = 1, .mask = 0, .random = 1, .whole_words = false});
  std::map<TokenId, std::int64_t> counts;
  for (std::uint64_t key = 0; key < 256; ++key) {
    for (const TokenId id : mask(masker, std::vector<TokenId>(1000, 'x'), key).ids) ++counts[id];
  }
  CHECK(counts.size() == 256);
  for (const auto& [id, count] : counts) CHECK(is_about(count, 256'000, 1.0 / 256));
}

TEST_CASE("A mask is a function of its key") {
  const auto tokenizer = byte_tokenizer();
  const Masker masker(*tokenizer, {});
  const std::vector<TokenId> ids(300, 'x');
  CHECK(mask(masker, ids, 7).ids == mask(masker, ids, 7).ids);
  CHECK(mask(masker, ids, 7).ids != mask(masker, ids, 8).ids);
}

TEST_CASE("Whole words are masked together, at the same share") {
  const auto tokenizer = byte_tokenizer();  // a space begins a word
  const Masker masker(*tokenizer,
                      {.probability = 0.15, .mask = 1, .random = 0, .whole_words = true});
  std::vector<TokenId> ids;
  for (int word = 0; word < 100; ++word) {
    for (const char c : std::string(" abc")) ids.push_back(c);
  }
  std::int64_t chosen = 0;
  for (std::uint64_t key = 0; key < 300; ++key) {
    const Masked result = mask(masker, ids, key);
    REQUIRE(result.positions.size() % 4 == 0);
    for (std::size_t i = 0; i < result.positions.size(); i += 4) {
      REQUIRE(result.positions[i] % 4 == 0);
      REQUIRE(result.positions[i + 3] == result.positions[i] + 3);
    }
    chosen += static_cast<std::int64_t>(result.positions.size()) / 4;
  }
  CHECK(is_about(chosen, 300 * 100, 0.15));
}

TEST_CASE("The rest of a word after a special token is a separate word") {
  const auto tokenizer = byte_tokenizer();
  const Masker masker(*tokenizer,
                      {.probability = 0.15, .mask = 1, .random = 0, .whole_words = true});
  // No piece begins a word, as at the beginning of a row that cuts one.
  std::vector<TokenId> ids;
  for (int i = 0; i < 100; ++i) {
    ids.insert(ids.end(), {tokenizer->special().separator, TokenId{'a'}, TokenId{'b'}});
  }
  std::int64_t chosen = 0;
  for (std::uint64_t key = 0; key < 300; ++key) {
    const Masked result = mask(masker, ids, key);
    REQUIRE(result.positions.size() % 2 == 0);
    for (std::size_t i = 0; i < result.positions.size(); i += 2) {
      REQUIRE(result.positions[i] % 3 == 1);
      REQUIRE(result.positions[i + 1] == result.positions[i] + 1);
    }
    chosen += static_cast<std::int64_t>(result.positions.size()) / 2;
  }
  CHECK(is_about(chosen, 300 * 100, 0.15));
}

TEST_CASE("A Chinese word is masked whole where it is several pieces, at the same share") {
  const auto tokenizer = make_word_tokenizer(
      word_model({.vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n清\n华\n大\n学\n北京\n",
                  .vocabulary_location = "vocab.txt",
                  .dictionary = "清华 5\n大学 5\n北京 9\n",
                  .dictionary_location = "dict.txt"}),
      "test");
  std::string text;
  for (int i = 0; i < 50; ++i) text += "清华大学北京";
  const std::vector<TokenId> ids = tokenizer->encode(text);
  REQUIRE(ids.size() == 50 * 5);
  const Masker masker(*tokenizer,
                      {.probability = 0.15, .mask = 0.8, .random = 0.1, .whole_words = true});
  std::int64_t words = 0, chosen = 0;
  for (std::uint64_t key = 0; key < 300; ++key) {
    const Masked result = mask(masker, ids, key);
    CHECK(mask(masker, ids, key).ids == result.ids);
    std::vector<char> taken(ids.size(), 0);
    for (const std::int32_t position : result.positions)
      taken[static_cast<std::size_t>(position)] = 1;
    for (std::size_t i = 0; i < ids.size(); i += 5) {
      REQUIRE(taken[i] == taken[i + 1]);
      REQUIRE(taken[i + 2] == taken[i + 3]);
      chosen += taken[i] + taken[i + 2] + taken[i + 4];
      words += 3;
    }
  }
  CHECK(is_about(chosen, words, 0.15));
}

TEST_CASE("A run that is longer than any word is masked piece by piece, and shorter ones whole") {
  const auto tokenizer = byte_tokenizer();  // a space begins a word
  const Masker masker(*tokenizer,
                      {.probability = 0.15, .mask = 1, .random = 0, .whole_words = true});
  const auto chosen_in = [&](const std::vector<TokenId>& ids, std::uint64_t key) {
    return mask(masker, ids, key).positions.size();
  };
  std::int64_t chosen = 0;
  for (std::uint64_t key = 0; key < 300; ++key) {
    const std::vector<TokenId> run(64, 'A');
    const auto here = static_cast<std::int64_t>(chosen_in(run, key));
    CHECK(here < 32);
    chosen += here;
    CHECK(chosen_in(std::vector<TokenId>(32, 'A'), key) % 32 == 0);
    // What stands beside a long run is masked as ever.
    std::vector<TokenId> row(33, 'A');
    for (const char c : std::string(" abc")) row.push_back(c);
    const Masked result = mask(masker, row, key);
    const auto behind = std::ranges::count_if(result.positions, [](auto at) { return at > 32; });
    CHECK((behind == 0 || behind == 4));
  }
  CHECK(is_about(chosen, 300 * 64, 0.15));
}

TEST_CASE("Where a script has no spaces, pieces are the words") {
  const std::string text = "\u6211\u4eec\u5728\u5317\u4eac\u5927\u5b66\u8bfb\u4e66";
  std::vector<std::string> sentences;
  std::string whole;
  for (std::size_t i = 0; i < 50; ++i) {
    sentences.emplace_back();
    for (std::size_t j = 0; j < 12; ++j)
      sentences.back() += text.substr((i * j + j * j) % 9 * 3, 3);
    whole += sentences.back();
  }
  const auto tokenizer = make_sentencepiece_tokenizer(
      train_sentencepiece(sentences, {.pieces = 20, .character_coverage = 1.0}), "trained");
  std::vector<TokenId> ids = tokenizer->encode(whole);
  REQUIRE(ids.size() > 32);
  ids.resize(32);  // no longer than a word may be
  std::vector<char> begins;
  tokenizer->find_words(ids, begins);
  CHECK(std::ranges::count(begins, 1) >= 31);
  const Masker masker(*tokenizer,
                      {.probability = 0.15, .mask = 1, .random = 0, .whole_words = true});
  std::int64_t chosen = 0;
  for (std::uint64_t key = 0; key < 300; ++key) {
    chosen += static_cast<std::int64_t>(mask(masker, ids, key).positions.size());
  }
  CHECK(is_about(chosen, 300 * 32, 0.15));
}
