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
#include "tasks/data_record.h"
#include "tasks/embedding/embedder.h"
#include "tasks/embedding/embedding_set.h"
#include "tasks/example_training.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

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

class EmbeddingTraining : public ExampleTraining {
 public:
  EmbeddingTraining(const Settings& settings, std::shared_ptr<const Tokenizer> tokenizer,
                    const ComputePlan& plan)
      : ExampleTraining(settings, std::move(tokenizer)),
        training_(load_set(settings, *tokenizer_, Split::train)),
        validation_(load_set(settings, *tokenizer_, Split::validation)),
        scale_(training_.source.scored ? score_scale(training_.source, settings.data.train.string())
                                       : 1),
        embedder_(settings, tokenizer_->vocabulary_size(), plan) {
    if (settings.embedding.loss == EmbeddingLoss::in_batch && !training_.source.triplets &&
        std::min(settings.training.batch, std::ssize(training_.source.examples)) == 1) {
      throw_usage("training.batch",
                  "one pair leaves embedding.loss in_batch no text to tell a partner from",
                  "two pairs or more, in the data and in a batch");
    }
    batch_by_length(example_lengths());
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

  nlohmann::json data() const {
    nlohmann::json record =
        record_of(std::ssize(training_.source.examples), std::ssize(validation_.source.examples));
    record["score_scale"] = scale_;
    return record;
  }

  ParameterStore& parameters() override { return embedder_.parameters(); }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const auto& source = static_cast<const ExampleBatch&>(batch);
    const std::vector<EmbeddingExample> examples = examples_of(source);
    const at::Tensor pooled = source.parts.empty() ? embedder_.forward(source.texts, mode)
                                                   : with_other_parts(source, mode);
    const at::Tensor rows = pooled.index_select(0, copy_to(source.order, pooled.device()));
    const std::int64_t count = std::ssize(examples);
    ExampleVectors vectors{.first = rows.narrow(0, 0, count),
                           .second = rows.narrow(0, count, count)};
    if (training_.source.triplets) vectors.negative = rows.narrow(0, 2 * count, count);
    const at::Tensor loss = embedding_loss_sum(settings_.embedding, examples, vectors, scale_);
    if (source.parts.empty()) return loss;
    // Each process has the loss of all examples, and the gradient by the vectors of its own texts.
    const auto parts = static_cast<double>(std::ssize(source.parts) - 1);
    return loss - loss.detach() * (1 - 1 / parts);
  }
  bool needs_other_parts() const override { return true; }

  Figures validate(Processes& processes) override {
    return embedding_figures(settings_, validation_,
                             embedder_.predict(validation_.texts, {}, processes), scale_);
  }

 protected:
  // The first texts, then the second, then the negatives.
  void fill(ExampleBatch& batch) const override {
    const std::vector<EmbeddingExample> examples = examples_of(batch);
    std::vector<std::int64_t> texts;
    for (const EmbeddingExample& one : examples) texts.push_back(one.first);
    for (const EmbeddingExample& one : examples) texts.push_back(one.second);
    if (training_.source.triplets) {
      for (const EmbeddingExample& one : examples) texts.push_back(one.negative);
    }
    // Places texts of the same length side by side, so that one call of the attention handles them.
    std::vector<std::int64_t> sorted(texts.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    const auto text_at = [&](std::int64_t i) -> const EncodedText& {
      return training_.texts[static_cast<std::size_t>(texts[static_cast<std::size_t>(i)])];
    };
    std::ranges::stable_sort(sorted, {}, [&](std::int64_t i) { return text_at(i).length(); });
    batch.order.resize(texts.size());
    for (std::size_t place = 0; place < sorted.size(); ++place) {
      append(text_at(sorted[place]), batch.texts);
      batch.order[static_cast<std::size_t>(sorted[place])] = static_cast<std::int64_t>(place);
    }
  }

  // The loss compares all examples of a micro-batch, so a part keeps them and has some of the
  // texts.
  void take_part(const BatchPart& part, ExampleBatch& batch) const override {
    batch.target_count = part.share_of(std::ssize(batch.examples));
    for (std::int64_t i = 0; i < part.count; ++i) {
      batch.parts.push_back(sequences_of({i, part.count}, batch.texts.lengths).first);
    }
    batch.parts.push_back(std::ssize(batch.texts.lengths));
    const auto [first, last] = sequences_of(part, batch.texts.lengths);
    batch.texts = part_of(batch.texts, first, last);
    batch.tokens = std::ssize(batch.texts.ids);
  }

 private:
  EmbeddingSet training_, validation_;
  double scale_;  // of the scores of the loss cosine
  Embedder embedder_;

  // The vectors of all texts of a divided micro-batch, in their order [texts, M]; those of the
  // other processes without a graph.
  at::Tensor with_other_parts(const ExampleBatch& batch, const ForwardMode& mode) const {
    const std::vector<std::int64_t>& begins = batch.parts;
    const std::int64_t parts = std::ssize(begins) - 1, rank = mode.processes->rank();
    const auto count = [&](std::int64_t part) {
      return begins[static_cast<std::size_t>(part) + 1] - begins[static_cast<std::size_t>(part)];
    };
    at::Tensor own = at::zeros({0, embedder_.outputs()},
                               at::TensorOptions(embedder_.plan().device).dtype(at::kFloat));
    if (!batch.texts.lengths.empty()) own = embedder_.forward(batch.texts, mode);
    // All processes send as many rows as the one with the most.
    const auto texts = static_cast<double>(own.size(0));
    double most = 0;
    for (const auto& row : gather_numbers(*mode.processes, {&texts, 1})) {
      most = std::max(most, row[0]);
    }
    const at::Tensor sent = at::zeros({static_cast<std::int64_t>(most), own.size(1)}, at::kFloat);
    sent.narrow(0, 0, own.size(0)).copy_(own.detach());
    const at::Tensor received =
        at::empty({mode.processes->count(), sent.size(0), sent.size(1)}, at::kFloat);
    mode.processes->begin_gather(received, sent)->wait();
    std::vector<at::Tensor> all;
    for (std::int64_t part = 0; part < parts; ++part) {
      all.push_back(part == rank % parts
                        ? own
                        : received[rank - rank % parts + part].narrow(0, 0, count(part)).to(own));
    }
    return at::cat(all, 0);
  }

  std::vector<EmbeddingExample> examples_of(const ExampleBatch& batch) const {
    std::vector<EmbeddingExample> examples;
    for (const std::int64_t example : batch.examples) {
      examples.push_back(training_.source.examples[static_cast<std::size_t>(example)]);
    }
    return examples;
  }

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

}  // namespace

TaskDefinition define_embedding() {
  return {.task = TaskKind::embedding,
          .noun = Embedder::kNoun,
          .open = open_examples<EmbeddingTraining>,
          .data_record = embedding_data_record,
          .make_model = make_model_of<Embedder>,
          .evaluate_flags = {"--data", "--length", "--errors", "--against"},
          .refused_flags = {{"--split", "its sets are files: --data FILE"}},
          .evaluate = evaluate_embedder,
          .predict_flags = {"--format csv"},
          .predict = predict_cosines};
}

}  // namespace roformer
