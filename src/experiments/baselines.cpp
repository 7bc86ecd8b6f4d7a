#include "experiments/baselines.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "config/task_facts.h"
#include "data/glue.h"
#include "metrics/agreement.h"
#include "tasks/language/language_evaluation.h"

namespace roformer {
namespace {

std::int64_t commonest_label(const std::vector<LabelledText>& examples, std::size_t classes) {
  std::vector<std::int64_t> counts(classes);
  for (const LabelledText& example : examples) ++counts[static_cast<std::size_t>(example.label)];
  return std::ranges::max_element(counts) - counts.begin();
}

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
    // Rows have a separator after each document.
    if (special.separator >= 0) {
      counts[static_cast<std::size_t>(special.separator)] += static_cast<double>(shard.documents());
    }
  }
  return counts;
}

}  // namespace

std::optional<double> commonest_class_score(const Settings& settings) {
  const GlueTask task = settings.glue.task;
  const GlueTaskFacts& facts = glue_task_facts(task);
  const bool glue = task_facts(settings.task).data == TaskData::glue_folder;
  if (!glue || facts.is_regression()) return std::nullopt;
  try {
    const LabelledTexts train = read_glue(settings.data.directory, task, GlueSplit::train);
    const LabelledTexts held_out = read_glue(settings.data.directory, task, GlueSplit::validation);
    if (!train.labelled || !held_out.labelled) return std::nullopt;
    std::vector<std::int64_t> labels;
    for (const LabelledText& example : held_out.examples) labels.push_back(example.label);
    const std::vector<std::int64_t> predictions(
        labels.size(), commonest_label(train.examples, facts.labels.size()));
    const LabelPairs pairs{.predictions = predictions, .labels = labels};
    const std::string_view metric = glue_metric(task);
    return metric == "f1"         ? f1(pairs).value
           : metric == "matthews" ? matthews(pairs).value
                                  : accuracy(pairs).value;
  } catch (const Error& error) {
    log::warn("no row of the commonest class: {}", error.what());
    return std::nullopt;
  }
}

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
