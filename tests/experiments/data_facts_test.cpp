// What tells the data of two runs apart.
#include "experiments/run_result.h"

#include <nlohmann/json.hpp>

#include "catch.h"

using namespace roformer;
using nlohmann::json;

namespace {

std::string differences(const json& one, const json& other) {
  std::string text;
  for (const DataDifference& fact : data_differences(one, other)) {
    text += fact.title + ": " + fact.one + " / " + fact.other + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("what only one record says of its data tells nothing, but for a list") {
  const json data = {{"name", "a"}, {"fingerprint", "11"}, {"training_tokens", 5}};
  CHECK(differences(data, data).empty());
  CHECK(differences(data, {{"name", "b"}, {"fingerprint", "11"}}).empty());
  CHECK(differences(data, nullptr).empty());
  CHECK(differences(data, {{"fingerprint", "12"}, {"training_tokens", 6}}) ==
        "data: 11 / 12\ntraining tokens: 5 / 6\n");
  const json sources = {{"fingerprint", "11"}, {"source_fingerprints", {"11 x 1", "13 x 2"}}};
  CHECK(differences(data, sources) == "sources of the data: none / 11 x 1, 13 x 2\n");
  const json no_sources = {{"fingerprint", "11"}, {"source_fingerprints", json::array()}};
  CHECK(differences(no_sources, data).empty());
  // Lists that older programs did not write say nothing where they are missing.
  const json divided = {{"fingerprint", "11"}, {"source_training_fingerprints", {"21", "23"}}};
  CHECK(differences(data, divided).empty());
  CHECK(differences(divided, {{"source_training_fingerprints", {"21", "24"}}}) ==
        "training data of the sources: 21, 23 / 21, 24\n");
  CHECK(differences({{"fingerprint", "11"}, {"training_fingerprint", "1"}},
                    {{"fingerprint", "11"}, {"training_fingerprint", "2"}}) ==
        "training data: 1 / 2\n");
}
