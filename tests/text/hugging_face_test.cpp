// The files that are written for Hugging Face's tokenizers, and the vocabularies that are trained
// as theirs; the fixture is made by make_hugging_face_fixtures.py.
#include "text/hugging_face_json.h"

#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"
#include "text/byte_level_tokenizer.h"
#include "text/byte_pair_training.h"
#include "text/plain_tokenizers.h"
#include "text/sentencepiece_file.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/sentencepiece_training.h"
#include "text/trained_vocabularies.h"
#include "text/utf8.h"
#include "text/wordpiece_tokenizer.h"

namespace roformer {
namespace {

using nlohmann::json;

const json& hugging_face_fixture() {
  static const json fixture =
      json::parse(read_file(std::filesystem::path(FIXTURES) / "hugging_face_cases.json"));
  return fixture;
}

// The fields of a protobuf message.
class Message {
 public:
  Message& number(std::uint64_t field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  Message& single(std::uint64_t field, float value) {
    varint(field << 3 | 5);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int i = 0; i < 4; ++i) bytes_ += static_cast<char>(bits >> (8 * i) & 0xff);
    return *this;
  }
  Message& text(std::uint64_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;

  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(0x80 | (value & 0x7f));
    bytes_ += static_cast<char>(value);
  }
};

// The rules of normalisation of the installed library, "" for `identity`.
const std::string& rules_of(const std::string& normalization) {
  static std::map<std::string, std::string> known;
  const auto [found, is_new] = known.emplace(normalization, "");
  if (is_new) {
    const std::string model =
        train_sentencepiece({"a b c d e f g"}, {.pieces = 13, .normalization = normalization});
    found->second = parse_sentencepiece_file(model).rules;
  }
  return found->second;
}

std::unique_ptr<Tokenizer> sentencepiece_case(const json& entry) {
  Message model;
  for (const json& piece : entry["pieces"]) {
    model.text(1, Message()
                      .text(1, piece[0].get<std::string>())
                      .single(2, piece[1].get<float>())
                      .number(3, piece[2].get<std::uint64_t>())
                      .bytes());
  }
  model.text(2, Message()
                    .number(3, entry["model"].get<std::uint64_t>())
                    .number(35, entry["byte_fallback"].get<bool>())
                    .number(40, 1)
                    .number(41, 2)
                    .number(42, 3)
                    .number(43, 0)
                    .text(45, "[UNK]")
                    .text(46, "[CLS]")
                    .text(47, "[SEP]")
                    .text(48, "[PAD]")
                    .bytes());
  const auto normalization = entry["normalization"].get<std::string>();
  model.text(3, Message()
                    .text(1, normalization)
                    .text(2, rules_of(normalization))
                    .number(3, entry["adds_prefix"].get<bool>())
                    .number(4, entry["removes_extra_spaces"].get<bool>())
                    .bytes());
  return make_sentencepiece_tokenizer(model.bytes(), "fixture");
}

std::unique_ptr<Tokenizer> tokenizer_case(const std::string& name, const json& entry) {
  if (entry.contains("pieces")) return sentencepiece_case(entry);
  if (name == "bytes") return make_byte_tokenizer();
  const auto contents = entry["contents"].get<std::string>();
  if (name == "characters") return make_character_tokenizer(contents, "fixture");
  if (name == "byte_level") return make_byte_level_tokenizer(contents, "fixture");
  return make_wordpiece_tokenizer(
      {.contents = contents, .cased = entry["cased"].get<bool>(), .location = "fixture"});
}

json written_document(const Tokenizer& tokenizer, const TextFrame& frame) {
  return json::parse(hugging_face_json(tokenizer, frame).contents);
}

std::vector<std::string> texts_of(const json& list) {
  return list.get<std::vector<std::string>>();
}

}  // namespace

TEST_CASE("tokenizers makes of the written tokenizer.json the same ids") {
  const std::vector<std::string> texts = texts_of(hugging_face_fixture()["texts"]);
  for (const auto& [name, entry] : hugging_face_fixture()["cases"].items()) {
    CAPTURE(name);
    const auto tokenizer = tokenizer_case(name, entry);
    const auto left_out = entry["left_out"].get<std::set<std::size_t>>();
    std::size_t next = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (left_out.contains(i)) continue;
      CAPTURE(texts[i]);
      std::vector<TokenId> ids;
      tokenizer->encode_prompt(texts[i], ids);
      CHECK(ids == entry["ids"][next++].get<std::vector<TokenId>>());
    }
    CHECK(next == entry["ids"].size());
  }
}

