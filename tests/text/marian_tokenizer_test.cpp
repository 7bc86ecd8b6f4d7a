// A SentencePiece model with the numbers of a vocabulary beside it, and what is refused as such.
#include "text/marian_tokenizer.h"

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"
#include "text/sentencepiece_training.h"

using namespace roformer;
using Catch::Contains;
using Ids = std::vector<TokenId>;

namespace {

const std::string& sentencepiece() {
  static const std::string model =
      train_sentencepiece(std::vector<std::string>(20, "abc abc ab c cab"),
                          {.algorithm = SentencePieceAlgorithm::bpe, .pieces = 14});
  return model;
}

// The end, the unknown token, pieces in an order of their own, the padding at last.
MarianVocabulary vocabulary() {
  return {.pieces = {"</s>", "<unk>", "c", "b", "a", "\u2581", "\u2581a", "\u2581c", ">>de<<", "z",
                     "<pad>"},
          .special = {.padding = 10, .unknown = 1, .separator = 0}};
}

}  // namespace

TEST_CASE("pieces take the ids of the vocabulary beside the model") {
  const auto words = make_marian_tokenizer(marian_model(vocabulary(), sentencepiece()), "here");
  CHECK(words->kind() == TokenizerKind::marian);
  CHECK(words->vocabulary_size() == 11);
  CHECK(words->decode(words->encode("c a b")) == "c a b");
  CHECK(words->encode(">>de<<a").front() == 8);
  CHECK(words->encode(">>fr<<").front() == 1);
  CHECK(words->encode("q").back() == 1);
  CHECK(words->encode("z").back() == 9);  // unknown to the model, known to the vocabulary
  for (const TokenId id : words->encode("a </s> <pad>")) CHECK((id != 0 && id != 10));
  CHECK(words->encode("").empty());
  CHECK(words->decode(Ids{6, 3, 7, 4, 0}) == "ab ca");
  CHECK(words->decode(Ids{6, 1, 6}) == "a \uFFFD a");
  CHECK(words->decode(Ids{6, 0, 10}, true) == "a </s> <pad>");
  CHECK(words->begins_word(6));
  CHECK(!words->begins_word(4));
  CHECK(sentencepiece_of(*words) == sentencepiece());
}

TEST_CASE("it is saved and opened as every tokenizer") {
  const auto words = make_marian_tokenizer(marian_model(vocabulary(), sentencepiece()), "here");
  const TemporaryFolder folder;
  save_tokenizer(*words, folder.path / "saved");
  const auto again = load_tokenizer(folder.path / "saved");
  CHECK(again->fingerprint() == words->fingerprint());
  CHECK(same_vocabulary(*again, *words));
  MarianVocabulary other = vocabulary();
  other.pieces[9] = "y";
  const auto different = make_marian_tokenizer(marian_model(other, sentencepiece()), "here");
  CHECK(!same_vocabulary(*different, *words));
}

TEST_CASE("a damaged Marian tokenizer is refused") {
  const auto refuse = [](const std::string& contents, const std::string& words) {
    CHECK_THROWS_WITH(make_marian_tokenizer(contents, "here"), Contains(words));
  };
  refuse("", "is not a Marian tokenizer");
  refuse("roformer marian 1\n{", "ends within its vocabulary");
  refuse("roformer marian 1\n[]\n", "lacks its pieces");
  refuse("roformer marian 1\n{\"pieces\":[1]}\n", "no text");
  refuse(marian_model(vocabulary(), "nothing"), "no SentencePiece model");
  MarianVocabulary wrong = vocabulary();
  wrong.special.padding = 11;
  refuse(marian_model(wrong, sentencepiece()), "\"padding\" is 11");
  wrong = vocabulary();
  wrong.pieces[3] = "c";
  refuse(marian_model(wrong, sentencepiece()), "has \"c\" twice");
  wrong = vocabulary();
  wrong.special.unknown = -1;
  refuse(marian_model(wrong, sentencepiece()), "no unknown token");
}
