#include "cli/bench_settings.h"

#include "base/error.h"

namespace roformer {

Settings load_benchmark_settings(const std::string& file, const std::vector<Override>& overrides) {
  Settings settings = load_settings(file, overrides);
  if (settings.model.vocabulary == 0) {
    throw_usage("model.vocabulary", "0, but a benchmark has no tokenizer to take it from",
                "add --model.vocabulary 16000, or use a file of configs/bench");
  }
  return settings;
}

}  // namespace roformer
