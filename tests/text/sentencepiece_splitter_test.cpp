// Long texts against Google's own processor: every kind of normalisation, known and unknown
// characters, and sums of scores so long that float32 rounds them.
#include "text/sentencepiece_splitter.h"

#include <sentencepiece_processor.h>

#include "catch.h"
#include "hard_texts.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/sentencepiece_training.h"

namespace roformer {
namespace {

std::string trained_model(SentencePieceAlgorithm algorithm, const std::string& normalization,
                          bool bytes) {
  return train_sentencepiece(made_sentences(400), {.algorithm = algorithm,
                                                   .pieces = bytes ? 386 : 130,
                                                   .character_coverage = 0.99,
                                                   .normalization = normalization,
                                                   .byte_fallback = bytes});
}

// Characters that the rules of normalisation join, drop or make spaces, among words.
std::string odd_text(std::uint64_t seed) {
  static const std::vector<std::string> parts = {"a",
                                                 "e\u0301",
                                                 "\u0301",
                                                 "\uFF21",
                                                 "\uFF76\uFF9E",
                                                 "\u3000",
                                                 "\u00A0",
                                                 "\u200B",
                                                 "\u2581",
                                                 "\u00AD",
                                                 "\uFB01",
                                                 "\U0001F469",
                                                 "\u200D",
                                                 "\u4E00",
                                                 "\u4E11",
                                                 "\u9FA0",
                                                 " ",
                                                 "  ",
                                                 ".",
                                                 "!",
                                                 "\t",
                                                 "\u00BD",
                                                 "\u0130",
                                                 "\u1E9B\u0323",
                                                 "\u00A8",
                                                 "[CLS]"};
  Random random(seed);
  std::string text;
  const bool spaced = random.below(2) == 0;
  for (std::uint64_t left = random.below(400); left > 0; --left) {
    text += random.below(3) == 0 ? parts[random.below(parts.size())] : made_word(random);
    if (spaced && random.below(3) == 0) text += ' ';
  }
  return text;
}

}  // namespace

TEST_CASE("Long texts have the ids of SentencePiece's library") {
  for (const auto algorithm : {SentencePieceAlgorithm::unigram, SentencePieceAlgorithm::bpe}) {
    for (const char* normalization : {"nmt_nfkc", "nfkc_cf", "identity"}) {
      for (const bool bytes : {false, true}) {
        CAPTURE(algorithm == SentencePieceAlgorithm::bpe, normalization, bytes);
        // Keeps and drops further spaces, and puts one before a text or not.
        for (const std::string& spaces : {std::string(), std::string("\x1a\x02\x20\x00", 4),
                                          std::string("\x1a\x02\x18\x00", 4)}) {
          const std::string model = trained_model(algorithm, normalization, bytes) + spaces;
          sentencepiece::SentencePieceProcessor library;
          REQUIRE(library.LoadFromSerializedProto(model).ok());
          const auto splitter = SentencePieceSplitter::of(model);
          REQUIRE(splitter);
          std::vector<std::string> texts{"", " ", "a", "\u2581"};
          for (std::uint64_t seed = 0; seed < 60; ++seed) texts.push_back(odd_text(seed));
          for (HardText& hard : hard_texts(3000)) texts.push_back(std::move(hard.text));
          for (const std::string& text : texts) {
            std::vector<TokenId> ids;
            splitter->split(text, false, ids);
            INFO(text.substr(0, 3000));
            const bool equal = ids == library.EncodeAsIds(text);
            CHECK(equal);
          }
        }
      }
    }
  }
}

TEST_CASE("Sums of scores are rounded as the library rounds them") {
  const std::string model = trained_model(SentencePieceAlgorithm::unigram, "nmt_nfkc", false);
  sentencepiece::SentencePieceProcessor library;
  REQUIRE(library.LoadFromSerializedProto(model).ok());
  const auto tokenizer = make_sentencepiece_tokenizer(model, "trained");
  for (const HardText& hard : hard_texts(400'000)) {
    if (hard.name.find("unknown") != std::string::npos || hard.name == "emojis" ||
        hard.name == "combining marks" || hard.name == "digits") {
      continue;  // minutes in the library
    }
    INFO(hard.name);
    const bool equal = tokenizer->encode(hard.text) == library.EncodeAsIds(hard.text);
    CHECK(equal);
  }
}

}  // namespace roformer
