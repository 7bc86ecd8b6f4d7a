// Texts that are ids already.
#include "text/plain_tokenizers.h"

#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"

using namespace roformer;

TEST_CASE("a text of ids is these ids, and back") {
  const auto tokenizer = make_id_tokenizer(id_model(100), "ids.txt");
  const std::vector<TokenId> ids{17, 0, 99};
  CHECK(tokenizer->encode(" 17\t0\n99 ") == ids);
  CHECK(tokenizer->encode("").empty());
  CHECK(tokenizer->decode(ids) == "17 0 99");
  CHECK(tokenizer->vocabulary_size() == 100);
  CHECK(tokenizer->piece(99) == "99");
  CHECK(tokenizer->special().separator == -1);
}

TEST_CASE("what is no id is refused") {
  const auto tokenizer = make_id_tokenizer(id_model(100), "ids.txt");
  for (const char* text : {"100", "-1", "a", "1.5", "3,", "99999999999999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(tokenizer->encode(text), Catch::Contains("is no id from 0 to 99"));
  }
  for (const char* contents : {"", "roformer ids\n", "roformer ids\n0\n", "roformer ids\n7",
                               "roformer ids\n7 8\n", "roformer ids\n3000000000\n"}) {
    CAPTURE(contents);
    CHECK_THROWS_WITH(make_id_tokenizer(contents, "a.txt"),
                      Catch::Contains("does not say how many ids there are"));
  }
}

TEST_CASE("a tokenizer of ids is kept and found again") {
  const TemporaryFolder folder;
  const auto tokenizer = make_id_tokenizer(id_model(100), "ids.txt");
  save_tokenizer(*tokenizer, folder.path);
  const auto loaded = load_tokenizer(folder.path);
  CHECK(loaded->kind() == TokenizerKind::ids);
  CHECK(loaded->fingerprint() == tokenizer->fingerprint());
  CHECK(open_tokenizer({.file = folder.path / "ids.txt"})->vocabulary_size() == 100);
}
