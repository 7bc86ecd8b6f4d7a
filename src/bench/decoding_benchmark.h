// Speed of translating lines of text with a trained run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tasks/translation/text_translator.h"

namespace roformer {

struct DecodingBenchmark {
  std::int64_t sentences = 0;      // that are not blank
  std::int64_t target_tokens = 0;  // of the best translations, their ends counted
  double seconds = 0;              // median
  double best_seconds = 0;
  double sentences_per_second = 0;  // of the median
  double target_tokens_per_second = 0;
  std::int64_t peak_memory_mib = 0;  // of the process
};

// Times all of `roformer translate` except reading and writing, `repeats` times after one run that
// does not count. `translations` receives the texts unless it is null.
DecodingBenchmark benchmark_decoding(const TextTranslator& translator,
                                     const std::vector<std::string>& lines, std::int64_t repeats,
                                     std::vector<std::string>* translations = nullptr);

}  // namespace roformer
