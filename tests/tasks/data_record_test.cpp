// What of two records tells that one text was divided in two ways.
#include "tasks/data_record.h"

#include <nlohmann/json.hpp>

#include "catch.h"

using namespace roformer;
using nlohmann::json;

TEST_CASE("another division is of the same text, with other training data") {
  const json text = {{"fingerprint", "1"}, {"training_fingerprint", "a"}};
  CHECK_FALSE(is_other_division(text, text));
  CHECK(is_other_division(text, {{"fingerprint", "1"}, {"training_fingerprint", "b"}}));
  CHECK_FALSE(is_other_division(text, {{"fingerprint", "2"}, {"training_fingerprint", "b"}}));
  // Pairs and triplets have a fingerprint for each division.
  const json pairs = {
      {"fingerprint", "1"}, {"text_fingerprint", "t"}, {"training_fingerprint", "a"}};
  CHECK(is_other_division(
      pairs, {{"fingerprint", "2"}, {"text_fingerprint", "t"}, {"training_fingerprint", "b"}}));
  CHECK_FALSE(is_other_division(
      pairs, {{"fingerprint", "2"}, {"text_fingerprint", "u"}, {"training_fingerprint", "b"}}));
  // What is older than these fingerprints is no other division of anything.
  CHECK_FALSE(is_other_division({{"fingerprint", "1"}},
                                {{"fingerprint", "1"}, {"training_fingerprint", "b"}}));
  CHECK_FALSE(is_other_division(text, {{"fingerprint", "1"}}));
  CHECK_FALSE(is_other_division(nullptr, text));
}

TEST_CASE("with sources or stages of their own data it is those that were trained on") {
  const json run = {{"fingerprint", "1"},
                    {"training_fingerprint", "a"},
                    {"source_fingerprints", {"2 x 1", "3 x 0.5"}},
                    {"source_training_fingerprints", {"b", "c"}},
                    {"stage_fingerprints", {"4"}},
                    {"stage_training_fingerprints", {"d"}}};
  const auto other = [&](const char* text, const char* training) {
    return is_other_division(run, {{"fingerprint", text}, {"training_fingerprint", training}});
  };
  CHECK(other("3", "x"));
  CHECK_FALSE(other("3", "c"));
  CHECK(other("4", "x"));
  CHECK_FALSE(other("4", "d"));
  CHECK_FALSE(other("1", "x"));  // only its validation set was read
}
