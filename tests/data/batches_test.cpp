#include "data/batches.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "catch.h"
#include "data/prefetcher.h"
#include "fixture.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

// A data set of bytes whose validation set is its training set, and the stream that rows are cut
// from, made by hand.
struct Sample {
  TemporaryFolder folder;
  std::unique_ptr<Tokenizer> tokenizer = byte_tokenizer();
  std::vector<std::int64_t> stream;
  std::set<std::size_t> starts;  // of documents in the stream
  std::unique_ptr<Dataset> dataset;

  Sample() {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      const std::string document(static_cast<std::size_t>(1 + i * 7 % 23),
                                 static_cast<char>('A' + i % 26));
      text += document + "\n\n";
      starts.insert(stream.size());
      for (const char c : document) stream.push_back(c);
      stream.push_back('\n');
      stream.push_back(tokenizer->special().separator);
    }
    write_text(folder.path / "text", text);
    prepare({.corpus = {.inputs = {folder.path / "text"}},
             .validation_inputs = {folder.path / "text"},
             .output = folder.path / "out",
             .shard_tokens = 100},
            *tokenizer);
    dataset = std::make_unique<Dataset>(folder.path / "out");
  }
};

std::vector<std::int64_t> unmasked(const MaskedBatch& batch) {
  std::vector<std::int64_t> ids = batch.ids;
  for (std::size_t i = 0; i < batch.target_positions.size(); ++i) {
    ids[static_cast<std::size_t>(batch.target_positions[i])] = batch.labels[i];
  }
  return ids;
}

bool same(const MaskedBatch& a, const MaskedBatch& b) {
  return a.ids == b.ids && a.target_positions == b.target_positions && a.labels == b.labels &&
         a.sequence_starts == b.sequence_starts;
}

}  // namespace

TEST_CASE("Validation rows are the stream in order, after [CLS], and their masks never change") {
  const Sample sample;
  constexpr std::int64_t kLength = 16;
  const MaskedBatches batches(*sample.dataset, Split::validation, kLength, {}, {.rows = 5});
  const auto rows = static_cast<std::int64_t>(sample.stream.size()) / (kLength - 1);
  REQUIRE(batches.rows().size() == rows);
  REQUIRE(batches.validation_batches() == (rows + 4) / 5);
  std::int64_t row = 0;
  for (std::int64_t n = 0; n < batches.validation_batches(); ++n) {
    const MaskedBatch batch = batches.validation(n);
    const std::vector<std::int64_t> ids = unmasked(batch);
    REQUIRE(static_cast<std::int64_t>(ids.size()) == batch.tokens());
    for (std::int64_t i = 0; i < batch.rows; ++i, ++row) {
      REQUIRE(ids[static_cast<std::size_t>(i * kLength)] ==
              sample.tokenizer->special().classification);
      REQUIRE(std::equal(ids.begin() + i * kLength + 1, ids.begin() + (i + 1) * kLength,
                         sample.stream.begin() + row * (kLength - 1)));
      REQUIRE(batch.sequence_starts[static_cast<std::size_t>(i)] == i * kLength);
    }
    CHECK(batch.sequence_starts.back() == batch.tokens());
  }
  CHECK(row == rows);
  const MaskedBatches other(*sample.dataset, Split::validation, kLength, {},
                            {.rows = 5, .seed = 9});
  CHECK(same(batches.validation(1), other.validation(1)));
  CHECK(batches.validation_batches(111) == 2);  // 6 rows of 16 are 96 tokens
  CHECK(batches.validation(1, 111).rows == 1);
  CHECK(batches.validation_batches(95) == 1);
  CHECK(batches.validation(0, 95).rows == 5);
  CHECK(batches.validation(0, 15).rows == 1);  // less than a row is one
}

TEST_CASE(
    "A limited validation pass is of rows from all over the split, with the masks they have") {
  const Sample sample;
  const MaskedBatches masked(*sample.dataset, Split::validation, 16, {}, {.rows = 1});
  const CausalBatches causal(*sample.dataset, Split::validation, 16, {.rows = 1});
  const std::int64_t size = masked.validation_batches();
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{4}, size}) {
    REQUIRE(masked.validation_batches(count * 16) == count);
    for (std::int64_t i = 0; i < count; ++i) {
      CHECK(same(masked.validation(i, count * 16),
                 masked.validation((2 * i + 1) * size / (2 * count))));
    }
  }
  const std::int64_t rows = causal.validation_batches();
  CHECK(causal.validation(1, 32).ids == causal.validation(3 * rows / 4).ids);
}

