// Byte-level BPE against Hugging Face's tokenizers; the cases are made by
// make_byte_level_fixtures.py.
#include <algorithm>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"
#include "text/added_tokens.h"
#include "text/byte_level_tokenizer.h"
#include "text/split_pattern.h"
#include "text/tokenizer.h"

using namespace roformer;

namespace {

nlohmann::json byte_level_fixture(const char* name) {
  return nlohmann::json::parse(read_file(std::filesystem::path(FIXTURES) / name));
}

// The parts of a patch in the place of the file's own; the model's one by one.
std::string patched(nlohmann::json document, const nlohmann::json& patch) {
  for (const auto& [name, part] : patch.items()) {
    if (name == "model") {
      document["model"].update(part);
    } else {
      document[name] = part;
    }
  }
  return document.dump();
}

std::unique_ptr<Tokenizer> patched_tokenizer(const nlohmann::json& patch) {
  return make_byte_level_tokenizer(patched(byte_level_fixture("byte_level.json"), patch), "file");
}

std::string refusal(const nlohmann::json& patch) {
  try {
    patched_tokenizer(patch);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

std::string pattern_refusal(const std::string& pattern) {
  try {
    SplitPattern(pattern, "file");
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

// Where the matches of a pattern begin and end.
std::vector<std::size_t> matches(const std::string& pattern, std::string_view text) {
  const SplitPattern split(pattern, "file");
  std::int64_t effort = SplitPattern::effort_for(text.size());
  std::vector<std::size_t> ends;
  for (std::size_t position = 0; position < text.size();) {
    const SplitPattern::Match match = split.find(text, position, effort);
    if (match.begin == match.end) break;
    ends.insert(ends.end(), {match.begin, match.end});
    position = match.end;
  }
  return ends;
}

// The parts of a text: text as it is, tokens as their number in <>.
std::string parts_of(const AddedTokens& tokens, std::string_view text) {
  std::string result;
  tokens.split(
      text, SpecialNames::tokens, [&](std::string_view part) { result += part; },
      [&](TokenId id) { result += "<" + std::to_string(id) + ">"; });
  return result;
}

double time_of(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

std::string from_hexadecimal(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace

TEST_CASE("Texts are encoded and decoded byte by byte as tokenizers does it") {
  const nlohmann::json reference = byte_level_fixture("byte_level_cases.json");
  REQUIRE(reference.size() == 15);
  for (const auto& one : reference) {
    const auto tokenizer = patched_tokenizer(one["patch"]);
    for (const auto& text : one["texts"]) {
      const std::string raw =
          text.contains("text") ? text["text"].get<std::string>() : from_hexadecimal(text["bytes"]);
      const auto wanted = text["ids"].get<std::vector<TokenId>>();
      CAPTURE(one["name"].get<std::string>(), raw);
      CHECK(tokenizer->encode(raw) == wanted);
      CHECK(tokenizer->encode(raw) == wanted);  // from the cache
      CHECK(tokenizer->decode(wanted) == text["decoded"].get<std::string>());
      std::vector<TokenId> half;
      for (std::size_t i = 0; i < wanted.size(); i += 2) half.push_back(wanted[i]);
      CHECK(tokenizer->decode(half, true) == text["cut"].get<std::string>());
    }
  }
}

TEST_CASE("Every step that cuts or rewrites text does it as tokenizers does") {
  const nlohmann::json reference = byte_level_fixture("byte_level_cutting_cases.json");
  REQUIRE(reference.size() == 38);
  for (const auto& one : reference) {
    const auto tokenizer = patched_tokenizer(one["patch"]);
    for (const auto& text : one["texts"]) {
      CAPTURE(one["name"].get<std::string>(), text["text"].get<std::string>());
      CHECK(tokenizer->encode(text["text"].get<std::string>()) ==
            text["ids"].get<std::vector<TokenId>>());
    }
  }
}

TEST_CASE("Special tokens of a byte-level file are known by its template and their names") {
  const nlohmann::json base = byte_level_fixture("byte_level.json");
  const auto id = [&](const char* name) { return base["model"]["vocab"][name].get<TokenId>(); };
  nlohmann::json modern;
  for (const auto& one : byte_level_fixture("byte_level_cases.json")) {
    if (one["name"] == "modernbert") modern = one["patch"];
  }
  const auto tokenizer = patched_tokenizer(modern);
  CHECK(tokenizer->special().classification == id("[CLS]"));
  CHECK(tokenizer->special().separator == id("[SEP]"));
  CHECK(tokenizer->special().padding == id("[PAD]"));
  CHECK(tokenizer->special().unknown == id("[UNK]"));
  CHECK(tokenizer->piece(tokenizer->special().mask) == "[MASK]");
  CHECK(tokenizer->mask_spaces().before);
  CHECK(!tokenizer->mask_spaces().after);
  CHECK(tokenizer->decode(std::vector<TokenId>{id("[CLS]"), id("[SEP]")}).empty());
  CHECK(tokenizer->decode(std::vector<TokenId>{id("[CLS]"), id("[SEP]")}, true) == "[CLS][SEP]");
  // Without a template documents end with <|endoftext|>, whatever else that token is.
  const auto plain = patched_tokenizer({});
  CHECK(plain->special().separator == id("<|endoftext|>"));
  CHECK(plain->special().classification == -1);
  std::vector<char> begins;
  const std::vector<TokenId> ids = plain->encode("the windows");
  plain->find_words(ids, begins);
  CHECK(begins.front() == 1);
  CHECK(std::count(begins.begin(), begins.end(), 1) == 2);
}

TEST_CASE("A byte-level tokenizer is saved with a folder, and told from its file") {
  const TemporaryFolder folder;
  const std::filesystem::path file = std::filesystem::path(FIXTURES) / "byte_level.json";
  const auto tokenizer = open_tokenizer({.file = file});
  CHECK(tokenizer->kind() == TokenizerKind::byte_level);
  save_tokenizer(*tokenizer, folder.path);
  const auto loaded = load_tokenizer(folder.path);
  CHECK(loaded->fingerprint() == tokenizer->fingerprint());
  CHECK(loaded->encode("the house") == tokenizer->encode("the house"));
  write_file_atomically(folder.path / "byte_level.json", read_file(file) + " ");
  CHECK_THROWS_AS(load_tokenizer(folder.path), Error);
}

TEST_CASE("A prompt names special tokens, data do not") {
  const nlohmann::json base = byte_level_fixture("byte_level.json");
  const TokenId end = base["model"]["vocab"]["<|endoftext|>"].get<TokenId>();
  const auto tokenizer = patched_tokenizer({});
  const auto joined = [&](const std::vector<std::string>& parts) {
    std::vector<TokenId> ids;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) ids.push_back(end);
      tokenizer->encode(parts[i], ids);
    }
    return ids;
  };
  const auto prompt = [&](const std::string& text) {
    std::vector<TokenId> ids;
    tokenizer->encode_prompt(text, ids);
    return ids;
  };
  CHECK(prompt("<|endoftext|>Hello") == joined({"", "Hello"}));
  CHECK(prompt("the house<|endoftext|><|endoftext|> x") == joined({"the house", "", " x"}));
  CHECK(prompt("the <|endoftext| > house") == tokenizer->encode("the <|endoftext| > house"));
  CHECK(std::ranges::count(tokenizer->encode("a<|endoftext|>b"), end) == 0);
  CHECK(tokenizer->decode(tokenizer->encode("a<|endoftext|>b")) == "a<|endoftext|>b");
}

TEST_CASE("A word of a million characters takes no quadratic time") {
  const auto tokenizer = patched_tokenizer({});
  for (const char* part : {"a", " ", "th", "\n", "\xC3\xA9", "1"}) {
    std::string text;
    while (text.size() < 1'000'000) text += part;
    const auto start = std::chrono::steady_clock::now();
    const std::vector<TokenId> ids = tokenizer->encode(text);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    CAPTURE(part, taken.count());
    CHECK(taken.count() < 30);
    CHECK(tokenizer->decode(ids) == text);
  }
}

TEST_CASE("A wrong tokenizer.json is refused in one line that says what is wrong") {
  const nlohmann::json base = byte_level_fixture("byte_level.json");
  const auto vocabulary = [&](const char* piece, const nlohmann::json& id) {
    nlohmann::json model = {{"vocab", base["model"]["vocab"]}};
    model["vocab"][piece] = id;
    return nlohmann::json{{"model", model}, {"added_tokens", nlohmann::json::array()}};
  };
  const auto merges = [](const nlohmann::json& list) {
    return nlohmann::json{{"model", {{"merges", list}}}};
  };
  const auto split = [](const char* pattern, const char* behavior = "Isolated") {
    return nlohmann::json{
        {"pre_tokenizer",
         {{"type", "Split"}, {"behavior", behavior}, {"pattern", {{"Regex", pattern}}}}}};
  };
  CHECK(refusal(vocabulary("new", 5)).find("the same id 5") != std::string::npos);
  CHECK(refusal(vocabulary("new", -1)).find("the id of \"new\" is -1") != std::string::npos);
  CHECK(refusal(vocabulary("new", 1 << 30)).find("the id of \"new\"") != std::string::npos);
  CHECK(refusal(vocabulary("new", 90'000'000)).find("numbers \"new\"") != std::string::npos);
  CHECK(refusal(merges(nullptr)).find("\"model.merges\"") != std::string::npos);
  CHECK(refusal(merges({"a"})).find("its merge 0 is \"a\"") != std::string::npos);
  CHECK(refusal(merges({"a zzz"})).find("merges \"zzz\", which is no piece") != std::string::npos);
  CHECK(refusal(merges({"z z"})).find("merges to \"zz\"") != std::string::npos);
  CHECK(refusal({{"model", {{"type", "Unigram"}}}}).find("\"model.vocab\"") != std::string::npos);
  CHECK(refusal({{"model", {{"dropout", 0.1}}}}).find("\"model.dropout\"") != std::string::npos);
  CHECK(refusal({{"model", {{"unk_token", "nn"}}}}).find("unk_token") != std::string::npos);
  CHECK(refusal({{"normalizer", {{"type", "Other"}}}}).find("\"normalizer.type\" is \"Other\"") !=
        std::string::npos);
  CHECK(refusal({{"pre_tokenizer", nullptr}}).find("\"pre_tokenizer\"") != std::string::npos);
  CHECK(refusal({{"decoder", nullptr}}).find("decoder") != std::string::npos);
  CHECK(refusal(split("(a")).find("splits text by") != std::string::npos);
  CHECK(refusal(split("a*?b")).find("a lazy count") != std::string::npos);
  CHECK(refusal(split("a|", "Removed")).find("no characters") != std::string::npos);
  CHECK(refusal({{"added_tokens", {{{"id", 9999}, {"content", "zq"}}}}}).find("is the next id") !=
        std::string::npos);
  nlohmann::json twice = base["added_tokens"];
  twice.push_back(twice[0]);
  CHECK(refusal({{"added_tokens", twice}}).find("twice") != std::string::npos);
  std::string message = "none";
  try {
    nlohmann::json without = base;
    without["model"].erase("merges");
    make_byte_level_tokenizer(without.dump(), "file");
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK(message == "file: has no field model.merges");
}

TEST_CASE("A pattern of many optional groups is opened in no exponential time") {
  CHECK(time_of([] {
          CHECK(pattern_refusal(repeated("(?:a?)?", 60) + "b") == "none");
          CHECK(pattern_refusal(repeated("(?:a?|b?)", 40) + "c") == "none");
          CHECK(pattern_refusal(repeated("(?:a?|b?)", 40)).find("no characters") !=
                std::string::npos);
        }) < 10);
  CHECK(matches("(?:a?|b?)(?:a?)?c", "xaacbc") == std::vector<std::size_t>{1, 4, 4, 6});
}

TEST_CASE("A class of a pattern has an end, and is searched by its ranges") {
  CHECK(pattern_refusal("[" + std::string(3'000'000, 'a') + "]+").find("more than 10000") !=
        std::string::npos);
  CHECK(pattern_refusal(std::string(3'000'000, 'a')).find("more than 10000") != std::string::npos);
  CHECK(pattern_refusal("(?:(?:[" + std::string(6'000, 'a') + "]))") == "none");
  // Ranges that overlap, touch and lie in no order, and escapes beside them.
  CHECK(matches("[x-zd-fa-ce-h\u00fc\u4e00-\u4e10\u4e05-\u4e20]+",
                "abhi\u00fc\u4e20w\u4e21\u4dff\u4e00z") ==
        std::vector<std::size_t>{0, 3, 4, 9, 16, 20});
  CHECK(matches("[^x-z\\s\\p{Lu}\\s]+", "xab Az\u00c4\u00e4\u3000") ==
        std::vector<std::size_t>{1, 3, 8, 10});
  std::string many;
  for (std::size_t i = 0; i < 4'000; ++i) many += "\u4e00\u4e01";
  CHECK(time_of([&] {
          const std::string text = repeated("\u4e01", 300'000);
          CHECK(matches("[" + many + "]+", text) == std::vector<std::size_t>{0, text.size()});
        }) < 10);
}

TEST_CASE("Added tokens have a longest length, and are found in no quadratic time") {
  const std::string message =
      refusal({{"added_tokens", {{{"id", 9999}, {"content", std::string(1025, 'a')}}}}});
  CHECK(message.find("file: has an added token of 1025 bytes, more than 1024") == 0);
  AddedTokens long_ones;
  CHECK_THROWS_AS(long_ones.insert({.content = std::string(1025, 'a')}), Error);
  for (std::size_t length = 1; length < 1024; ++length) {
    long_ones.insert({.content = std::string(length, 'a') + "c", .id = 7});
  }
  const std::string text(50'000, 'a');
  CHECK(time_of([&] { CHECK(parts_of(long_ones, text) == text); }) < 15);
}

TEST_CASE("White space beside added tokens is read once") {
  AddedTokens tokens;
  tokens.insert({.content = " ", .id = 1, .takes_before = true, .takes_after = true});
  tokens.insert({.content = "\n", .id = 2});
  tokens.insert({.content = "x", .id = 3, .takes_before = true, .takes_after = true});
  CHECK(parts_of(tokens, "a \n\tb") == "a<1><2>\tb");
  CHECK(parts_of(tokens, "a\t\tx\t x\tb") == "a<3><1><3>b");
  const std::string spaces(400'000, ' ');
  const std::string lines = repeated(" \n", 200'000);
  CHECK(time_of([&] {
          CHECK(parts_of(tokens, spaces) == repeated("<1>", 400'000));
          CHECK(parts_of(tokens, lines) == repeated("<1><2>", 200'000));
        }) < 20);
}
