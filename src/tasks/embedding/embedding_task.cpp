#include "tasks/embedding/embedding_task.h"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/random.h"
#include "config/task_facts.h"
#include "data/length_batches.h"
#include "tasks/classifier.h"
#include "tasks/data_record.h"
#include "tasks/embedding/embedder.h"
#include "tasks/embedding/embedding_set.h"

namespace roformer {
namespace {

struct EmbeddingBatch : TrainingBatch {
  TextBatch texts;  // of all examples, by length
  // For each first text, then each second, then each negative: its place in `texts`.
  std::vector<std::int64_t> places;
  std::vector<EmbeddingExample> examples;
};

EmbeddingSet load_set(const Settings& settings, const Tokenizer& tokenizer, Split split) {
  const bool divided = settings.data.validation.empty();
  const std::string name =
      divided ? fmt::format("{} ({})", settings.data.train.string(), to_string(split))
              : (split == Split::train ? settings.data.train : settings.data.validation).string();
  return encode_embedding_set(settings, tokenizer, read_embedding_split(settings, split), name);
}

// Both losses are over pairs or triplets of one form.
void require_one_form(const Settings& settings, const EmbeddingSet& training,
                      const EmbeddingSet& validation) {
  const auto form = [](const EmbeddingSet& set) {
    return set.source.triplets ? "triplets" : "pairs";
  };
  if (training.source.triplets == validation.source.triplets) return;
  throw_usage("data.validation",
              fmt::format("{} holds {}, {} holds {}", settings.data.validation.string(),
                          form(validation), settings.data.train.string(), form(training)),
              "name the columns to read in both: --embedding.text [A,B]");
}

void warn_of_known_texts(const Settings& settings, const EmbeddingSet& training,
                         const EmbeddingSet& validation) {
  if (settings.data.validation.empty()) return;
  const auto first_of = [](const EmbeddingSet& set, const EmbeddingExample& example) {
    return std::string_view(set.source.texts[static_cast<std::size_t>(example.first)]);
  };
  const auto pair_of = [&](const EmbeddingSet& set, const EmbeddingExample& example) {
    return fmt::format("{}\n{}", first_of(set, example),
                       set.source.texts[static_cast<std::size_t>(example.second)]);
  };
  std::unordered_set<std::string> known;
  for (const EmbeddingExample& one : training.source.examples) known.insert(pair_of(training, one));
  const auto shared = std::ranges::count_if(
      validation.source.examples,
      [&](const EmbeddingExample& one) { return known.contains(pair_of(validation, one)); });
  if (shared == 0) return;
  log::warn("{} of {} validation examples are in the training, too", format_count(shared),
            format_count(std::ssize(validation.source.examples)));
}

class EmbeddingTraining : public TrainingTask {
 public:
  EmbeddingTraining(const Settings& settings, std::shared_ptr<const Tokenizer> tokenizer,
                    const ComputePlan& plan)
      : settings_(settings),
        tokenizer_(std::move(tokenizer)),
        training_(load_set(settings, *tokenizer_, Split::train)),
        validation_(load_set(settings, *tokenizer_, Split::validation)),
        scale_(training_.source.scored ? score_scale(training_.source, settings.data.train.string())
                                       : 1),
        batches_(example_lengths(), text_bucket_options(settings)),
        embedder_(settings, tokenizer_->vocabulary_size(), plan) {
    require_one_form(settings, training_, validation_);
    warn_of_known_texts(settings, training_, validation_);
    if (training_.source.ignores_scores) {
      log::warn(
          "{}: embedding.loss in_batch takes every pair as a match, whatever its score; "
          "--embedding.loss cosine learns the scores",
          settings.data.train.string());
    }
    if (scale_ != 1) {
      log::info("{}: scores are divided by {}, the highest", settings.data.train.string(), scale_);
    }
  }

  // The data's entry in run.json.
  nlohmann::json data() const {
    nlohmann::json record = data_record(settings_);
    record["tokenizer_fingerprint"] = hexadecimal(tokenizer_->fingerprint());
    record["training_examples"] = std::ssize(training_.source.examples);
    record["validation_examples"] = std::ssize(validation_.source.examples);
    record["score_scale"] = scale_;
    return record;
  }

