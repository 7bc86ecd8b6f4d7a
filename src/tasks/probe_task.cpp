#include "tasks/probe_task.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "config/position_facts.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "data/probes.h"
#include "tasks/data_record.h"
#include "tasks/language_model.h"
#include "tasks/model_setup.h"
#include "tasks/shared_batches.h"

namespace roformer {
namespace {

constexpr std::int64_t kProbeValidationTokens = 16384;        // of a batch
constexpr std::uint64_t kProbeValidationSeed = 0x70726f6265;  // the same questions in every run

struct ProbeBatch : TrainingBatch {
  LanguageBatch batch;
  std::int64_t targets_of_row = 0;
};

// Questions of one kind as a model is given them.
struct ProbeForm {
  ProbeKind kind = ProbeKind::copy;
  // The id that stands in the answer's positions, all of them predicted at once; -1: the answer
  // stands there, each character predicted from what precedes it.
  std::int64_t mask = -1;

  bool masked() const { return mask >= 0; }
};

// Questions of one size; the targets of a masked one are without the line end, which says nothing
// there.
ProbeBatch probe_batch(const ProbeForm& form, std::int64_t size, std::int64_t rows,
                       std::uint64_t key) {
  const std::int64_t length = probe_length(form.kind, size) - 1;  // the last one predicts nothing
  std::vector<std::int64_t> ids, positions, labels;
  for (std::int64_t row = 0; row < rows; ++row) {
    const ProbeText probe =
        make_probe(form.kind, size, random_key({key, static_cast<std::uint64_t>(row)}));
    const auto id = [&](std::size_t i) {
      return static_cast<std::int64_t>(static_cast<unsigned char>(probe.text[i]));
    };
    const std::size_t begin = ids.size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) ids.push_back(id(i));
    for (const std::size_t target : probe.targets) {
      const auto place = static_cast<std::int64_t>(begin + target);
      if (form.masked() && static_cast<std::int64_t>(target) == length) continue;
      if (form.masked()) ids[begin + target] = form.mask;
      positions.push_back(place - (form.masked() ? 0 : 1));
      labels.push_back(id(target));
    }
  }
  ProbeBatch result;
  result.batch = {.ids = copy_to(ids, at::kCPU),
                  .layout = TokenLayout::uniform(rows, length),
                  .target_positions = copy_to(positions, at::kCPU),
                  .labels = copy_to(labels, at::kCPU)};
  result.target_count = static_cast<std::int64_t>(labels.size());
  result.targets_of_row = result.target_count / rows;
  result.tokens = rows * length;
  return result;
}

// With tables for the longest test.
Settings with_room(const Settings& settings) {
  Settings result = settings;
  fit_to(result.position, {.length = settings.data.length * settings.probe.longest,
                           .causal = task_facts(settings.task).causal});
  return result;
}

class ProbeTask : public TrainingTask {
 public:
  ProbeTask(const Settings& settings, std::shared_ptr<const Tokenizer> tokenizer,
            const ComputePlan& plan)
      : settings_(settings),
        tokenizer_(std::move(tokenizer)),
        form_{.kind = settings.probe.kind,
              .mask = task_facts(settings.task).causal ? -1 : tokenizer_->special().mask},
        model_(with_room(settings), tokenizer_->vocabulary_size(), plan),
        largest_(probe_size(settings.probe.kind, settings.data.length)) {
    const ProbeKind kind = settings.probe.kind;
    if (largest_ == 0) {
      throw_usage("data.length",
                  fmt::format("{} does not hold the smallest question of {}", settings.data.length,
                              to_word(kind)),
                  fmt::format("at least {}", probe_length(kind, 1)));
    }
    const std::int64_t longest = settings.probe.longest * settings.data.length;
    if (probe_size(kind, longest) <= largest_probe(kind)) return;
    throw_usage("probe.longest",
                fmt::format("{} times data.length {} is more than the longest question of {}",
                            settings.probe.longest, settings.data.length, to_word(kind)),
                fmt::format("at most {} characters", probe_length(kind, largest_probe(kind))));
  }

  ParameterStore& parameters() override { return model_.parameters(); }

