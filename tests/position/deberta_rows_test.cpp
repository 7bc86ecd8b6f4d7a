// The rows of DeBERTa's table against transformers' make_log_bucket_position, whose buckets its
// attention clamps to the table (5.24.0).
#include <vector>

#include "catch.h"
#include "config/schemes/deberta.h"
#include "position/relative_index.h"

using namespace roformer;

namespace {

std::vector<std::int64_t> rows(const DebertaSettings& settings, std::int64_t most) {
  std::vector<std::int64_t> result;
  for (std::int64_t past = -most; past <= most; ++past) {
    result.push_back(deberta_row(past, settings));
  }
  return result;
}

}  // namespace

TEST_CASE("the released code's buckets have the released code's rows, beyond their reach too") {
  CHECK(rows({.index = DebertaIndex::code, .buckets = 4, .max_position = 6}, 8) ==
        std::vector<std::int64_t>{0, 0, 0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7});
  CHECK(rows({.index = DebertaIndex::code, .buckets = 8, .max_position = 16}, 18) ==
        std::vector<std::int64_t>{0,  0,  0,  1,  1,  1,  1,  1,  1,  2,  2,  2,  3,
                                  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 13, 14,
                                  14, 14, 15, 15, 15, 15, 15, 15, 15, 15, 15});
}

TEST_CASE("the specification clamps the distance before it chooses a bucket") {
  CHECK(rows({.buckets = 4, .max_position = 6}, 8) ==
        std::vector<std::int64_t>{1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7});
  CHECK(rows({.span = 2}, 3) == std::vector<std::int64_t>{0, 0, 1, 2, 3, 3, 3});
}
