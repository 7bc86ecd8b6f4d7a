#include "tasks/language/language_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/random.h"
#include "config/task_facts.h"

namespace roformer {
namespace {

template <typename Rows>
class BatchesOf final : public LanguageBatches {
 public:
  explicit BatchesOf(Rows rows) : rows_(std::move(rows)) {}

  LanguageBatch training(std::int64_t number) const override {
    return to_device(rows_.training(number), at::kCPU);
  }
  LanguageBatch validation(std::int64_t number, std::int64_t token_limit,
                           const Arrangement& arrangement) const override {
    return to_device(arranged(rows_.validation(number, token_limit), arrangement), at::kCPU);
  }
  std::int64_t validation_batches(std::int64_t token_limit) const override {
    return rows_.validation_batches(token_limit);
  }
  double batches_per_epoch() const override { return rows_.batches_per_epoch(); }

 private:
  Rows rows_;
};

}  // namespace

std::unique_ptr<LanguageBatches> make_language_batches(const Settings& settings,
                                                       const std::vector<WeightedDataset>& sources,
                                                       const LanguageRows& rows) {
  if (task_facts(settings.task).causal) {
    return std::make_unique<BatchesOf<CausalBatches>>(
        CausalBatches(sources, rows.split, rows.length, rows.batches));
  }
  return std::make_unique<BatchesOf<MaskedBatches>>(
      MaskedBatches(sources, rows.split, rows.length, settings.data.masking, rows.batches));
}

namespace {

// The data set of a key's entry. Throws if its tokenizer differs from that of data.directory.
std::shared_ptr<const Dataset> open_beside(const Dataset& main, const char* key,
                                           const std::string& entry,
                                           const std::filesystem::path& folder) {
  auto dataset = std::make_shared<const Dataset>(folder);
  const Tokenizer& own = dataset->tokenizer();
  if (own.fingerprint() == main.tokenizer().fingerprint()) return dataset;
  throw_usage(key,
              fmt::format("{}: {} has another tokenizer ({} pieces) than data.directory "
                          "({} pieces)",
                          entry, folder.string(), own.vocabulary_size(),
                          main.tokenizer().vocabulary_size()),
              "prepare it with the same one: roformer data prepare TEXT --tokenizer " +
                  main.folder().string());
}

}  // namespace

std::vector<LanguageSource> language_sources(const Settings& settings,
                                             const std::shared_ptr<const Dataset>& main) {
  std::vector<LanguageSource> result;
  for (const DataSource& source : settings.data.sources) {
    const bool same = source.directory == settings.data.directory;
    result.push_back({.dataset = same ? main
                                      : open_beside(*main, "data.sources",
                                                    fmt::format("source {}", result.size() + 1),
                                                    source.directory),
                      .weight = source.weight});
  }
  if (result.empty()) result.push_back({.dataset = main});
  return result;
}

std::vector<WeightedDataset> weighted_datasets(const std::vector<LanguageSource>& sources) {
  std::vector<WeightedDataset> result;
  for (const LanguageSource& source : sources) result.push_back({*source.dataset, source.weight});
  return result;
}

std::vector<LanguageStage> language_stages(const Settings& settings,
                                           const std::shared_ptr<const Dataset>& dataset,
                                           const std::vector<LanguageSource>& sources) {
  std::vector<LanguageStage> result;
  for (const StageSettings& stage : settings.stages) {
    const std::size_t number = result.size() + 1;
    result.push_back(
        {.sources = stage.directory.empty()
                        ? sources
                        : std::vector<LanguageSource>{{.dataset = open_beside(
                                                           *dataset, "stages",
                                                           fmt::format("stage {}", number),
                                                           stage.directory)}},
         .length = stage.length.value_or(settings.data.length),
         .rows = stage.batch.value_or(settings.training.batch),
         .seed = number == 1 ? settings.seed
                             : random_key({settings.seed, random_word("stage"), number - 1})});
  }
  if (result.empty()) {
    result.push_back({.sources = sources,
                      .length = settings.data.length,
                      .rows = settings.training.batch,
                      .seed = settings.seed});
  }
  return result;
}

void say_shares(const Settings& settings, const std::vector<LanguageSource>& sources) {
  if (settings.data.sources.empty()) return;
  double weights = 0, tokens = 0;
  const auto tokens_of = [](const LanguageSource& source) {
    return static_cast<double>(source.dataset->description()[Split::train].counts.tokens);
  };
  for (const LanguageSource& source : sources) {
    weights += source.weight;
    tokens += tokens_of(source);
  }
  std::vector<double> wanted;
  for (const LanguageSource& source : sources) wanted.push_back(source.weight);
  const SourceMixture mixture(wanted);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const LanguageSource& source = sources[i];
    const double share = static_cast<double>(mixture.share(i)) / SourceMixture::kPattern;
    log::info("source {}: {:.1f} % of the rows, {:.2f} passes over it in an epoch",
              source.dataset->folder().string(), 100 * share,
              share * tokens / std::max(tokens_of(source), 1.0));
    constexpr double kFar = 0.1;
    if (std::abs(share * weights / source.weight - 1) > kFar) {
      log::warn("source {}: its weight asks for {:.2g} % of the rows; it gets whole rows of {}",
                source.dataset->folder().string(), 100 * source.weight / weights,
                format_count(SourceMixture::kPattern));
    }
  }
}

}  // namespace roformer
