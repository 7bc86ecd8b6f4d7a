// Characters, bytes, and tokenizers that are saved, loaded, damaged and confused with other files.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"
#include "text/plain_tokenizers.h"
#include "text/sentencepiece_training.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace roformer {
namespace {

const std::filesystem::path kFixtures = FIXTURES;

std::string character_vocabulary() {
  CharacterCounter counter;
  counter.add("aaa bb\nc\xC3\xA9\xE6\x97\xA5 \"");
  return counter.vocabulary(100);
}

}  // namespace

TEST_CASE("Bytes are lossless") {
  const auto tokenizer = open_tokenizer({.kind = TokenizerKind::bytes});
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  CHECK(tokenizer->decode(tokenizer->encode(all)) == all);
  CHECK(tokenizer->encode(all).size() == 256);
  CHECK(tokenizer->invalid_sequences() == 0);
  CHECK(tokenizer->vocabulary_size() == 260);
  CHECK(tokenizer->decode(std::vector<TokenId>{'a', tokenizer->special().mask}, true) == "a[MASK]");
}

TEST_CASE("Bytes that are no character are replaced where a text is wanted") {
  const auto tokenizer = open_tokenizer({.kind = TokenizerKind::bytes});
  const auto text = [&](std::string_view bytes) {
    return decode_text(*tokenizer, tokenizer->encode(bytes));
  };
  CHECK(text("gr\xC3\xBC\xC3\x9F") == "gr\xC3\xBC\xC3\x9F");
  CHECK(text("gr\xC3") == "gr\xEF\xBF\xBD");
  CHECK(text("\xBCx\xF0\x9F\x98") == "\xEF\xBF\xBDx\xEF\xBF\xBD");
}

TEST_CASE("Characters are ordered by frequency and come back") {
  const auto tokenizer = make_character_tokenizer(character_vocabulary(), "counted");
  CHECK(tokenizer->vocabulary_size() == 5 + 8);
  CHECK(tokenizer->piece(5) == "a");
  const std::string text = "c\xC3\xA9 a\n\xE6\x97\xA5";
  CHECK(tokenizer->decode(tokenizer->encode(text)) == text);
  CHECK(tokenizer->encode("z") == std::vector<TokenId>{tokenizer->special().unknown});
  CharacterCounter counter;
  counter.add("abcabcab");
  CHECK(make_character_tokenizer(counter.vocabulary(7), "cut")->vocabulary_size() == 7);
  CHECK_THROWS_AS(counter.vocabulary(5), Error);
}

TEST_CASE("Malformed UTF-8 is replaced part by part") {
  std::string storage;
  std::uint64_t replaced = 0;
  CHECK(repair_utf8("plain \xC3\xA9", storage, replaced) == "plain \xC3\xA9");
  CHECK(replaced == 0);
  CHECK(repair_utf8("a\xF0\x9F\x98z\xFF", storage, replaced) == "a\xEF\xBF\xBDz\xEF\xBF\xBD");
  CHECK(replaced == 2);
}

TEST_CASE("Every kind is saved, loaded and recognised") {
  const TemporaryFolder folder;
  const std::string model =
      train_sentencepiece({"the cat sat on the mat", "the dog sat"}, {.pieces = 18});
  write_file_atomically(folder.path / "a.model", model);
  write_file_atomically(folder.path / "characters", character_vocabulary());
  const std::vector<TokenizerSettings> all = {
      {.kind = TokenizerKind::bytes},
      {.file = folder.path / "a.model"},
      {.file = folder.path / "characters"},
      {.file = kFixtures / "wordpiece_vocab.txt"},
      {.file = kFixtures / "wordpiece_vocab.txt", .cased = true}};
  std::vector<std::uint64_t> fingerprints;
  for (const TokenizerSettings& settings : all) {
    const auto tokenizer = open_tokenizer(settings);
    INFO(tokenizer->description());
    const auto place = folder.path / ("saved-" + std::to_string(fingerprints.size()));
    save_tokenizer(*tokenizer, place);
    const auto loaded = load_tokenizer(place);
    CHECK(loaded->kind() == tokenizer->kind());
    CHECK(loaded->description() == tokenizer->description());
    CHECK(loaded->encode("The cat sat") == tokenizer->encode("The cat sat"));
    CHECK(open_tokenizer({.file = place})->fingerprint() == tokenizer->fingerprint());
    for (const std::uint64_t other : fingerprints) CHECK(other != tokenizer->fingerprint());
    fingerprints.push_back(tokenizer->fingerprint());
  }
}