TEST_CASE("An epoch has each row once, in a new order and with new masks") {
  const Sample sample;
  const MaskedBatches batches(*sample.dataset, Split::train, 16, {}, {.rows = 1, .seed = 3});
  const std::int64_t rows = batches.rows().size();
  std::vector<std::vector<std::int64_t>> first, second, masked_first, masked_second;
  for (std::int64_t n = 0; n < rows; ++n) {
    first.push_back(unmasked(batches.training(n)));
    second.push_back(unmasked(batches.training(rows + n)));
    masked_first.push_back(batches.training(n).ids);
    masked_second.push_back(batches.training(rows + n).ids);
  }
  CHECK(first != second);
  std::ranges::sort(first);
  std::ranges::sort(second);
  CHECK(first == second);
  std::vector<std::vector<std::int64_t>> in_order;
  for (std::int64_t n = 0; n < rows; ++n) {
    in_order.push_back(unmasked(batches.validation(n)));
  }
  std::ranges::sort(in_order);
  CHECK(first == in_order);
  std::ranges::sort(masked_first);
  std::ranges::sort(masked_second);
  CHECK(masked_first != masked_second);
}

TEST_CASE("Large batches are the small ones in a row, across the end of an epoch too") {
  const Sample sample;
  const MaskedBatches one(*sample.dataset, Split::train, 16, {}, {.rows = 1});
  const MaskedBatches seven(*sample.dataset, Split::train, 16, {}, {.rows = 7});
  for (std::int64_t n = 0; n < 20; ++n) {
    std::vector<std::int64_t> wanted;
    for (std::int64_t i = 0; i < 7; ++i) {
      const std::vector<std::int64_t> ids = one.training(n * 7 + i).ids;
      wanted.insert(wanted.end(), ids.begin(), ids.end());
    }
    REQUIRE(seven.training(n).ids == wanted);
  }
}

TEST_CASE("Sequences end with their documents when attention must not cross") {
  const Sample sample;
  const MaskedBatches batches(*sample.dataset, Split::validation, 16, {},
                              {.rows = 1000, .cross_documents = false});
  const MaskedBatch batch = batches.validation(0);
  std::vector<std::int64_t> wanted;
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    wanted.push_back(row * 16);
    for (std::int64_t i = 2; i < 16; ++i) {  // place 1 follows [CLS] and begins with it
      if (sample.starts.contains(static_cast<std::size_t>(row * 15 + i - 1))) {
        wanted.push_back(row * 16 + i);
      }
    }
  }
  wanted.push_back(batch.tokens());
  CHECK(batch.sequence_starts == wanted);
}

TEST_CASE("Causal targets are the next ids of the stream, none across documents that are apart") {
  const Sample sample;
  const CausalBatches crossing(*sample.dataset, Split::validation, 16, {.rows = 1000});
  const CausalBatch batch = crossing.validation(0);
  REQUIRE(batch.rows == static_cast<std::int64_t>(sample.stream.size() - 1) / 16);
  CHECK(std::equal(batch.ids.begin(), batch.ids.end(), sample.stream.begin()));
  CHECK(std::equal(batch.targets.begin(), batch.targets.end(), sample.stream.begin() + 1));
  CHECK(batch.target_count == batch.tokens());

  const CausalBatches apart(*sample.dataset, Split::validation, 16,
                            {.rows = 1000, .cross_documents = false});
  const CausalBatch split = apart.validation(0);
  std::int64_t targets = 0;
  for (std::size_t i = 0; i < split.targets.size(); ++i) {
    const bool has_target = !sample.starts.contains(i + 1);
    targets += has_target;
    REQUIRE(split.targets[i] == (has_target ? sample.stream[i + 1] : CausalBatch::kNoTarget));
  }
  CHECK(split.target_count == targets);
}

TEST_CASE("Any number of loader threads gives the same batches, from any number on") {
  const Sample sample;
  const MaskedBatches batches(*sample.dataset, Split::train, 16, {}, {.rows = 4});
  for (const std::int64_t threads : {0, 1, 2, 5}) {
    for (const std::int64_t first : {0, 17}) {
      CAPTURE(threads, first);
      Prefetcher<MaskedBatch> loader({.threads = threads, .depth = 3},
                                     [&](std::int64_t n) { return batches.training(first + n); });
      for (std::int64_t n = first; n < 50; ++n) REQUIRE(same(loader.next(), batches.training(n)));
    }
  }
}

TEST_CASE("A split without a full row is refused") {
  const Sample sample;
  CHECK_THROWS_AS(MaskedBatches(*sample.dataset, Split::train, 100'000, {}, {}), Error);
}
