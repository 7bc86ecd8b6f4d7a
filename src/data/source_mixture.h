// Which of several sources a row of training comes from: a function of the row's number alone, so
// that a resumed training and any number of processes draw the same.
#pragma once

#include <cstdint>
#include <vector>

namespace roformer {

// The sources take turns in a pattern of 1,024 rows, as evenly as whole rows allow; in each pattern
// a source has its share of the weights, rounded, and one row at least.
class SourceMixture {
 public:
  static constexpr std::int64_t kPattern = 1024;  // rows

  // At least one weight, at most kPattern; all above 0.
  explicit SourceMixture(const std::vector<double>& weights);

  struct Entry {
    std::size_t source = 0;
    std::int64_t number = 0;  // of the row among those that come from the source
  };
  Entry operator[](std::int64_t n) const;

  // Rows of a pattern that come from the source.
  std::int64_t share(std::size_t source) const { return shares_[source]; }

 private:
  std::vector<std::int64_t> shares_;
  std::vector<Entry> pattern_;
};

}  // namespace roformer