TEST_CASE("A chat template is kept with the tokenizer that has one") {
  const TemporaryFolder folder;
  const auto tokenizer = open_tokenizer({.file = kFixtures / "wordpiece_vocab.txt"});
  save_tokenizer(*tokenizer, folder.path / "plain");
  CHECK(load_tokenizer(folder.path / "plain")->chat().source.empty());
  CHECK(read_file(folder.path / "plain" / "tokenizer.json").find("chat") == std::string::npos);
  const std::uint64_t fingerprint = tokenizer->fingerprint();
  const ChatFormat chat = {.source = "{{ bos_token }}\n\"x\"\n", .begin = "<s>", .end = ""};
  tokenizer->set_chat(chat);
  CHECK(tokenizer->fingerprint() == fingerprint);  // it gives the same ids
  save_tokenizer(*tokenizer, folder.path / "chat");
  CHECK(holds_only_tokenizer(folder.path / "chat"));
  CHECK(load_tokenizer(folder.path / "chat")->chat() == chat);
  CHECK(read_file(folder.path / "chat" / "chat_template.jinja") == chat.source);
  CHECK_FALSE(holds_only_tokenizer(folder.path));
  std::filesystem::remove(folder.path / "chat" / "chat_template.jinja");
  CHECK_THROWS_AS(load_tokenizer(folder.path / "chat"), Error);
  save_tokenizer(*tokenizer, folder.path / "chat");
  for (const nlohmann::json& wrong :
       {nlohmann::json(3), nlohmann::json{{"bos_token", 3}}, nlohmann::json("x")}) {
    const auto path = folder.path / "chat" / "tokenizer.json";
    auto description = nlohmann::json::parse(read_file(path));
    description["chat"] = wrong;
    write_file_atomically(path, description.dump());
    CHECK_THROWS_AS(load_tokenizer(folder.path / "chat"), Error);
  }
}

TEST_CASE("Every field of a saved tokenizer is checked") {
  const TemporaryFolder folder;
  save_tokenizer(*open_tokenizer({.file = kFixtures / "wordpiece_vocab.txt"}), folder.path);
  const auto path = folder.path / "tokenizer.json";
  const auto good = nlohmann::json::parse(read_file(path));
  const std::vector<std::pair<const char*, nlohmann::json>> changes = {
      {"format", "another"},       {"version", 2},        {"kind", "bytes"},
      {"kind", "words"},           {"kind", 3},           {"description", "wordpiece cased"},
      {"file", "../vocab.txt"},    {"file", "none.txt"},  {"vocabulary_size", 5},
      {"vocabulary_size", "many"}, {"fingerprint", "00"}, {"fingerprint", nullptr},
      {"file", "sub/../vocab.txt"}};
  for (const auto& [key, value] : changes) {
    auto changed = good;
    changed[key] = value;
    INFO(changed.dump());
    write_file_atomically(path, changed.dump());
    CHECK_THROWS_AS(load_tokenizer(folder.path), Error);
    changed.erase(key);
    write_file_atomically(path, changed.dump());
    CHECK_THROWS_AS(load_tokenizer(folder.path), Error);
  }
  for (const char* text : {"", "{", "[]", "{\"version\": \"1.0\", \"model\": {}}"}) {
    write_file_atomically(path, text);
    CHECK_THROWS_AS(load_tokenizer(folder.path), Error);
  }
  write_file_atomically(path, good.dump());
  CHECK_NOTHROW(load_tokenizer(folder.path));
  write_file_atomically(folder.path / "vocab.txt", "[UNK]\na\n");
  CHECK_THROWS_AS(load_tokenizer(folder.path), Error);
}

TEST_CASE("Foreign files are refused") {
  const TemporaryFolder folder;
  for (const std::string text : {"", "some text\n", "{\"model\": {}}",
                                 "\x7f"
                                 "ELF",
                                 "{}"}) {
    write_file_atomically(folder.path / "file", text);
    CHECK_THROWS_AS(open_tokenizer({.file = folder.path / "file"}), Error);
  }
  CHECK_THROWS_AS(open_tokenizer({.file = folder.path / "missing"}), Error);
  CHECK_THROWS_AS(open_tokenizer({.file = folder.path}), Error);
  CHECK_THROWS_AS(open_tokenizer({}), Error);
  for (const char* list : {"[]", "[\"ab\"]", "[\"a\", \"a\"]", "[3]", "7"}) {
    const std::string text =
        std::string(R"({"format": "roformer characters", "version": 1, "characters": )") + list +
        "}";
    CHECK_THROWS_AS(make_character_tokenizer(text, "list"), Error);
  }
}

TEST_CASE("A folder of Hugging Face's is told from one of a tokenizer") {
  const TemporaryFolder folder;
  const auto refusal = [&] {
    try {
      open_tokenizer({.file = folder.path});
    } catch (const Error& error) {
      return std::string(error.kind() == ErrorKind::usage ? "usage: " : "") + error.what();
    }
    return std::string();
  };
  CHECK(refusal().find("holds no tokenizer") != std::string::npos);
  write_file_atomically(folder.path / "tokenizer.json", R"({"model": {"type": "WordPiece"}})");
  write_file_atomically(folder.path / "config.json", "{}");
  CHECK(refusal().find("is a folder of Hugging Face's") != std::string::npos);
  CHECK(refusal().starts_with("usage: "));
  CHECK(refusal().find("roformer import " + folder.path.string()) != std::string::npos);
  CHECK(refusal().find("vocab.txt") == std::string::npos);
  write_file_atomically(folder.path / "vocab.txt", "[UNK]\n");
  CHECK(refusal().find((folder.path / "vocab.txt").string() + "; or") != std::string::npos);
}

}  // namespace roformer
