// SentencePiece-style tokenizer.json files against Hugging Face's tokenizers; the cases are made by
// make_tokenizer_json_fixtures.py. Other programs' files that are read as a tokenizer.json.
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"
#include "text/byte_level_tokenizer.h"
#include "text/foreign_files.h"
#include "text/graphemes.h"
#include "text/tokenizer.h"

using namespace roformer;

namespace {

nlohmann::json whole_fixture(const std::string& name) {
  return nlohmann::json::parse(read_file(std::filesystem::path(FIXTURES) / name));
}

// The parts of a patch in the place of the file's own; the model's one by one.
std::unique_ptr<Tokenizer> with_parts(nlohmann::json document, const nlohmann::json& patch) {
  for (const auto& [name, part] : patch.items()) {
    if (name == "model") {
      document["model"].update(part);
    } else {
      document[name] = part;
    }
  }
  return make_byte_level_tokenizer(document.dump(), "file");
}

std::unique_ptr<Tokenizer> family(const std::string& name) {
  for (const auto& one : whole_fixture("tokenizer_json_cases.json")) {
    if (one["name"] != name) continue;
    return with_parts(whole_fixture("pieces_" + one["model"].get<std::string>() + ".json"),
                      one["patch"]);
  }
  return nullptr;
}

std::string refusal_of(const std::string& model, const nlohmann::json& patch) {
  try {
    with_parts(whole_fixture("pieces_" + model + ".json"), patch);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

std::string bytes_of_digits(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace

TEST_CASE("SentencePiece-style files give the ids and the texts of tokenizers") {
  const nlohmann::json reference = whole_fixture("tokenizer_json_cases.json");
  REQUIRE(reference.size() == 15);
  for (const auto& one : reference) {
    const auto tokenizer = family(one["name"]);
    CHECK(tokenizer->kind() == TokenizerKind::byte_level);
    for (const auto& text : one["texts"]) {
      const std::string raw =
          text.contains("text") ? text["text"].get<std::string>() : bytes_of_digits(text["bytes"]);
      const auto wanted = text["ids"].get<std::vector<TokenId>>();
      const auto named = text.value("prompt", wanted);
      CAPTURE(one["name"].get<std::string>(), raw);
      CHECK(tokenizer->encode(raw) == wanted);
      CHECK(tokenizer->encode(raw) == wanted);  // from the cache
      std::vector<TokenId> prompt, half;
      tokenizer->encode_prompt(raw, prompt);
      CHECK(prompt == named);
      CHECK(tokenizer->decode(named) == text["decoded"].get<std::string>());
      for (std::size_t i = 1; i < named.size(); i += 2) half.push_back(named[i]);
      CHECK(tokenizer->decode(half, true) == text["cut"].get<std::string>());
    }
  }
}

TEST_CASE("A file's template tells the special tokens and the separators of a pair") {
  const auto llama = family("llama 2");
  CHECK(llama->piece(llama->special().classification) == "<s>");
  CHECK(llama->piece(llama->special().separator) == "</s>");
  CHECK(llama->text_start() == llama->special().classification);
  CHECK(llama->special().pair_separators == 1);
  const auto roberta = family("xlm-r");
  CHECK(roberta->piece(roberta->special().mask) == "<mask>");
  CHECK(roberta->piece(roberta->special().padding) == "<pad>");
  CHECK(roberta->special().pair_separators == 2);
  CHECK(roberta->mask_spaces().before);
  const auto t5 = family("t5");
  CHECK(t5->special().classification == -1);
  CHECK(t5->piece(t5->special().separator) == "</s>");
  std::vector<char> begins;
  const std::vector<TokenId> ids = t5->encode("the windows");
  t5->find_words(ids, begins);
  CHECK(std::count(begins.begin(), begins.end(), 1) == 2);
  CHECK(begins.front() == 1);
}

TEST_CASE("A text never becomes a special token that is a piece of a unigram model") {
  const auto tokenizer = family("t5");
  for (const TokenId id : tokenizer->encode("a <s> b</s> <unk> <pad>")) {
    const bool special = tokenizer->is_special(id) && id != tokenizer->special().unknown;
    CHECK(!special);
  }
}

TEST_CASE("What cannot be read of a tokenizer.json is named with its path") {
  const auto normalizer = [](const nlohmann::json& step) {
    return nlohmann::json{
        {"normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}, step}}}}};
  };
  CHECK(refusal_of("bpe", normalizer({{"type", "BertNormalizer"}}))
            .find("\"normalizer.normalizers[1].type\" is \"BertNormalizer\", wanted one of") !=
        std::string::npos);
  CHECK(refusal_of("bpe", normalizer({{"type", "Prepend"}, {"prepend", std::string(65, 'a')}}))
            .find("\"normalizer.normalizers[1].prepend\"") != std::string::npos);
  CHECK(refusal_of("bpe", normalizer({{"type", "Precompiled"}, {"precompiled_charsmap", "AAAA"}}))
            .find("precompiled_charsmap") != std::string::npos);
  CHECK(refusal_of(
            "bpe",
            normalizer({{"type", "Replace"}, {"pattern", {{"Regex", "a*?"}}}, {"content", ""}}))
            .find("a lazy count") != std::string::npos);
  CHECK(refusal_of("bpe", {{"pre_tokenizer", {{"type", "UnicodeScripts"}}}})
            .find("\"pre_tokenizer.type\" is \"UnicodeScripts\"") != std::string::npos);
  CHECK(refusal_of("bpe", {{"pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "ab"}}}})
            .find("\"pre_tokenizer.replacement\"") != std::string::npos);
  CHECK(refusal_of("bpe", {{"decoder", {{"type", "WordPiece"}}}}).find("\"decoder.type\"") !=
        std::string::npos);
  CHECK(refusal_of("bpe", {{"decoder", {{"type", "ByteLevel"}}}}).find("\"pre_tokenizer\"") !=
        std::string::npos);
  CHECK(refusal_of("bpe", {{"post_processor", {{"type", "Other"}}}})
            .find("\"post_processor.type\"") != std::string::npos);
  CHECK(refusal_of("bpe", {{"model", {{"dropout", 0.1}}}}).find("\"model.dropout\" is 0.1") !=
        std::string::npos);
  CHECK(refusal_of("bpe", {{"model", {{"type", "WordLevel"}}}})
            .find("\"model.type\" is \"WordLevel\"") != std::string::npos);
  CHECK(refusal_of("unigram", {{"model", {{"unk_id", nullptr}}}}).find("model.unk_id") !=
        std::string::npos);
  CHECK(refusal_of("unigram", {{"model", {{"unk_id", 300}}}}).find("\"model.unk_id\" is 300") !=
        std::string::npos);
  CHECK(refusal_of("unigram", {{"model", {{"vocab", {{"a", -1}, {"b"}}}}}})
            .find("\"model.vocab[1]\"") != std::string::npos);
}

TEST_CASE("Hostile rules and long words take a bounded time") {
  const auto time_of = [](const auto& action) {
    const auto start = std::chrono::steady_clock::now();
    action();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  // Each step makes the text 60 times as long.
  nlohmann::json steps = nlohmann::json::array();
  for (int i = 0; i < 10; ++i) {
    steps.push_back(
        {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(60, 'a')}});
  }
  const auto growing = with_parts(whole_fixture("pieces_bpe.json"),
                                  {{"normalizer", {{"type", "Sequence"}, {"normalizers", steps}}}});
  CHECK_THROWS_AS(growing->encode("aaaa"), Error);
  for (const char* name : {"llama 2", "mistral", "gemma", "xlm-r", "xlm-r of today", "albert"}) {
    const auto tokenizer = family(name);
    for (const char* part : {"a", " ", "\xE2\x96\x81", "the ", "e\xCC\x81", "\xF0\x9F\x98\x80"}) {
      std::string text;
      while (text.size() < 300'000) text += part;
      CAPTURE(name, part);
      CHECK(time_of([&] { tokenizer->encode(text); }) < 20);
    }
  }
}

TEST_CASE("Graphemes end where Unicode says") {
  const auto ends = [](std::string_view text) {
    std::vector<std::size_t> found;
    for (std::size_t position = 0; position < text.size();) {
      position = grapheme_end(text, position);
      found.push_back(position);
    }
    return found;
  };
  using Ends = std::vector<std::size_t>;
  CHECK(ends("ab\r\n\r\nc") == Ends{1, 2, 4, 6, 7});
  CHECK(ends("e\u0301\u0323x") == Ends{5, 6});
  CHECK(ends("\u1100\u1161\u11a8\u1100") == Ends{9, 12});
  CHECK(ends("\u0915\u094d\u0937\u0301a") == Ends{11, 12});
  CHECK(ends("\U0001f1e9\U0001f1ea\U0001f1eb") == Ends{8, 12});
  CHECK(ends("\u00a9\u200d\u00a9") == Ends{7});
  CHECK(ends("\u0301\n\u0301") == Ends{2, 3, 5});
}

TEST_CASE("Base64 is read, and nothing that is none") {
  CHECK(decode_base64("") == "");
  CHECK(decode_base64("IQ==") == "!");
  CHECK(decode_base64("AP+/") == std::string("\x00\xFF\xBF", 3));
  for (const char* wrong : {"I", "IQ=", "I===", "IQ==IQ==", "I*==", "=QQQ"}) {
    CHECK(!decode_base64(wrong));
  }
}

TEST_CASE("vocab.json with merges.txt gives the ids of the tokenizer.json that it came from") {
  const TemporaryFolder folder;
  const nlohmann::json whole = whole_fixture("byte_level.json");
  std::ofstream(folder.path / "vocab.json") << whole["model"]["vocab"].dump();
  CHECK_THROWS_AS(open_tokenizer({.file = folder.path / "vocab.json"}), Error);
  std::ofstream merges(folder.path / "merges.txt");
  merges << "#version: 0.2\n";
  for (const auto& merge : whole["model"]["merges"]) {
    merges << (merge.is_string() ? merge.get<std::string>()
                                 : merge[0].get<std::string>() + " " + merge[1].get<std::string>())
           << "\n";
  }
  merges.close();
  nlohmann::json plain = whole;
  plain["added_tokens"] = nlohmann::json::array({whole["added_tokens"][0]});
  const auto wanted = make_byte_level_tokenizer(plain.dump(), "file");
  for (const char* name : {"vocab.json", "merges.txt"}) {
    const auto tokenizer = open_tokenizer({.file = folder.path / name});
    CHECK(tokenizer->vocabulary_size() == wanted->vocabulary_size());
    for (const char* text :
         {"the windows  of\n\tthe house", "it's 123", "\xE5\x8C\x97\xE4\xBA\xAC!"}) {
      CHECK(tokenizer->encode(text) == wanted->encode(text));
    }
    CHECK(tokenizer->piece(tokenizer->special().separator) == "<|endoftext|>");
    CHECK(tokenizer->special().classification == -1);
  }
  std::ofstream(folder.path / "tokenizer_config.json") << R"({"add_prefix_space": true,
      "added_tokens_decoder": {"1200": {"content": "[NEW]", "special": false}}})";
  const auto prefixed = open_tokenizer({.file = folder.path / "vocab.json"});
  CHECK(prefixed->encode("the") == wanted->encode(" the"));
  std::ofstream(folder.path / "merges.txt") << "a b</w>\n";
  CHECK_THROWS_AS(open_tokenizer({.file = folder.path / "vocab.json"}), Error);
}

TEST_CASE("RoBERTa's vocabulary puts its tokens around a text") {
  const std::string text = tokenizer_json_of(
      {.vocabulary =
           R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "b": 5, "ab": 6, "<mask>": 7})",
       .merges = "#version: 0.2\na b\n",
       .location = "vocab.json"});
  const auto tokenizer = make_byte_level_tokenizer(text, "file");
  CHECK(tokenizer->encode("aba") == std::vector<TokenId>{6, 4});
  const SpecialTokens& special = tokenizer->special();
  CHECK(special.classification == 0);
  CHECK(special.separator == 2);
  CHECK(special.padding == 1);
  CHECK(special.mask == 7);
  CHECK(special.pair_separators == 2);
  CHECK(tokenizer->mask_spaces().before);
}

TEST_CASE("tiktoken's ranks give tiktoken's ids") {
  const nlohmann::json cases = whole_fixture("tiktoken_cases.json");
  const std::string ranks = cases["ranks"];
  CHECK(is_tiktoken_file(ranks));
  CHECK(!is_tiktoken_file("{}"));
  CHECK(!is_tiktoken_file("[PAD]\n[UNK]\n"));
  REQUIRE(cases["encodings"].size() == 4);
  for (const auto& [name, texts] : cases["encodings"].items()) {
    const TemporaryFolder folder;
    std::ofstream(folder.path / (name + ".tiktoken")) << ranks;
    const auto tokenizer = open_tokenizer({.file = folder.path / (name + ".tiktoken")});
    CHECK(tokenizer->kind() == TokenizerKind::byte_level);
    for (const auto& text : texts) {
      CAPTURE(name, text["text"].get<std::string>());
      const auto wanted = text["ids"].get<std::vector<TokenId>>();
      CHECK(tokenizer->encode(text["text"].get<std::string>()) == wanted);
      CHECK(tokenizer->decode(wanted) == text["text"].get<std::string>());
    }
    std::ofstream(folder.path / "mine.tiktoken") << ranks;
    CHECK_THROWS_AS(open_tokenizer({.file = folder.path / "mine.tiktoken"}), Error);
    std::ofstream(folder.path / "mine.tiktoken.pattern") << name << "\n";
    CHECK(open_tokenizer({.file = folder.path / "mine.tiktoken"})->fingerprint() ==
          tokenizer->fingerprint());
  }
  CHECK_THROWS_AS(tokenizer_json_of_tiktoken("IQ== 0\nIQ== 1\n", "cl100k_base", "file"), Error);
  CHECK_THROWS_AS(tokenizer_json_of_tiktoken("IQ== 0\nx\n", "cl100k_base", "file"), Error);
}

TEST_CASE("A tokenizer.json with BERT's WordPiece is opened as the vocabulary that it holds") {
  const TemporaryFolder folder;
  const std::filesystem::path fixtures = FIXTURES;
  nlohmann::json vocabulary;
  std::int64_t id = 0;
  std::ifstream lines(fixtures / "wordpiece_vocab.txt");
  for (std::string line; std::getline(lines, line);) vocabulary[line] = id++;
  for (const bool cased : {false, true}) {
    nlohmann::json whole = {
        {"added_tokens", {{{"id", vocabulary["[CLS]"]}, {"content", "[CLS]"}, {"special", true}}}},
        {"normalizer", {{"type", "BertNormalizer"}, {"clean_text", true}, {"lowercase", !cased}}},
        {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
        {"model", {{"type", "WordPiece"}, {"unk_token", "[UNK]"}, {"vocab", vocabulary}}}};
    const std::filesystem::path file = folder.path / "tokenizer.json";
    std::ofstream(file) << whole.dump();
    const auto wanted = open_tokenizer({.file = fixtures / "wordpiece_vocab.txt", .cased = cased});
    const auto tokenizer = open_tokenizer({.file = file});
    CHECK(tokenizer->fingerprint() == wanted->fingerprint());
    whole["added_tokens"].push_back({{"id", id}, {"content", "NEW"}});
    std::ofstream(file) << whole.dump();
    const auto more = open_tokenizer({.file = file});
    CHECK(more->vocabulary_size() == wanted->vocabulary_size() + 1);
    CHECK(more->encode("NEW").size() == 1);
    whole["pre_tokenizer"]["type"] = "Whitespace";
    std::ofstream(file) << whole.dump();
    CHECK_THROWS_AS(open_tokenizer({.file = file}), Error);
  }
}
