#include "tasks/example_training.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "base/progress.h"
#include "tasks/data_record.h"

namespace roformer {
namespace {

BucketOptions text_bucket_options(const Settings& settings) {
  constexpr std::int64_t kAllLengths = 1 << 30;
  BucketOptions options{.seed = settings.seed};
  if (settings.training.batch_tokens > 0) {
    options.tokens = settings.training.batch_tokens;
  } else {
    options.sequences = settings.training.batch;
    options.bucket_width = kAllLengths;
  }
  return options;
}

}  // namespace

void ExampleTraining::batch_by_length(std::vector<std::int32_t> lengths) {
  lengths_ = std::move(lengths);
  batches_.emplace(lengths_, text_bucket_options(settings_));
}

std::unique_ptr<TrainingBatch> ExampleTraining::make_batch(std::int64_t number) const {
  return make_part_of(0, number, {});
}

std::unique_ptr<TrainingBatch> ExampleTraining::make_part_of(std::int64_t, std::int64_t number,
                                                             const BatchPart& part) const {
  BucketBatch chosen = (*batches_)[number];
  auto batch = std::make_unique<ExampleBatch>();
  batch->target_count = std::ssize(chosen.sequences);
  batch->tokens = chosen.tokens;
  batch->examples = std::move(chosen.sequences);
  fill(*batch);
  if (!part.whole()) take_part(part, *batch);
  return batch;
}

void ExampleTraining::take_part(const BatchPart& part, ExampleBatch& batch) const {
  std::vector<std::int64_t> lengths;
  for (const std::int64_t example : batch.examples) {
    lengths.push_back(lengths_[static_cast<std::size_t>(example)]);
  }
  const auto [first, last] = sequences_of(part, lengths);
  const std::int64_t texts = std::ssize(batch.texts.lengths) / std::ssize(batch.examples);
  batch.texts = part_of(batch.texts, first * texts, last * texts);
  batch.examples = {batch.examples.begin() + first, batch.examples.begin() + last};
  batch.target_count = std::ssize(batch.examples);
  batch.tokens = std::ssize(batch.texts.ids);
  if (batch.labels.empty()) return;
  const auto label = batch.labels.begin() + batch.texts.first_place;
  batch.target_count = std::ssize(batch.texts.places);
  batch.labels = {label, label + batch.target_count};
}

void ExampleTraining::sort_by_length(ExampleBatch& batch) const {
  std::ranges::stable_sort(batch.examples, {}, [&](std::int64_t example) {
    return lengths_[static_cast<std::size_t>(example)];
  });
}

double ExampleTraining::batches_per_epoch() const {
  return static_cast<double>(batches_->batches_per_epoch());
}

double ExampleTraining::tokens_per_batch() const {
  return std::accumulate(lengths_.begin(), lengths_.end(), 0.0) / batches_per_epoch();
}

void ExampleTraining::save_assets(const InnerPath& folder) const {
  save_tokenizer(*tokenizer_, folder);
}

nlohmann::json ExampleTraining::record_of(std::int64_t training_examples,
                                          std::int64_t validation_examples) const {
  nlohmann::json record = data_record(settings_);
  record["tokenizer_fingerprint"] = hexadecimal(tokenizer_->fingerprint());
  record["training_examples"] = training_examples;
  record["validation_examples"] = validation_examples;
  return record;
}

std::shared_ptr<const Tokenizer> text_tokenizer(const TaskSources& sources) {
  const TokenizerSettings& settings = sources.settings.tokenizer;
  std::shared_ptr<const Tokenizer> tokenizer;
  if (!sources.stored.empty()) {
    tokenizer = load_tokenizer(sources.stored);
  } else {
    const bool named = !settings.file.empty() || settings.kind != TokenizerKind::automatic ||
                       !settings.dictionary.empty();
    tokenizer = named ? open_tokenizer(settings) : sources.offered;
  }
  if (tokenizer == nullptr) {
    throw_usage("tokenizer.file", "is not given, and there is no model.from to take one from",
                "--model.from RUN, or --tokenizer.file vocab.txt for a new model");
  }
  require_sentence_tokens(*tokenizer);
  return tokenizer;
}

std::int64_t warn_of_cut(const std::vector<EncodedText>& texts, const std::string& name,
                         const char* unit, std::int64_t length) {
  const std::int64_t cut = std::ranges::count_if(texts, &EncodedText::cut);
  if (cut > 0) {
    log::warn("{}: {} of {} {} are longer than data.length {} and were cut", name,
              format_count(cut), format_count(std::ssize(texts)), unit, length);
  }
  return cut;
}

void warn_of_unknown(const std::vector<EncodedText>& texts, const std::string& name,
                     const Tokenizer& tokenizer) {
  std::int64_t pieces = 0, unknown = 0;
  for (const EncodedText& text : texts) {
    pieces += text.length();
    unknown += std::ranges::count(text.ids, tokenizer.special().unknown);
  }
  constexpr double kMany = 0.01;
  if (static_cast<double>(unknown) <= kMany * static_cast<double>(pieces)) return;
  log::warn("{}: {:.1f} % of the pieces are unknown to the vocabulary", name,
            100 * static_cast<double>(unknown) / static_cast<double>(pieces));
}

std::vector<std::int32_t> lengths_of(const std::vector<EncodedText>& texts) {
  std::vector<std::int32_t> lengths;
  for (const EncodedText& text : texts) lengths.push_back(static_cast<std::int32_t>(text.length()));
  return lengths;
}

}  // namespace roformer
