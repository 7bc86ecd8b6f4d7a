// A uniform sample of a corpus' lines, of bounded size, so that a tokenizer can be trained on files
// larger than memory. The same lines and seed give the same sample.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace roformer {

class SentenceSample {
 public:
  // Keeps at most `limit` sentences; 0 keeps all.
  SentenceSample(std::uint64_t limit, std::uint64_t seed) : limit_(limit), random_(seed) {}

  // Adds a line. Lines of more than kLongestSentence bytes are cut at spaces, because the
  // SentencePiece trainer leaves longer ones out; blank ones are not counted.
  void add(std::string_view line);
  const std::vector<std::string>& sentences() const { return sentences_; }
  std::uint64_t seen() const { return seen_; }

  static constexpr std::size_t kLongestSentence = 4000;

 private:
  std::uint64_t limit_;
  Random random_;
  std::uint64_t seen_ = 0;
  std::vector<std::string> sentences_;

  void add_sentence(std::string_view sentence);
};

}  // namespace roformer
