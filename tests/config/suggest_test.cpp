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

TEST_CASE("capitals, hyphens, flags and last parts are seen through") {
  const std::vector<std::string> known{"--position", "--training.steps", "--training.batch",
                                       "--training.learning_rate"};
  CHECK(nearest_word("--steps", known) == "--training.steps");
  CHECK(nearest_word("--learning-rate", known) == "--training.learning_rate");
  CHECK(nearest_word("--lerning_rate", known) == "--training.learning_rate");
  CHECK(nearest_word("--Position", known) == "--position");
  CHECK(nearest_word("model.batch", known) == "--training.batch");
  CHECK(nearest_word("ROPE", {"none", "rope"}) == "rope");
}

TEST_CASE("a key is looked for in the section that it is said to be in") {
  const std::vector<std::string> known{"--position.layers", "--model.layers", "--training.steps",
                                       "--training.keep_last"};
  CHECK(nearest_word("--model.num_layers", known) == "--model.layers");
  CHECK(nearest_word("--training.keep", known) == "--training.keep_last");
}

TEST_CASE("what other programs call it is known") {
  CHECK(nearest_word("gpu", {"auto", "cpu", "cuda"}) == "cuda");
  CHECK(nearest_word("--lr", {"--seed", "--training.learning_rate"}) == "--training.learning_rate");
  CHECK(nearest_word("--batch_size", {"--training.batch_tokens", "--training.batch"}) ==
        "--training.batch");
  CHECK(nearest_word("--batch-size", {"--training.batch"}) == "--training.batch");
  CHECK(nearest_word("rotary", {"alibi", "rope"}) == "rope");
  CHECK(nearest_word("lr", {"rope"}).empty());  // nothing here has that name
}

TEST_CASE("of two equally near words it is the one that begins alike for longer") {
  CHECK(edit_distance("sted", "seed") == edit_distance("sted", "step"));
  CHECK(nearest_word("sted", {"seed", "step"}) == "step");
  CHECK(nearest_word("sted", {"step", "seed"}) == "step");
}
