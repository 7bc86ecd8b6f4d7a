// The common part of BLEU, chrF and TER: a sentence with its references becomes a row of numbers,
// the rows of a corpus are summed, and the score is a function of the sums. Significance tests draw
// other sets of rows and ask for the score of those. All scores equal sacreBLEU's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/numpy.h"

namespace roformer {

// The sacreBLEU whose numbers these are; the end of their signatures.
inline constexpr const char* kSacrebleuVersion = "2.6.0";

// The type in which sacreBLEU holds the sums, which decides how the arithmetic rounds.
enum class SumKind {
  plain,     // numbers of Python: the score itself
  single,    // float32 of NumPy: bootstrap resampling
  integers,  // int64 of NumPy where the statistics are whole: approximate randomisation
};

struct TranslationScore {
  std::string name;     // BLEU, chrF2++, TER
  double score = 0;     // 0 to 100 (TER: or above)
  std::string details;  // BLEU's precisions and lengths; empty for the others
};

// The part of a signature that is not the metric's settings.
struct SignatureFacts {
  std::size_t references = 1;
  std::optional<std::int64_t> bootstrap;      // resamples
  std::optional<std::int64_t> randomization;  // trials
  std::optional<std::uint64_t> seed;
};

class TranslationMetric {
 public:
  virtual ~TranslationMetric() = default;

  virtual std::string name() const = 0;
  // Numbers in a row.
  virtual std::size_t width() const = 0;
  // The row of one sentence: plain text, not tokenized, valid UTF-8; at least one reference.
  virtual std::vector<double> row(std::string_view hypothesis,
                                  std::span<const std::string_view> references) = 0;
  virtual NumpyFloat score(std::span<const double> sums, SumKind kind) const = 0;
  virtual TranslationScore describe(std::span<const double> sums) const;

  // "nrefs:1|case:mixed|...|version:2.6.0"
  std::string signature(const SignatureFacts& facts) const;

 protected:
  // Names and values of the settings and of the version, in the order of the signature.
  virtual std::vector<std::pair<std::string, std::string>> settings() const = 0;
};

// The rows of a corpus.
class StatisticsTable {
 public:
  explicit StatisticsTable(std::size_t width) : width_(width) {}

  void append(std::span<const double> row);
  std::size_t rows() const { return values_.size() / width_; }
  std::size_t width() const { return width_; }
  std::span<const double> row(std::size_t index) const;
  std::vector<double> sums() const;

 private:
  std::size_t width_;
  std::vector<double> values_;  // [rows, width]
};

}  // namespace roformer
