#include "bench/decoding_benchmark.h"

#include <algorithm>

#include "bench/timing.h"
#include "metrics/statistics.h"
#include "model/generate.h"
#include "model/next_token.h"

namespace roformer {

DecodingBenchmark benchmark_decoding(const TextTranslator& translator,
                                     const std::vector<std::string>& lines, std::int64_t repeats,
                                     std::vector<std::string>* translations) {
  DecodingBenchmark result;
  std::vector<TranslatedLine> found;
  const TimedPiece translate = [&](std::int64_t) {
    return 1e-3 * time_of([&] { found = translator.translate(lines, {}); });
  };
  const std::vector<double> seconds = time_pieces({translate}, {.counted = repeats}).front();
  for (const TranslatedLine& line : found) {
    const bool blank = line.translations.empty();
    if (translations != nullptr) {
      translations->push_back(blank ? "" : line.translations.front().text);
    }
    if (blank) continue;
    ++result.sentences;
    result.target_tokens += std::ssize(line.translations.front().pieces) + 1;
  }
  result.seconds = median(seconds);
  result.best_seconds = *std::ranges::min_element(seconds);
  result.sentences_per_second = static_cast<double>(result.sentences) / result.seconds;
  result.target_tokens_per_second = static_cast<double>(result.target_tokens) / result.seconds;
  result.peak_memory_mib = peak_memory_mib();
  return result;
}

GenerationBenchmark benchmark_generation(const LanguageModel& model, const GenerationWork& work,
                                         std::int64_t repeats,
                                         std::vector<std::vector<std::int64_t>>* continuations) {
  std::vector<SampledBeginning> beginnings;
  for (const std::vector<std::int64_t>& prompt : work.prompts) {
    beginnings.push_back({.text = {.begin = prompt, .longest = work.tokens}, .keys = {1}});
  }
  const std::int64_t length = std::ssize(work.prompts.front());
  std::vector<double> first_seconds, rest_seconds;
  std::vector<std::vector<Hypothesis>> found;
  for (std::int64_t round = 0; round <= repeats; ++round) {
    NextToken next({.stack = model.encoder(),
                    .head = model.head(),
                    .precision = model.plan().precision,
                    .expected_length = length + work.tokens});
    const auto start = BenchmarkClock::now();
    double first = 0;
    found = sample_texts(next, beginnings, {.size = work.vocabulary},
                         {.choice = {.temperature = 0},
                          .always_ends = false,
                          .on_token = [&](std::int64_t, std::int64_t, std::int64_t) {
                            if (first == 0) first = 1e-3 * milliseconds_since(start);
                            return true;
                          }});
    if (round == 0) continue;
    first_seconds.push_back(first);
    rest_seconds.push_back(1e-3 * milliseconds_since(start) - first);
  }
  if (continuations != nullptr) {
    for (const std::vector<Hypothesis>& text : found) continuations->push_back(text.front().ids);
  }
  GenerationBenchmark result{.prompt_seconds = median(first_seconds),
                             .continuation_seconds = median(rest_seconds)};
  const auto texts = static_cast<double>(work.prompts.size());
  result.prompt_tokens_per_second = texts * static_cast<double>(length) / result.prompt_seconds;
  result.continuation_tokens_per_second =
      texts * static_cast<double>(work.tokens - 1) / result.continuation_seconds;
  result.peak_memory_mib = peak_memory_mib();
  return result;
}

}  // namespace roformer
