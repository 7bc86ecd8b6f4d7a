// SentencePiece against Google's own processor on models that are trained here.
#include "text/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "catch.h"
#include "text/sentencepiece_training.h"

namespace roformer {
namespace {

// Sentences of made-up words, so that there is something to learn.
std::vector<std::string> sentences() {
  const std::vector<std::string> syllables = {"ka", "to", "mi", "ren", "sol", "va", "qu", "el"};
  Random random(3);
  std::vector<std::string> words;
  for (int i = 0; i < 120; ++i) {
    std::string word;
    for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
      word += syllables[random.below(syllables.size())];
    }
    words.push_back(word);
  }
  std::vector<std::string> result;
  for (int i = 0; i < 400; ++i) {
    std::string sentence;
    for (int j = 0; j < 8; ++j) sentence += (j ? " " : "") + words[random.below(words.size())];
    result.push_back(sentence + (i % 3 ? "." : "!") + (i % 50 == 0 ? " M[A]S <K> x" : ""));
  }
  return result;
}

std::string train(SentencePieceAlgorithm algorithm) {
  return train_sentencepiece(sentences(),
                             {.algorithm = algorithm, .pieces = 100, .character_coverage = 1.0});
}

template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const std::vector<std::string> kTexts = {"",
                                         " ",
                                         "kato mi",
                                         "  ren   sol ",
                                         "kato\tmiren\nva",
                                         "unseen \xE6\x97\xA5 words \xE6\x97\xA5",
                                         "a\xC2\xA0 b \xE2\x80\x8B c",
                                         "\xE2\x96\x81ka \xE2\x96\x81 mi\xE2\x96\x81",
                                         "[MASK] [CLS] <x>",
                                         "\xEF\xBC\xA1\xEF\xBC\xA2 e\xCC\x81 \xCC\x81 x",
                                         "ka \xCC\x81to \xC2\xA8 \xE3\x80\x80 va"};

}  // namespace

TEST_CASE("SentencePiece yields the library's ids, with and without the cache") {
  for (const auto algorithm : {SentencePieceAlgorithm::unigram, SentencePieceAlgorithm::bpe}) {
    const std::string model = train(algorithm);
    sentencepiece::SentencePieceProcessor library;
    REQUIRE(library.LoadFromSerializedProto(model).ok());
    const auto tokenizer = make_sentencepiece_tokenizer(model, "trained");
    std::vector<std::string> texts = kTexts;
    for (const std::string& sentence : sentences()) texts.push_back(sentence);
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (const std::string& text : texts) {
        INFO(text);
        CHECK(tokenizer->encode(text) == library.EncodeAsIds(text));
      }
    }
    CHECK(tokenizer->decode(tokenizer->encode("kato miren va")) == "kato miren va");
  }
}

TEST_CASE("A trained model has the special tokens, and text never yields them") {
  const auto tokenizer =
      make_sentencepiece_tokenizer(train(SentencePieceAlgorithm::unigram), "trained");
  CHECK(tokenizer->vocabulary_size() == 100);
  const SpecialTokens& special = tokenizer->special();
  CHECK(special.padding == 0);
  CHECK(special.unknown == 1);
  CHECK(special.classification == 2);
  CHECK(special.separator == 3);
  CHECK(special.mask == 4);
  for (TokenId id = 0; id < 5; ++id) {
    const std::string text = tokenizer->piece(id);
    for (const TokenId found : tokenizer->encode("ka " + text + text + " mi")) {
      CHECK((!tokenizer->is_special(found) || found == special.unknown));
    }
  }
  CHECK(tokenizer->decode(tokenizer->encode("ka [MASK] mi")) == "ka [MASK] mi");
  std::vector<TokenId> ids = tokenizer->encode("kato");
  CHECK(tokenizer->begins_word(ids.front()));
  ids.push_back(special.mask);
  CHECK(tokenizer->decode(ids) == "kato");
  CHECK(tokenizer->decode(ids, true) == "kato [MASK]");
}

