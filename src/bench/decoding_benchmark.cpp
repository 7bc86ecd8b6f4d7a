#include "bench/decoding_benchmark.h"

#include <algorithm>

#include "bench/timing.h"
#include "metrics/statistics.h"

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

}  // namespace roformer
