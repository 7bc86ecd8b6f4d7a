#include "model/sampling.h"

#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "has.h"
#include "message_of.h"

using namespace roformer;

TEST_CASE("temperature, top-k and top-p leave what Hugging Face's processors leave") {
  std::ifstream file(FIXTURES "/sampling_cases.json");
  for (const auto& entry : nlohmann::json::parse(file)) {
    const auto logits = entry["logits"].get<std::vector<float>>();
    const auto expected = entry["probabilities"].get<std::vector<double>>();
    const std::vector<Candidate> found = candidates(
        logits,
        {.temperature = entry["temperature"], .top_k = entry["top_k"], .top_p = entry["top_p"]});
    std::map<std::int64_t, double> probabilities;
    for (const Candidate& candidate : found) probabilities[candidate.id] = candidate.probability;
    for (std::size_t id = 0; id < expected.size(); ++id) {
      const auto place = probabilities.find(static_cast<std::int64_t>(id));
      CHECK((place != probabilities.end()) == (expected[id] > 0));
      if (place != probabilities.end()) CHECK(place->second == Approx(expected[id]).margin(1e-6));
    }
    for (std::size_t i = 1; i < found.size(); ++i) {
      CHECK(found[i - 1].probability >= found[i].probability);
    }
  }
}

TEST_CASE("temperature zero takes the most likely token, the lower id of equals") {
  const std::vector<float> logits = {0, 3, 1, 3};
  const std::vector<Candidate> found = candidates(logits, {.temperature = 0});
  REQUIRE(found.size() == 1);
  CHECK(found[0].id == 1);
  CHECK(found[0].probability == 1);
}

TEST_CASE("a token at minus infinity never follows") {
  const float never = -std::numeric_limits<float>::infinity();
  const std::vector<Candidate> found = candidates(std::vector<float>{never, 1, never, 2}, {});
  REQUIRE(found.size() == 2);
  CHECK(found[0].id == 3);
}

TEST_CASE("pick follows the cumulated probabilities") {
  const std::vector<Candidate> three = {{7, 0.5}, {2, 0.25}, {9, 0.25}};
  CHECK(pick(three, 0) == 7);
  CHECK(pick(three, 0.4999) == 7);
  CHECK(pick(three, 0.5) == 2);
  CHECK(pick(three, 0.75) == 9);
  CHECK(pick(three, 0.9999999) == 9);
}

TEST_CASE("scores that are no numbers are told as the model's") {
  const float none = std::numeric_limits<float>::quiet_NaN();
  CHECK(has(message_of([&] {
              candidates(std::vector<float>{none, none}, {});
            }),
            "the model has no number for any next token"));
}
