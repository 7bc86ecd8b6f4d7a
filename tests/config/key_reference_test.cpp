#include "config/key_reference.h"

#include "base/file.h"
#include "catch.h"

using namespace roformer;

namespace {

std::string first_key_about(const char* word) {
  const std::vector<const Key*> found = keys_about(word);
  return found.empty() ? "" : found.front()->name;
}

}  // namespace

TEST_CASE("configs/KEYS.md is what `roformer config keys --format markdown` prints") {
  CHECK(read_file(CONFIGS "/KEYS.md") == markdown_of_keys(keys_about("")));
}

TEST_CASE("keys are found by their name, help, values and names in other programs") {
  CHECK(keys_about("").size() == schema().size());
  CHECK(first_key_about("hidden_size") == "model.width");
  CHECK(first_key_about("gradient-checkpointing") == "training.recompute");
  CHECK(first_key_about("muon.nesterov") == "training.muon.nesterov");
  CHECK(first_key_about("swiglu") == "model.activation");
  CHECK(first_key_about("Performer") == "attention.kernel");
  CHECK(first_key_about("no such word").empty());
}
