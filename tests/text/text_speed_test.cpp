// No text is slower than its neighbours: the CPU time of hard texts beside that of ordinary text of
// the same size, for every kind of tokenizer.
#include <algorithm>
#include <ctime>
#include <functional>
#include <map>
#include <memory>

#include "catch.h"
#include "hard_texts.h"
#include "text/plain_tokenizers.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/sentencepiece_training.h"
#include "text/subword_tokenizer.h"
#include "text/trained_vocabularies.h"
#include "text/word_tokenizer.h"

namespace roformer {
namespace {

constexpr std::size_t kTimedBytes = 200'000;

std::unique_ptr<Tokenizer> timed_sentencepiece(SentencePieceAlgorithm algorithm) {
  return make_sentencepiece_tokenizer(
      train_sentencepiece(made_sentences(400),
                          {.algorithm = algorithm, .pieces = 130, .character_coverage = 0.99}),
      "trained");
}

template <class Trainer, class... Arguments>
std::unique_ptr<Tokenizer> timed_vocabulary(Arguments... arguments) {
  Trainer trainer(arguments...);
  for (const std::string& sentence : made_sentences(400)) trainer.add(sentence);
  return trainer.train({.pieces = 500});
}

std::unique_ptr<Tokenizer> timed_subwords() {
  std::string codes = "#version: 0.2\n", vocabulary;
  for (char a = 'a'; a <= 'z'; ++a) {
    for (char b = 'a'; b <= 'z'; ++b) {
      codes += {a, ' ', b, '\n'};
      vocabulary += {a, b, '@', '@', ' ', '1', '\n', a, b, ' ', '1', '\n'};
    }
    vocabulary += {a, '@', '@', ' ', '1', '\n', a, ' ', '1', '\n'};
  }
  return make_subword_tokenizer(subword_model({.codes = codes,
                                               .codes_location = "codes",
                                               .vocabulary = vocabulary,
                                               .vocabulary_location = "vocabulary"}),
                                "subwords");
}

std::unique_ptr<Tokenizer> timed_words() {
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", dictionary;
  for (char32_t c = 0x4E00; c < 0x4E28; ++c) {
    std::string character;
    append_utf8(character, c);
    vocabulary += character + "\n" + character + character + "\n";
    dictionary += character + character + " 5\n" + character + " 3\n";
  }
  return make_word_tokenizer(word_model({.vocabulary = vocabulary,
                                         .vocabulary_location = "vocabulary",
                                         .dictionary = dictionary,
                                         .dictionary_location = "dictionary"}),
                             "words");
}

// The least CPU time of three tries, in milliseconds.
double time_of(const Tokenizer& tokenizer, const std::string& text) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t begin = std::clock();
    tokenizer.encode(text);
    best = std::min(best, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

}  // namespace

TEST_CASE("No text is much slower than ordinary text of its size") {
  // Its words are new ones: those that a text repeats have pieces that are remembered.
  Random random(4);
  std::string ordinary;
  while (ordinary.size() < kTimedBytes) ordinary += made_word(random) + made_word(random) + " ";
  constexpr double kMostRatio = 5;  // 3 on an idle machine
  const std::map<std::string, std::function<std::unique_ptr<Tokenizer>()>> kinds = {
      {"unigram", [] { return timed_sentencepiece(SentencePieceAlgorithm::unigram); }},
      {"bpe", [] { return timed_sentencepiece(SentencePieceAlgorithm::bpe); }},
      {"wordpiece", [] { return timed_vocabulary<WordPieceTrainer>(false); }},
      {"byte level", [] { return timed_vocabulary<ByteLevelTrainer>(); }},
      {"subwords", timed_subwords},
      {"words", timed_words},
      {"bytes", make_byte_tokenizer}};
  for (const auto& [kind, make] : kinds) {
    const std::unique_ptr<Tokenizer> tokenizer = make();
    const double usual = time_of(*tokenizer, ordinary);
    for (const HardText& hard : hard_texts(kTimedBytes)) {
      const double time = time_of(*tokenizer, hard.text);
      INFO(kind << ", " << hard.name << ": " << time << " ms, ordinary text " << usual << " ms");
      CHECK(time <= kMostRatio * usual + 10);
    }
  }
}

}  // namespace roformer
