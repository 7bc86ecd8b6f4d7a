// WordPiece with each way of BERT's normaliser and with added tokens against Hugging Face's
// tokenizers; the cases are made by make_wordpiece_rules_fixtures.py.
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "has.h"
#include "temporary_folder.h"
#include "text/wordpiece_tokenizer.h"

using namespace roformer;

namespace {

const std::filesystem::path kRulesFixtures = FIXTURES;

std::string bytes_of(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

WordPieceModel model_of(const nlohmann::json& one) {
  WordPieceModel model = {
      .vocabulary = read_file(kRulesFixtures / "wordpiece_vocab.txt"),
      .rules = {.lower_case = one["rules"]["lowercase"].get<bool>(),
                .strip_accents = one["rules"]["strip_accents"].get<bool>(),
                .chinese_characters = one["rules"]["handle_chinese_chars"].get<bool>()}};
  for (const auto& entry : one["added"]) {
    model.added.push_back(parse_added_token(entry, "case"));
    model.added.back().id = entry["id"].get<TokenId>();
  }
  return model;
}

std::unique_ptr<Tokenizer> tokenizer_of(const WordPieceModel& model) {
  return make_wordpiece_tokenizer({.contents = wordpiece_contents(model),
                                   .cased = !model.rules.lower_case,
                                   .location = "model"});
}

const char* const kSmallVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhouse\ntree\nriver\n";

std::string added_refusal(std::vector<AddedToken> added) {
  try {
    tokenizer_of({.vocabulary = kSmallVocabulary, .added = std::move(added)});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Lower case, accents and Chinese characters are independent, and added tokens found") {
  const auto cases =
      nlohmann::json::parse(read_file(kRulesFixtures / "wordpiece_rules_cases.json"));
  REQUIRE(cases.size() == 9);
  std::int64_t compared = 0, prompts = 0;
  for (const auto& one : cases) {
    const auto tokenizer = tokenizer_of(model_of(one));
    for (const auto& text : one["texts"]) {
      const std::string raw = bytes_of(text["bytes"].get<std::string>());
      const auto ids = text["ids"].get<std::vector<TokenId>>();
      CAPTURE(one["rules"].dump(), one["added"].size(), raw);
      CHECK(tokenizer->encode(raw) == ids);
      if (one["added"].empty()) continue;  // those with roles alone are below
      std::vector<TokenId> prompt;
      tokenizer->encode_prompt(raw, prompt);
      CHECK(prompt == (text.contains("prompt") ? text["prompt"].get<std::vector<TokenId>>() : ids));
      prompts += text.contains("prompt") ? 1 : 0;
      ++compared;
    }
  }
  CHECK(compared > 300);
  CHECK(prompts > 10);
}

TEST_CASE("A WordPiece that is more than a vocab.txt is saved whole, and others as ever") {
  const auto cases =
      nlohmann::json::parse(read_file(kRulesFixtures / "wordpiece_rules_cases.json"));
  std::set<std::uint64_t> fingerprints;
  for (const auto& one : cases) {
    const WordPieceModel model = model_of(one);
    const auto tokenizer = tokenizer_of(model);
    CHECK(tokenizer->file_name() == "wordpiece.json");
    const TemporaryFolder folder;
    save_tokenizer(*tokenizer, folder.path / "saved");
    CHECK(holds_only_tokenizer(folder.path / "saved"));
    const auto loaded = load_tokenizer(folder.path / "saved");
    CHECK(loaded->description() == tokenizer->description());
    CHECK(loaded->fingerprint() == tokenizer->fingerprint());
    CHECK(loaded->encode("x <new> y NA\u00cfVE \u5317\u4eac") ==
          tokenizer->encode("x <new> y NA\u00cfVE \u5317\u4eac"));
    CHECK(open_tokenizer({.file = folder.path / "saved" / "wordpiece.json"})->fingerprint() ==
          tokenizer->fingerprint());
    const WordPieceModel again = wordpiece_model(*loaded);
    CHECK(again.rules == model.rules);
    CHECK(again.added == model.added);
    CHECK(again.vocabulary == model.vocabulary);
    fingerprints.insert(tokenizer->fingerprint());
  }
  CHECK(fingerprints.size() == cases.size());
  for (const bool cased : {false, true}) {
    const WordPieceModel plain = {.vocabulary = kSmallVocabulary,
                                  .rules = cased ? kCasedBert : kUncasedBert};
    CHECK(wordpiece_contents(plain) == kSmallVocabulary);
    const auto tokenizer = tokenizer_of(plain);
    CHECK(tokenizer->file_name() == "vocab.txt");
    CHECK(tokenizer->description() == (cased ? "wordpiece cased" : "wordpiece uncased"));
    CHECK(wordpiece_model(*tokenizer).rules == plain.rules);
  }
}

TEST_CASE("White space at the end of a vocabulary's line is no part of its piece") {
  const auto tokenizer = make_wordpiece_tokenizer(
      {.contents = "[PAD]\n[UNK] \n[CLS]\r\nhouse\ntree  \nriver\t\r\nlake\u3000\n\u3000\n x\n",
       .location = "vocab.txt"});
  CHECK(tokenizer->encode("house tree river lake x") == std::vector<TokenId>{3, 4, 5, 6, 1});
  CHECK(tokenizer->special().unknown == 1);
  CHECK(tokenizer->special().classification == 2);
  CHECK(tokenizer->vocabulary_size() == 9);
  CHECK(tokenizer->piece(4) == "tree");
}

TEST_CASE("Ids of added tokens are those that the reference gives, or refused") {
  const auto token = [](const char* content, TokenId id) {
    return AddedToken{.content = content, .id = id, .normalized = true};
  };
  CHECK(added_refusal({token("<a>", 8), token("<b>", 9)}).empty());
  CHECK(added_refusal({token("tree", 6), token("<b>", 8)}).empty());
  CHECK(has(added_refusal({token("<a>", 9)}), "numbers the added token \"<a>\" 9 where 8 is"));
  CHECK(has(added_refusal({token("tree", 8)}), "numbers \"tree\" 6 in its vocabulary and 8"));
  CHECK(has(added_refusal({token("<a>", 8), token("<a>", 9)}), "adds the token \"<a>\" twice"));
  // What is nothing after cleaning is found nowhere.
  CHECK(tokenizer_of({.vocabulary = kSmallVocabulary, .added = {token("\u0301", 8)}})
            ->encode("house \u0301 tree") == std::vector<TokenId>{5, 6});
  for (const char* wrong :
       {R"({"format": "roformer wordpiece")", R"({"format": "roformer wordpiece", "version": 2})",
        R"({"format": "roformer wordpiece", "version": 1, "vocabulary": "[UNK]\n"})",
        R"({"format": "roformer wordpiece", "version": 1, "vocabulary": "[UNK]\n",
            "lower_case": true, "strip_accents": true, "chinese_characters": true,
            "added_tokens": [{"content": "x", "id": -1}]})"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(make_wordpiece_tokenizer({.contents = wrong, .location = "file"}), Error);
  }
}

TEST_CASE("Added tokens are words, and special ones are no text") {
  const WordPieceModel model = {.vocabulary = kSmallVocabulary,
                                .added = {{.content = "##n", .id = 8, .normalized = true},
                                          {.content = "<e>", .id = 9, .special = true}}};
  const auto tokenizer = tokenizer_of(model);
  CHECK_THROWS_AS(make_wordpiece_tokenizer(
                      {.contents = wordpiece_contents(model), .cased = true, .location = "file"}),
                  Error);
  CHECK(tokenizer->encode("house ##n <e>") == std::vector<TokenId>{5, 8, 1, 1, 1});
  CHECK(tokenizer->begins_word(8));
  CHECK(tokenizer->decode(std::vector<TokenId>{5, 8, 9, 6}) == "house ##n tree");
  CHECK(tokenizer->decode(std::vector<TokenId>{5, 9, 6}, true) == "house <e> tree");
  std::vector<TokenId> prompt;
  tokenizer->encode_prompt("[CLS]house<e> [MASK]", prompt);
  CHECK(prompt == std::vector<TokenId>{2, 5, 9, 4});
}