TEST_CASE("the written tokenizer.json is the one that the ids come from") {
  for (const auto& [name, entry] : hugging_face_fixture()["cases"].items()) {
    CAPTURE(name);
    const auto tokenizer = tokenizer_case(name, entry);
    json document = written_document(*tokenizer, encoder_frame(*tokenizer));
    if (document["normalizer"].is_object() && document["normalizer"].contains("normalizers")) {
      for (json& step : document["normalizer"]["normalizers"]) step.erase("precompiled_charsmap");
    }
    for (const auto& [part, wanted] : entry["parts"].items()) {
      CAPTURE(part);
      // Later Unicode versions have further marks, so the lists of marks may differ.
      if (part == "normalizer" && wanted.is_object() && wanted.contains("normalizers")) {
        REQUIRE(document[part]["normalizers"].size() == wanted["normalizers"].size());
        for (std::size_t i = 0; i < wanted["normalizers"].size(); ++i) {
          CHECK(document[part]["normalizers"][i]["type"] == wanted["normalizers"][i]["type"]);
        }
      } else {
        CHECK((part == "merges" ? document["model"] : document)[part] == wanted);
      }
    }
    const json& vocabulary = document["model"]["vocab"];
    REQUIRE(std::ssize(vocabulary) == tokenizer->vocabulary_size());
    for (TokenId id = 0; id < tokenizer->vocabulary_size(); ++id) {
      if (name == "bytes") break;  // letters stand for bytes
      const std::string piece = tokenizer->piece(id);
      CAPTURE(piece);
      if (vocabulary.is_object()) {
        CHECK(vocabulary[piece] == id);
      } else {
        CHECK(vocabulary[static_cast<std::size_t>(id)][0] == piece);
      }
    }
  }
}

TEST_CASE("a tokenizer.json of bytes is read as the same ids") {
  const auto bytes = make_byte_tokenizer();
  const auto again = make_byte_level_tokenizer(
      hugging_face_json(*bytes, encoder_frame(*bytes)).contents, "written");
  const std::string text("a\0\xFF \xC3\xA9\n[MASK]", 12);
  const ValidText valid(text);
  CHECK(again->encode(valid.text) == bytes->encode(valid.text));
  CHECK(again->special().classification == bytes->special().classification);
  CHECK(again->special().separator == bytes->special().separator);
  CHECK(again->special().mask == bytes->special().mask);
}

TEST_CASE("the tokens around a text are the model's") {
  const json& entry = hugging_face_fixture()["cases"]["byte_level"];
  const auto tokenizer = tokenizer_case("byte_level", entry);
  CHECK(hugging_face_json(*tokenizer, encoder_frame(*tokenizer)).contents ==
        tokenizer->file_contents());
  const json plain = written_document(*tokenizer, {});
  CHECK(plain["post_processor"].is_null());
  CHECK(plain["model"] == json::parse(tokenizer->file_contents())["model"]);
  const json first =
      written_document(*tokenizer, {.before = 2, .after = -1, .before_second = true});
  CHECK(first["post_processor"]["single"].size() == 2);
  CHECK(first["post_processor"]["pair"][2]["SpecialToken"]["id"] == "[CLS]");
}

TEST_CASE("a model that tokenizer.json cannot express is named, and none is written") {
  json entry = hugging_face_fixture()["cases"]["unigram"];
  entry["model"] = 3;  // whole words
  const HuggingFaceJson written = hugging_face_json(*sentencepiece_case(entry), {});
  CHECK(written.contents.empty());
  REQUIRE(written.notes.size() == 1);
  CHECK_THAT(written.notes[0], Catch::Contains("of whole words"));
}

TEST_CASE("byte-level training learns what the trainer of tokenizers learns") {
  ByteLevelTrainer trainer;
  for (const std::string& line : texts_of(hugging_face_fixture()["training"])) trainer.add(line);
  const json& wanted = hugging_face_fixture()["trained"]["byte_level"];
  const auto tokenizer = trainer.train({.pieces = 420, .min_frequency = 2});
  const json model = json::parse(tokenizer->file_contents())["model"];
  CHECK(model["merges"] == wanted["merges"]);
  const std::vector<std::string> pieces = texts_of(wanted["pieces"]);
  REQUIRE(tokenizer->vocabulary_size() == std::ssize(pieces));
  for (std::size_t id = 0; id < pieces.size(); ++id) CHECK(model["vocab"][pieces[id]] == id);
  CHECK(tokenizer->special().classification == 2);
  CHECK(tokenizer->special().mask == 4);
}

