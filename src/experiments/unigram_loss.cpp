#include "experiments/unigram_loss.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "config/task_facts.h"
#include "tasks/language/language_evaluation.h"

namespace roformer {
namespace {

constexpr std::size_t kBlock = 1 << 16;  // tokens read at a time

std::vector<double> token_counts(const Dataset& dataset, Split split) {
  const SpecialTokens& special = dataset.tokenizer().special();
  std::vector<double> counts(static_cast<std::size_t>(dataset.tokenizer().vocabulary_size()));
  std::vector<TokenId> block;
  for (const Shard& shard : dataset.shards(split)) {
    for (std::uint64_t first = 0; first < shard.tokens(); first += block.size()) {
      block.resize(std::min<std::uint64_t>(kBlock, shard.tokens() - first));
      shard.copy_tokens(first, block);
      for (const TokenId id : block) ++counts[static_cast<std::size_t>(id)];
    }
    // Rows have a separator behind each document.
    if (special.separator >= 0) {
      counts[static_cast<std::size_t>(special.separator)] += static_cast<double>(shard.documents());
    }
  }
  return counts;
}

}  // namespace

double unigram_loss(const Dataset& dataset, bool with_special) {
  const std::vector<double> known = token_counts(dataset, Split::train);
  const std::vector<double> met = token_counts(dataset, Split::validation);
  double total = 0, weighted = 0, tokens = 0;
  for (std::size_t id = 0; id < known.size(); ++id) {
    if (!with_special && dataset.tokenizer().is_special(static_cast<TokenId>(id))) continue;
    total += known[id] + 1;
    weighted += met[id] * std::log(known[id] + 1);
    tokens += met[id];
  }
  return tokens > 0 ? std::log(total) - weighted / tokens : 0;
}

std::optional<double> unigram_loss(const Settings& settings, const std::string& metric) {
  if (!settings.data.sources.empty()) return std::nullopt;  // not of one text
  try {
    const Dataset dataset(settings.data.directory);
    const LanguageEvaluation frequencies{
        .loss = unigram_loss(dataset, task_facts(settings.task).causal)};
    if (metric == "bits_per_character") return bits_of_character(frequencies, dataset);
    if (metric == "bits_per_byte") return bits_of_byte(frequencies, dataset);
    return frequencies.loss;
  } catch (const Error& error) {
    log::warn("no line of word frequencies: {}", error.what());
    return std::nullopt;
  }
}

}  // namespace roformer
