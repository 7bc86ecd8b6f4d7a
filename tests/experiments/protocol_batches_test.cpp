// The batches of the frozen comparison (configs/study/leaderboard.yaml) are the same on every
// machine and in every version of the program that its protocol spans: order of the rows, masks and
// validation.
#include <xxhash.h>

#include "catch.h"
#include "data/batches.h"
#include "data/fixture.h"
#include "experiments/declaration/study_settings.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

constexpr std::int64_t kBatches = 100;

// 300 documents of words that no library's random numbers draw.
std::string synthetic_text() {
  std::string text;
  std::uint32_t state = 1;
  const auto next = [&](std::uint32_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % below;
  };
  for (int document = 0; document < 300; ++document) {
    const std::uint32_t letters = 20 + next(200);
    for (std::uint32_t i = 0; i < letters; ++i) text += static_cast<char>('a' + next(26));
    text += "\n\n";
  }
  return text;
}

struct Numbers {
  std::uint64_t hash = 0;
  void add(const std::vector<std::int64_t>& values) {
    hash = XXH3_64bits_withSeed(values.data(), values.size() * sizeof(std::int64_t), hash);
  }
  void add(const MaskedBatch& batch) {
    for (const auto* one :
         {&batch.ids, &batch.sequence_starts, &batch.target_positions, &batch.labels}) {
      add(*one);
    }
  }
  void add(const CausalBatch& batch) {
    for (const auto* one : {&batch.ids, &batch.sequence_starts, &batch.targets}) add(*one);
  }
};

// Of the first batches of training and of validation.
template <typename Batches>
std::uint64_t fingerprint(const Batches& training, const Batches& validation) {
  Numbers numbers;
  for (std::int64_t n = 0; n < kBatches; ++n) numbers.add(training.training(n));
  for (std::int64_t n = 0; n < validation.validation_batches(); ++n) {
    numbers.add(validation.validation(n));
  }
  return numbers.hash;
}

}  // namespace

TEST_CASE("The first batches of the frozen comparison are those of its version") {
  const TemporaryFolder folder;
  write_text(folder.path / "text", synthetic_text());
  prepare({.corpus = {.inputs = {folder.path / "text"}},
           .validation_fraction = 0.1,
           .test_fraction = 0.1,
           .output = folder.path / "out"},
          *byte_tokenizer());
  const Dataset dataset(folder.path / "out");
  const auto settings_of = [](const char* file, std::int64_t version) {
    const StudySettings study =
        load_study(std::filesystem::path(CONFIGS) / "study" / file, {{"seed", "11"}});
    INFO("another version of the protocol: take its fingerprints into this test");
    REQUIRE(study.version == version);
    REQUIRE(study.runs.front().settings.seed == 11);
    return study.runs.front().settings;
  };
  const auto options = [](const Settings& settings) {
    return BatchOptions{.rows = settings.training.batch,
                        .cross_documents = settings.data.cross_documents,
                        .seed = settings.seed};
  };
  INFO(
      "batches or masks have changed: rows made before and after do not compare. Raise "
      "study.version in the half's file, configs/study/leaderboard[_causal].yaml");
  const Settings encoder = settings_of("leaderboard.yaml", 2);
  const auto masked = [&](Split split) {
    return MaskedBatches(dataset, split, encoder.data.length, encoder.data.masking,
                         options(encoder));
  };
  CHECK(fingerprint(masked(Split::train), masked(Split::test)) == 0xeeb26fe5a972dd04U);
  const Settings causal = settings_of("leaderboard_causal.yaml", 3);
  const auto next = [&](Split split) {
    return CausalBatches(dataset, split, causal.data.length, options(causal));
  };
  CHECK(fingerprint(next(Split::train), next(Split::test)) == 0x72c62f4c8bba7750U);
}