TEST_CASE("WordPiece training learns what the trainer of tokenizers always learns") {
  for (const bool cased : {false, true}) {
    WordPieceTrainer trainer(cased);
    for (const std::string& line : texts_of(hugging_face_fixture()["training"])) trainer.add(line);
    const json& wanted = hugging_face_fixture()["trained"][cased ? "cased" : "uncased"];
    const auto tokenizer = trainer.train({.pieces = cased ? 400 : 380, .min_frequency = 3});
    std::set<std::string> pieces;
    for (TokenId id = 0; id < tokenizer->vocabulary_size(); ++id) {
      pieces.insert(tokenizer->piece(id));
    }
    CHECK(std::ssize(pieces) == wanted["size"].get<std::int64_t>());
    for (const std::string& piece : texts_of(wanted["always"])) CHECK(pieces.contains(piece));
    const auto sometimes = wanted["sometimes"].get<std::set<std::string>>();
    for (const std::string& piece : pieces) CHECK(sometimes.contains(piece));
    CHECK(tokenizer->description() == (cased ? "wordpiece cased" : "wordpiece uncased"));
  }
}

TEST_CASE("byte-pair training counts, breaks ties by ids and stops") {
  WordCounts words;
  words.add("ab", 3);
  words.add("cd", 3);
  words.add("abcd", 1);
  words.add("e", 50);
  BytePairTraining training{.pieces = 8, .min_frequency = 2};
  CHECK(train_byte_pairs(words, training).pieces ==
        std::vector<std::string>{"a", "b", "c", "d", "e", "ab", "cd"});
  training.min_frequency = 1;
  CHECK(train_byte_pairs(words, training).pieces.back() == "abcd");
  training.most_characters = 2;
  training.special = {"[UNK]"};
  // A character without a piece is left out of its word; of b, c and d the first stays.
  CHECK(train_byte_pairs(words, training).pieces == std::vector<std::string>{"[UNK]", "a", "e"});
  training.pieces = 2;
  CHECK_THROWS_WITH(train_byte_pairs(words, training), Catch::Contains("2 pieces are too few"));
  CHECK_THROWS_WITH(train_byte_pairs(WordCounts(), training), Catch::Contains("there is no text"));
}

TEST_CASE("words beyond the limit are forgotten, the rarest first") {
  WordCounts words(4);
  words.add("a", 5);
  words.add("b", 1);
  words.add("c", 3);
  words.add("d", 1);
  CHECK(words.forgotten() == 0);
  words.add("e");
  CHECK(words.forgotten() == 1);
  CHECK(words.counts().size() == 3);
  CHECK(words.counts().find("c")->second == 3);
}

TEST_CASE("a folder for AutoTokenizer is opened as the same tokenizer") {
  const TemporaryFolder place;
  for (const char* name : {"unigram", "wordpiece", "byte_level", "characters", "bytes"}) {
    CAPTURE(name);
    const auto tokenizer = tokenizer_case(name, hugging_face_fixture()["cases"][name]);
    const auto folder = place.path / name;
    save_shared_tokenizer(*tokenizer, folder);
    CHECK(holds_only_tokenizer(folder));
    const json config = json::parse(read_file(folder / "tokenizer_config.json"));
    CHECK(config["mask_token"] == "[MASK]");
    CHECK(json::parse(read_file(folder / "tokenizer.json"))["version"] == "1.0");
    const auto again = open_tokenizer({.file = folder});
    CHECK(again->fingerprint() == tokenizer->fingerprint());
    // As a run keeps it.
    save_tokenizer(*again, place.path / (std::string(name) + " of a run"));
    CHECK(load_tokenizer(place.path / (std::string(name) + " of a run"))->fingerprint() ==
          tokenizer->fingerprint());
    write_file_atomically(folder / "letter.txt", "mine");
    CHECK(!holds_only_tokenizer(folder));
  }
}

}  // namespace roformer
