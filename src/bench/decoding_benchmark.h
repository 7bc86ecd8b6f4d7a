// Speed of translating lines of text with a trained run, and of continuing prompts with one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tasks/language/language_model.h"
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

struct GenerationBenchmark {
  double prompt_seconds = 0;        // median time until the first token
  double continuation_seconds = 0;  // median time from there to the last
  double prompt_tokens_per_second = 0;
  double continuation_tokens_per_second = 0;  // without the first
  std::int64_t peak_memory_mib = 0;           // of the process
};

struct GenerationWork {
  std::vector<std::vector<std::int64_t>> prompts;  // ids, of one length
  std::int64_t tokens = 128;                       // after each prompt
  std::int64_t vocabulary = 0;                     // ids from here on are unused; 0: all are used
};

// Times greedy continuations of the prompts, all in one batch, `repeats` times after one run that
// does not count. `continuations` receives the ids unless it is null.
GenerationBenchmark benchmark_generation(
    const LanguageModel& model, const GenerationWork& work, std::int64_t repeats,
    std::vector<std::vector<std::int64_t>>* continuations = nullptr);

}  // namespace roformer
