// Sentences and pairs as ids, against Hugging Face's BERT tokenizer.
#include "data/text_pairs.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "fixture.h"
#include "temporary_folder.h"

using namespace roformer;

TEST_CASE("pairs are cut as Hugging Face's tokenizer cuts them") {
  const auto fixture = nlohmann::json::parse(read_file(FIXTURES "/text_pairs.json"));
  const TemporaryFolder folder;
  std::string vocabulary;
  for (const auto& piece : fixture["vocabulary"]) vocabulary += piece.get<std::string>() + "\n";
  write_text(folder.path / "vocab.txt", vocabulary);
  const auto tokenizer = open_tokenizer({.file = folder.path / "vocab.txt"});
  std::size_t cut = 0;
  for (const auto& expected : fixture["cases"]) {
    const auto first = expected["first"].get<std::string>();
    std::optional<std::string> second;
    if (!expected["second"].is_null()) second = expected["second"];
    const auto length = expected["length"].get<std::int64_t>();
    CAPTURE(first, second.value_or("-"), length);
    const EncodedText text = encode_text(*tokenizer, first, second, length);
    CHECK(text.ids == expected["ids"].get<std::vector<TokenId>>());
    TextBatch batch;
    append(text, batch);
    CHECK(batch.types == expected["types"].get<std::vector<std::int64_t>>());
    CHECK(batch.lengths == std::vector<std::int64_t>{text.length()});
    cut += text.cut;
  }
  CHECK(fixture["cases"].size() == 185);
  CHECK(cut > 50);
}

TEST_CASE("several texts lie end to end, each with its own types") {
  TextBatch batch;
  append({.ids = {2, 7, 3}, .second = 3}, batch);
  append({.ids = {2, 8, 3, 9, 3}, .second = 3}, batch);
  CHECK(batch.ids == std::vector<std::int64_t>{2, 7, 3, 2, 8, 3, 9, 3});
  CHECK(batch.types == std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 1, 1});
  CHECK(batch.lengths == std::vector<std::int64_t>{3, 5});
}
