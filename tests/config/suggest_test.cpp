#include "config/suggest.h"

#include "catch.h"

using namespace roformer;

TEST_CASE("edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("kitten", "sitting") == 3);  // the textbook's example
  CHECK(edit_distance("rope", "rpoe") == 1);
  CHECK(edit_distance("abc", "") == 3);
}

TEST_CASE("the nearest word is suggested only when it is near") {
  const std::vector<std::string> known{"training.steps", "training.batch", "model.layers", "rope"};
  CHECK(nearest_word("trainig.steps", known) == "training.steps");
  CHECK(nearest_word("steps", known) == "training.steps");
  CHECK(nearest_word("ropp", known) == "rope");
  CHECK(nearest_word("banana", known).empty());
  CHECK(nearest_word(std::string(100'000, 'a'), known).empty());
  CHECK(suggestion("layers", known) == "did you mean model.layers");
}
