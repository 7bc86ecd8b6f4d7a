// BLEU by the length of the source, in words: where positional schemes should differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace roformer {

struct SourceLengthBucket {
  std::string name;  // "11 to 20", "61 and more"
  std::int64_t sentences = 0;
  double mean_words = 0;
  double bleu = 0;  // sacreBLEU's (bleu_for), of these sentences
};

// As many of each. The shortest bucket first; one with fewer than 20 sentences joins its neighbour.
std::vector<SourceLengthBucket> bleu_by_source_length(const std::vector<std::string>& sources,
                                                      const std::vector<std::string>& references,
                                                      const std::vector<std::string>& hypotheses,
                                                      const std::string& target_language);

}  // namespace roformer
