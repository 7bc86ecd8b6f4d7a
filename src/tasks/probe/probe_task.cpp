// Probes of length as a task: a causal model or an encoder answers questions that are made on the
// fly, trained on texts of at most data.length and tested at that length and 2, 4 ... times as
// long.
#include <fmt/format.h>

#include <limits>
#include <utility>

#include "base/error.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "base/random.h"
#include "config/schema.h"
#include "config/words.h"
#include "data/probes.h"
#include "tasks/data_record.h"
#include "tasks/language/language_model.h"
#include "tasks/probe/probe_answers.h"
#include "tasks/task_definition.h"
#include "tasks/task_model.h"

namespace roformer {
namespace {

class ProbeTask : public TrainingTask {
 public:
  ProbeTask(const Settings& settings, std::shared_ptr<const Tokenizer> tokenizer,
            const ComputePlan& plan)
      : settings_(settings),
        tokenizer_(std::move(tokenizer)),
        form_(probe_form(settings, *tokenizer_)),
        model_(with_room_for_tests(settings), tokenizer_->vocabulary_size(), plan),
        largest_(probe_size(settings.probe.kind, settings.data.length)) {
    const ProbeKind kind = settings.probe.kind;
    if (largest_ == 0) {
      throw_usage("data.length",
                  fmt::format("{} does not hold the smallest question of {}", settings.data.length,
                              to_word(kind)),
                  fmt::format("at least {}", probe_length(kind, 1)));
    }
    const std::int64_t longest = settings.probe.longest * settings.data.length;
    const std::optional<std::int64_t> most = longest_probe(kind);
    if (!most || probe_size(kind, longest) <= largest_probe(kind)) return;
    throw_usage("probe.longest",
                fmt::format("{} times data.length {} is more than the longest question of {}",
                            settings.probe.longest, settings.data.length, to_word(kind)),
                fmt::format("at most {} characters", *most));
  }

  ParameterStore& parameters() override { return model_.parameters(); }

  // One size for all rows of a batch, so that nothing is padded.
  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    return make_part_of(0, number, {});
  }
  std::unique_ptr<TrainingBatch> make_part_of(std::int64_t, std::int64_t number,
                                              const BatchPart& part) const override {
    const std::uint64_t key =
        random_key({settings_.seed, random_word("probes"), static_cast<std::uint64_t>(number)});
    const auto size =
        1 + static_cast<std::int64_t>(Random(key).below(static_cast<std::uint64_t>(largest_)));
    auto made =
        std::make_unique<ProbeBatch>(probe_batch(form_, size, settings_.training.batch, key));
    LanguageBatch own = part_of(made->batch, part);
    made->target_count = own.labels.numel();
    made->tokens = own.ids.numel();
    made->batch = model_.pad_and_pin(std::move(own));
    return made;
  }

  double batches_per_epoch() const override { return std::numeric_limits<double>::infinity(); }
  double tokens_per_batch() const override {
    const ProbeKind kind = settings_.probe.kind;
    return static_cast<double>(settings_.training.batch *
                               (probe_length(kind, 1) + probe_length(kind, largest_) - 2)) /
           2;
  }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const auto& source = static_cast<const LanguageTrainingBatch&>(batch).batch;
    return model_.loss(to_device(source, model_.plan().device), mode).loss_sum;
  }

  bool repeats_its_work() const override { return model_.repeats_its_work(); }

  Figures validate(Processes& processes) override {
    Figures figures;
    for (std::int64_t times = 1; times <= settings_.probe.longest; times *= 2) {
      const std::int64_t size = probe_size(form_.kind, times * settings_.data.length);
      const ProbeAnswers answers =
          probe_answers(model_, form_, size, settings_.probe.examples, processes);
      const std::string suffix = times == 1 ? "" : fmt::format("_at_x{}", times);
      if (times == 1) figures["loss"] = answers.loss;
      figures["accuracy" + suffix] = answers.right;
      figures["symbol_accuracy" + suffix] = answers.right_symbols;
    }
    return figures;
  }

  void save_assets(const InnerPath& folder) const override { save_tokenizer(*tokenizer_, folder); }

 private:
  Settings settings_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  ProbeForm form_;
  LanguageModel model_;
  std::int64_t largest_;  // size of a question in training
};

nlohmann::json probe_data_record(const Settings& settings) {
  return {{"name", to_word(settings.task) + ": " + to_word(settings.probe.kind)},
          {"fingerprint", hexadecimal(probe_fingerprint(settings.probe.kind))}};
}

// The task needs no folder of data. Every scheme gets tables for the longest test.
OpenedTask open_probe_task(const TaskSources& sources) {
  const std::shared_ptr<const Tokenizer> tokenizer = open_tokenizer({.kind = TokenizerKind::bytes});
  for (const std::string& name : diff(sources.settings, with_room_for_tests(sources.settings))) {
    const Key& key = *find_key(name);
    log::info("{} is {} in the model, for the tests at {} times the length", name,
              key.get(with_room_for_tests(sources.settings)), sources.settings.probe.longest);
  }
  return {.task = std::make_unique<ProbeTask>(sources.settings, tokenizer, sources.plan),
          .tokenizer = tokenizer,
          .data = data_record(sources.settings)};
}

std::unique_ptr<TaskModel> make_probe_model(const Settings& settings,
                                            const TranslationVocabularies& vocabularies,
                                            const ComputePlan& plan) {
  return std::make_unique<LanguageModel>(with_room_for_tests(settings), vocabularies.source, plan);
}

TaskDefinition define_any_probe(TaskKind task) {
  return {.task = task,
          .noun = "probe",
          .open = open_probe_task,
          .data_record = probe_data_record,
          .make_model = make_probe_model,
          .settings_for_use = with_room_for_tests,
          .evaluate_flags = {"--length", "--questions", "--against"},
          .evaluate = evaluate_probe};
}

}  // namespace

TaskDefinition define_probe() {
  return define_any_probe(TaskKind::probe);
}
TaskDefinition define_masked_probe() {
  return define_any_probe(TaskKind::masked_probe);
}

}  // namespace roformer
