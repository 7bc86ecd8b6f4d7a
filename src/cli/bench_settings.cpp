#include "cli/bench_settings.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "config/words.h"

namespace roformer {

Settings load_benchmark_settings(const std::string& file, const std::vector<Override>& overrides,
                                 std::initializer_list<TaskKind> tasks) {
  Settings settings = load_settings(file, overrides);
  if (std::ranges::find(tasks, settings.task) == tasks.end()) {
    std::vector<std::string> words;
    for (const TaskKind task : tasks) words.push_back(to_word(task));
    throw_usage(
        file,
        fmt::format("task is {}, wanted {}", to_word(settings.task), fmt::join(words, " or ")),
        "a file of configs/bench, or another benchmark");
  }
  if (settings.model.vocabulary == 0) {
    throw_usage("model.vocabulary", "0, but a benchmark has no tokenizer to take it from",
                "add --model.vocabulary 16000, or use a file of configs/bench");
  }
  return settings;
}

}  // namespace roformer