  ParameterStore& parameters() override { return embedder_.parameters(); }

  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    const BucketBatch chosen = batches_[number];
    auto batch = std::make_unique<EmbeddingBatch>();
    batch->target_count = std::ssize(chosen.sequences);
    batch->tokens = chosen.tokens;
    for (const std::int64_t example : chosen.sequences) {
      batch->examples.push_back(training_.source.examples[static_cast<std::size_t>(example)]);
    }
    std::vector<std::int64_t> texts;
    for (const EmbeddingExample& one : batch->examples) texts.push_back(one.first);
    for (const EmbeddingExample& one : batch->examples) texts.push_back(one.second);
    if (training_.source.triplets) {
      for (const EmbeddingExample& one : batch->examples) texts.push_back(one.negative);
    }
    // Places texts of the same length side by side, so that one call of the attention handles them.
    std::vector<std::int64_t> order(texts.size());
    std::iota(order.begin(), order.end(), 0);
    const auto text_at = [&](std::int64_t i) -> const EncodedText& {
      return training_.texts[static_cast<std::size_t>(texts[static_cast<std::size_t>(i)])];
    };
    std::ranges::stable_sort(order, {}, [&](std::int64_t i) { return text_at(i).length(); });
    batch->places.resize(texts.size());
    for (std::size_t place = 0; place < order.size(); ++place) {
      append(text_at(order[place]), batch->texts);
      batch->places[static_cast<std::size_t>(order[place])] = static_cast<std::int64_t>(place);
    }
    return batch;
  }

  double batches_per_epoch() const override {
    return static_cast<double>(batches_.batches_per_epoch());
  }

  double tokens_per_batch() const override {
    const std::vector<std::int32_t> lengths = example_lengths();
    return std::accumulate(lengths.begin(), lengths.end(), 0.0) / batches_per_epoch();
  }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const auto& source = static_cast<const EmbeddingBatch&>(batch);
    const at::Tensor pooled = embedder_.forward(source.texts, mode);
    const at::Tensor rows = pooled.index_select(0, copy_to(source.places, pooled.device()));
    const std::int64_t count = std::ssize(source.examples);
    ExampleVectors vectors{.first = rows.narrow(0, 0, count),
                           .second = rows.narrow(0, count, count)};
    if (training_.source.triplets) vectors.negative = rows.narrow(0, 2 * count, count);
    return embedding_loss_sum(settings_.embedding, source.examples, vectors, scale_);
  }

  Figures validate(Processes& processes) override {
    return embedding_figures(settings_, validation_,
                             embedder_.vectors(validation_.texts, processes), scale_);
  }

  void save_assets(const InnerPath& folder) const override { save_tokenizer(*tokenizer_, folder); }

 private:
  Settings settings_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  EmbeddingSet training_, validation_;
  double scale_;  // of the scores of the loss cosine
  LengthBuckets batches_;
  Embedder embedder_;

  // Tokens of all texts of each example.
  std::vector<std::int32_t> example_lengths() const {
    const auto length = [&](std::int64_t text) {
      return text < 0 ? 0 : training_.texts[static_cast<std::size_t>(text)].length();
    };
    std::vector<std::int32_t> lengths;
    for (const EmbeddingExample& one : training_.source.examples) {
      lengths.push_back(
          static_cast<std::int32_t>(length(one.first) + length(one.second) + length(one.negative)));
    }
    return lengths;
  }
};

}  // namespace

nlohmann::json embedding_data_record(const Settings& settings) {
  const std::filesystem::path& train = settings.data.train;
  const std::string of_train = file_fingerprint(train);
  nlohmann::json record = {{"name", train.filename().string()}, {"fingerprint", of_train}};
  if (settings.data.validation.empty()) {
    // Tells the divisions of a lone file apart.
    const std::string division = hexadecimal(
        random_key({random_word(of_train),
                    random_word(fmt::format("{}", embedding_validation_fraction(settings)))}));
    record["training_fingerprint"] = division;
    record["validation_fingerprint"] = division;
  } else {
    record["training_fingerprint"] = of_train;
    record["validation_fingerprint"] = file_fingerprint(settings.data.validation);
  }
  return record;
}

OpenedTask open_embedding_task(const TaskSources& sources) {
  std::shared_ptr<const Tokenizer> tokenizer = text_tokenizer(sources);
  auto task = std::make_unique<EmbeddingTraining>(sources.settings, tokenizer, sources.plan);
  nlohmann::json data = task->data();
  return {.task = std::move(task), .tokenizer = std::move(tokenizer), .data = std::move(data)};
}

TaskDefinition define_embedding() {
  return {.task = TaskKind::embedding,
          .noun = Embedder::kNoun,
          .open = open_embedding_task,
          .data_record = embedding_data_record,
          .make_model = [](const Settings& settings, const TranslationVocabularies& vocabularies,
                           const ComputePlan& plan) -> std::unique_ptr<TaskModel> {
            return std::make_unique<Embedder>(settings, vocabularies.source, plan);
          },
          .evaluate_flags = {"--data", "--length", "--errors", "--against"},
          .refused_flags = {{"--split", "its sets are files: --data FILE"}},
          .evaluate = evaluate_embedder,
          .predict = predict_cosines};
}

}  // namespace roformer