  // One size for all rows of a batch, so that nothing is padded.
  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    const std::uint64_t key =
        random_key({settings_.seed, random_word("probes"), static_cast<std::uint64_t>(number)});
    const auto size =
        1 + static_cast<std::int64_t>(Random(key).below(static_cast<std::uint64_t>(largest_)));
    return std::make_unique<ProbeBatch>(probe_batch(form_, size, settings_.training.batch, key));
  }

  double batches_per_epoch() const override { return std::numeric_limits<double>::infinity(); }
  double tokens_per_batch() const override {
    const ProbeKind kind = settings_.probe.kind;
    return static_cast<double>(settings_.training.batch *
                               (probe_length(kind, 1) + probe_length(kind, largest_) - 2)) /
           2;
  }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const auto& source = static_cast<const ProbeBatch&>(batch).batch;
    return model_.loss(to_device(source, model_.plan().device), mode).loss_sum;
  }

  Figures validate(Processes& processes) override {
    Figures figures;
    for (std::int64_t times = 1; times <= settings_.probe.longest; times *= 2) {
      const Answers answers = answers_at(times, processes);
      const std::string suffix = times == 1 ? "" : fmt::format("_at_x{}", times);
      if (times == 1) figures["loss"] = answers.loss;
      figures["accuracy" + suffix] = answers.right;
      figures["symbol_accuracy" + suffix] = answers.right_symbols;
    }
    return figures;
  }

  void save_assets(const std::string& folder) const override {
    save_tokenizer(*tokenizer_, folder);
  }

 private:
  struct Answers {
    double loss = 0;           // of a symbol
    double right = 0;          // share of the answers that are right from begin to end
    double right_symbols = 0;  // share of their targets; causal: behind the right ones before
  };
  // Sums over the answers of a batch, and how many symbols they have.
  struct BatchSums {
    double loss = 0;
    double right = 0;
    double right_symbols = 0;
    double symbols = 0;
  };

  Settings settings_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  ProbeForm form_;
  LanguageModel model_;
  std::int64_t largest_;  // size of a question in training

  // An answer whose targets are all the likeliest ones is what greedy decoding would have written
  // (given the keys of recall), or what an encoder writes in place.
  Answers answers_at(std::int64_t times, Processes& processes) const {
    const c10::AutoGradMode no_gradient(false);
    const ProbeKind kind = settings_.probe.kind;
    const std::int64_t size = probe_size(kind, times * settings_.data.length);
    const std::int64_t at_once =
        std::max<std::int64_t>(1, kProbeValidationTokens / probe_length(kind, size));
    const std::int64_t examples = settings_.probe.examples;
    const auto of_batch = [&](std::int64_t n) {
      const std::int64_t done = n * at_once, rows = std::min(at_once, examples - done);
      const ProbeBatch batch =
          probe_batch(form_, size, rows,
                      random_key({kProbeValidationSeed, static_cast<std::uint64_t>(size),
                                  static_cast<std::uint64_t>(done)}));
      const CrossEntropy loss =
          model_.loss(to_device(batch.batch, model_.plan().device), {.training = false});
      const at::Tensor correct = loss.correct.view({rows, batch.targets_of_row});
      return BatchSums{.loss = loss.losses.sum().item<double>(),
                       .right = correct.all(1).sum().item<double>(),
                       .right_symbols = correct.sum().item<double>(),
                       .symbols = static_cast<double>(batch.target_count)};
    };
    Answers answers;
    double symbols = 0;
    for (const BatchSums& batch :
         of_all_batches<BatchSums>(processes, (examples + at_once - 1) / at_once, of_batch)) {
      answers.loss += batch.loss;
      answers.right += batch.right;
      answers.right_symbols += batch.right_symbols;
      symbols += batch.symbols;
    }
    answers.loss /= symbols;
    answers.right_symbols /= symbols;
    answers.right /= static_cast<double>(examples);
    return answers;
  }
};

}  // namespace

OpenedTask open_probe_task(const TaskSources& sources) {
  const std::shared_ptr<const Tokenizer> tokenizer = open_tokenizer({.kind = TokenizerKind::bytes});
  return {.task = std::make_unique<ProbeTask>(sources.settings, tokenizer, sources.plan),
          .tokenizer = tokenizer,
          .data = data_record(sources.settings)};
}

}  // namespace roformer
