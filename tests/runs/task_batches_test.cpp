// What the trainer counts on of every task of the registry.
#include <ATen/core/Tensor.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "catch.h"
#include "config/words.h"
#include "runs/tiny_glue.h"
#include "runs/tiny_run.h"
#include "runs/tiny_translation.h"
#include "runs/trained_model.h"
#include "tasks/task_definition.h"
#include "tasks/translation/translation_search.h"
#include "tasks/translation/translator.h"
#include "training/signals.h"

using namespace roformer;

namespace {

// Losses of the first batches, made in this order, on a thread of their own or not.
std::vector<double> losses(const Settings& settings, const std::vector<std::int64_t>& numbers,
                           bool elsewhere) {
  const OpenedTask opened =
      open_task({.settings = settings,
                 .plan = plan_compute(DeviceKind::cpu, Precision::fp32, settings.model.width)});
  std::vector<double> result(4);
  for (const std::int64_t number : numbers) {
    std::unique_ptr<TrainingBatch> batch;
    const auto make = [&] { batch = opened.task->make_batch(number); };
    if (elsewhere) {
      std::thread(make).join();
    } else {
      make();
    }
    CHECK(batch->tokens > 0);
    CHECK(batch->target_count > 0);
    result[static_cast<std::size_t>(number)] =
        opened.task->loss_sum(*batch, {.training = true, .key = 9, .step = 1}).item<double>();
  }
  return result;
}

void check(const Settings& settings) {
  const std::vector<double> in_order = losses(settings, {0, 1, 2, 3}, false);
  CHECK(in_order[0] != in_order[1]);
  CHECK(losses(settings, {3, 1, 0, 2, 2}, true) == in_order);
}

}  // namespace

TEST_CASE("the search of a set ends where it is told to") {
  const TinyTranslation pairs;
  const Settings settings = pairs.settings("pairs");
  train_run(pairs.settings("pairs", {{"training.steps", "1"}, {"decoding.sentences", "1"}}),
            ExistingRun::refuse);
  const TrainedTranslator trained = open_run_of<Translator>(settings.runs / "pairs", {});
  const ParallelDataset dataset(pairs.data());
  std::atomic<int> groups = 0;
  TranslationOptions options{.decoding = settings.decoding};
  options.decoding.batch_tokens = 8;
  options.before_group = [&] {
    if (++groups == 3) throw ValidationStopped();
  };
  std::vector<std::vector<TokenId>> sources;
  for (int i = 0; i < 12; ++i) {
    sources.push_back(dataset.sentence(Split::validation, Side::source, i));
  }
  CHECK_THROWS_AS(translate({trained.model.get()}, sources,
                            translation_tokens(dataset.tokenizer(Side::target)), options),
                  ValidationStopped);
  CHECK(groups >= 3);
}

TEST_CASE("a batch is a function of its number, in every task") {
  check(TinyRun("rope").settings);
  check(TinyRun("alibi", {{"task", "causal_lm"}}).settings);
  check(TinyRun("alibi", {{"task", "causal_lm"}, {"data.cross_documents", "false"}}).settings);
  check(TinyGlue("mrpc").settings);
  check(TinyGlue("stsb", {{"training.batch_tokens", "64"}}).settings);
}

TEST_CASE("the parts of a batch add up to it, with the same dropout, in every task") {
  const std::vector<Override> dropout = {{"model.dropout", "0.3"}, {"attention.dropout", "0.3"}};
  const auto with = [&](std::vector<Override> more) {
    more.insert(more.end(), dropout.begin(), dropout.end());
    return more;
  };
  const TinyTranslation pairs;
  const TinyRun rope("rope", with({})), causal("alibi", with({{"task", "causal_lm"}}));
  const TinyRun drawn("explicit_positions", with({{"position.draw", "shape"}}));
  const TinyRun documents(
      "rope", with({{"data.cross_documents", "false"}, {"training.recompute", "layer"}}));
  const TinyGlue mrpc("mrpc", with({{"training.batch", "5"}}));
  for (const Settings& settings :
       {rope.settings, causal.settings, drawn.settings, documents.settings, mrpc.settings,
        default_settings({{"task", "probe"}, {"model.layers", "1"}, {"model.dropout", "0.3"}}),
        pairs.settings("pairs", {{"model.dropout", "0.3"}})}) {
    CAPTURE(to_word(settings.task), settings.position.scheme);
    const OpenedTask opened =
        open_task({.settings = settings,
                   .plan = plan_compute(DeviceKind::cpu, Precision::fp32, settings.model.width)});
    TrainingTask& task = *opened.task;
    ParameterStore& parameters = task.parameters();
    const ForwardMode mode{.training = true, .key = 9, .step = 1};
    // Loss, targets and tokens of a batch in parts; the gradients add up in the parameters.
    const auto sums_of = [&](std::int64_t count) {
      parameters.zero_gradients();
      std::vector<double> sums(3);
      for (std::int64_t index = 0; index < count; ++index) {
        const auto part = task.make_part_of(0, 1, {.index = index, .count = count});
        const at::Tensor loss = task.loss_sum(*part, mode);
        loss.backward();
        sums[0] += loss.item<double>();
        sums[1] += static_cast<double>(part->target_count);
        sums[2] += static_cast<double>(part->tokens);
      }
      return sums;
    };
    const std::vector<double> whole = sums_of(1);
    const at::Tensor gradient = parameters.flat_gradients().clone();
    for (const std::int64_t count : {2, 3}) {
      const std::vector<double> parts = sums_of(count);
      CHECK(parts[0] == Approx(whole[0]).epsilon(1e-6));
      CHECK(parts[1] == whole[1]);
      CHECK(parts[2] == whole[2]);
      const double off = (parameters.flat_gradients() - gradient).norm().item<double>();
      CHECK(off < 1e-5 * gradient.norm().item<double>());
    }
  }
}

TEST_CASE("a signal stops a validation of every task") {
  const TinyRun tiny("rope");
  const TinyGlue glue("mrpc");
  const TinyTranslation pairs;
  for (const Settings& settings :
       {tiny.settings, default_settings({{"task", "probe"}, {"model.layers", "1"}}), glue.settings,
        pairs.settings("pairs")}) {
    CAPTURE(to_word(settings.task));
    const OpenedTask opened =
        open_task({.settings = settings,
                   .plan = plan_compute(DeviceKind::cpu, Precision::fp32, settings.model.width)});
    const StopSignals signals;
    const std::unique_ptr<Processes> alone = make_single_process();
    std::raise(SIGTERM);
    CHECK_THROWS_AS(opened.task->validate(*alone), ValidationStopped);
  }
}