TEST_CASE("A prompt names the special tokens of a SentencePiece model") {
  const std::string model = train(SentencePieceAlgorithm::bpe);
  const auto tokenizer = make_sentencepiece_tokenizer(model, "trained");
  const SpecialTokens& special = tokenizer->special();
  std::vector<TokenId> wanted = {special.classification}, ids;
  tokenizer->encode("kato mi", wanted);
  wanted.push_back(special.mask);
  wanted.push_back(special.separator);
  tokenizer->encode_prompt("[CLS]kato mi[MASK][SEP]", ids);
  CHECK(ids == wanted);
  // One that keeps spaces, as Llama's, puts none after a special token.
  const std::string keeps = model + std::string("\x1a\x02\x20\x00", 4);
  const auto llama = make_sentencepiece_tokenizer(keeps, "keeps spaces");
  const auto pieces = [&](const std::string& text) {
    ids.clear();
    llama->encode_prompt(text, ids);
    std::string joined;
    for (const TokenId id : ids) joined += llama->piece(id);
    return joined;
  };
  CHECK(pieces("ka") == "\u2581ka");
  CHECK(pieces("[CLS]ka mi") == "[CLS]ka\u2581mi");
  CHECK(pieces("[CLS] ka[SEP]") == "[CLS]\u2581ka[SEP]");
  CHECK(pieces("ka[SEP]ka") == "\u2581ka[SEP]ka");
}

TEST_CASE("Training is deterministic, and says what is wrong") {
  CHECK(train(SentencePieceAlgorithm::unigram) == train(SentencePieceAlgorithm::unigram));
  CHECK(train(SentencePieceAlgorithm::bpe) == train(SentencePieceAlgorithm::bpe));
  CHECK(message_of([] {
          train_sentencepiece({"hello"}, {.pieces = 4000});
        }).find("the text yields at most") != std::string::npos);
  CHECK(message_of([] {
          train_sentencepiece({"hello world"}, {.pieces = 7});
        }).find("7 pieces are too few") != std::string::npos);
  CHECK_THROWS_AS(train_sentencepiece({}, {}), Error);
}

TEST_CASE("Several threads encode at the same time") {
  const auto tokenizer =
      make_sentencepiece_tokenizer(train(SentencePieceAlgorithm::unigram), "trained");
  const std::vector<std::string> texts = sentences();
  std::vector<TokenId> wanted;
  for (const std::string& text : texts) tokenizer->encode(text, wanted);
  std::vector<std::vector<TokenId>> found(4);
  {
    std::vector<std::jthread> threads;
    for (auto& ids : found) {
      threads.emplace_back([&] {
        for (const std::string& text : texts) tokenizer->encode(text, ids);
      });
    }
  }
  for (const auto& ids : found) CHECK(ids == wanted);
}

TEST_CASE("Damaged models are refused") {
  const std::string model = train(SentencePieceAlgorithm::unigram);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, model.size() / 2}) {
    CHECK_THROWS_AS(make_sentencepiece_tokenizer(model.substr(0, size), "cut"), Error);
  }
  CHECK_THROWS_AS(make_sentencepiece_tokenizer("no model at all", "text"), Error);
}

TEST_CASE("A sample is bounded, even and repeatable") {
  SentenceSample sample(100, 5), again(100, 5), all(0, 5);
  for (int i = 0; i < 10'000; ++i) {
    for (SentenceSample* each : {&sample, &again, &all}) each->add(std::to_string(i));
  }
  CHECK(sample.sentences().size() == 100);
  CHECK(sample.sentences() == again.sentences());
  CHECK(all.sentences().size() == 10'000);
  double sum = 0;
  for (const std::string& text : sample.sentences()) sum += std::stod(text);
  CHECK(sum / 100 == Approx(5000).margin(1000));  // 3.5 standard deviations of the mean

  SentenceSample cut(0, 1);
  cut.add(std::string(5000, 'a') + " \xC3\xA9");
  cut.add("  ");
  REQUIRE(cut.sentences().size() == 2);
  CHECK(cut.sentences()[0].size() == SentenceSample::kLongestSentence);
}

}  // namespace roformer
