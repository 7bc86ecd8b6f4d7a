// Estimates beside what was estimated: models that are really made, measured memory, trainings.
#include "bench/estimate.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bench/measured_devices.h"
#include "bench/random_training.h"
#include "bench/step_arithmetic.h"
#include "catch.h"
#include "config/load.h"
#include "runs/tiny_run.h"
#include "tasks/task_definition.h"
#include "tensor/profile.h"
#include "training/checkpoint.h"
#include "training/training_step.h"

using namespace roformer;

namespace {

std::vector<Override> small_shape(std::vector<Override> more) {
  std::vector<Override> all = {{"model.layers", "4"},        {"model.width", "128"},
                               {"model.heads", "4"},         {"model.feed_forward", "512"},
                               {"model.vocabulary", "1000"}, {"data.length", "128"},
                               {"training.batch", "8"},      {"training.precision", "fp32"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Bytes of a step beyond what stays from step to step.
std::int64_t measured_peak(TrainingObjective& objective, const Settings& settings) {
  Optimizer optimizer(objective.parameters(), optimizer_options(settings.training));
  const auto step = [&](std::int64_t number) {
    std::vector<std::unique_ptr<TrainingBatch>> batches;
    batches.push_back(objective.make_batch(number));
    take_training_step(objective, optimizer, std::move(batches),
                       {.step = number, .seed = 1, .learning_rate = 1e-4, .clip = 1});
  };
  step(0);
  const MemoryMeter meter;
  step(1);
  return meter.peak();
}

ComputePlan cpu_plan(const Settings& settings) {
  return plan_compute(DeviceKind::cpu, settings.training.precision, settings.model.width);
}

double estimated_peak(const Settings& settings) {
  const MemoryEstimate memory = estimate_training(settings, {.device = "cpu"}).memory();
  return static_cast<double>(memory.activations + memory.logits);
}

}  // namespace

TEST_CASE("an estimate has the parameters of the model, of every task and scheme") {
  const auto change =
      GENERATE(std::vector<Override>{}, std::vector<Override>{{"position", "learned"}},
               std::vector<Override>{{"position", "deberta"}},
               std::vector<Override>{{"task", "causal_lm"}, {"position", "fire"}},
               std::vector<Override>{
                   {"task", "causal_lm"}, {"model.head", "linear"}, {"model.bias", "false"}},
               std::vector<Override>{{"task", "translation"}, {"position", "t5"}},
               std::vector<Override>{{"task", "glue"}, {"glue.task", "mnli"}},
               std::vector<Override>{{"task", "embedding"}, {"training.steps", "9"}});
  const Settings settings = default_settings(small_shape(change));
  const TrainingEstimate estimate =
      estimate_training(settings, {.device = "cpu", .examples = 1000});
  const auto model =
      task_definition(settings.task).make_model(settings, {.source = 1000, .target = 1000}, {});
  CHECK(estimate.count == model->parameters().count());
  std::int64_t sum = 0;
  for (const ParameterPart& part : estimate.parameters) sum += part.count;
  CHECK(sum == estimate.count);
  // What it knows of the data is said to be assumed.
  CHECK_THAT(estimate.assumptions.front(), Catch::Contains("The data are not there"));
}

TEST_CASE("the memory of a language model's step is estimated within 15 %") {
  const auto change = GENERATE(
      std::vector<Override>{}, std::vector<Override>{{"model.layers", "8"}},
      std::vector<Override>{{"model.feed_forward", "1024"}, {"model.vocabulary", "6000"}},
      std::vector<Override>{{"model.norm", "pre"}, {"model.activation", "swiglu"}},
      std::vector<Override>{{"training.precision", "bf16"}},
      std::vector<Override>{{"training.recompute", "layer"}, {"model.layers", "8"}},
      std::vector<Override>{{"training.recompute", "attention"}},
      std::vector<Override>{{"attention.dropout", "0.1"}},
      std::vector<Override>{{"position", "t5"}}, std::vector<Override>{{"position", "shaw"}},
      std::vector<Override>{{"task", "causal_lm"}, {"model.vocabulary", "8000"}},
      std::vector<Override>{{"task", "causal_lm"}, {"attention.kernel", "favor"}},
      std::vector<Override>{
          {"task", "causal_lm"}, {"attention.kernel", "favor"}, {"position", "none"}},
      std::vector<Override>{
          {"task", "causal_lm"}, {"attention.kernel", "favor"}, {"training.precision", "bf16"}},
      std::vector<Override>{
          {"task", "causal_lm"}, {"attention.kernel", "favor"}, {"model.key_value_heads", "1"}},
      std::vector<Override>{{"task", "causal_lm"}, {"attention.kernel", "elu"}});
  const Settings settings = default_settings(small_shape(change));
  const auto objective = random_language(settings, cpu_plan(settings));
  const auto measured = static_cast<double>(measured_peak(*objective, settings));
  std::string changes;
  for (const Override& one : change) changes += one.key + " " + one.text + " ";
  CAPTURE(changes);
  CHECK(estimated_peak(settings) == Approx(measured).epsilon(0.15));
}

TEST_CASE("the memory of a step of a classifier and of a translator is estimated within 15 %") {
  const Settings texts = default_settings(
      small_shape({{"task", "glue"}, {"data.length", "64"}, {"training.batch", "16"}}));
  const auto of_texts = random_texts_objective(texts, cpu_plan(texts), 64);
  const TrainingEstimate estimate =
      estimate_training(texts, {.device = "cpu", .tokens_of_example = 64});
  CHECK(static_cast<double>(estimate.memory().activations) ==
        Approx(static_cast<double>(measured_peak(*of_texts, texts))).epsilon(0.15));

  const Settings pairs =
      default_settings(small_shape({{"task", "translation"}, {"training.batch_tokens", "1024"}}));
  const auto of_pairs = random_pairs(pairs, cpu_plan(pairs));
  CHECK(estimated_peak(pairs) ==
        Approx(static_cast<double>(measured_peak(*of_pairs, pairs))).epsilon(0.15));
}

TEST_CASE("with its data an estimate has the steps and tokens of the training") {
  const TinyRun run("rope", {{"training.steps", "2e"}, {"training.accumulation", "2"}});
  const TrainingEstimate estimate = estimate_training(run.settings, {.device = "cpu"});
  CHECK(estimate.assumptions.size() == 1);  // no hours
  const TrainingSummary summary = train_run(run.settings, ExistingRun::refuse);
  CHECK(estimate.steps() == static_cast<double>(summary.consumed.steps));
  CHECK(estimate.tokens() == static_cast<double>(summary.consumed.tokens));
  std::uint64_t bytes = 0;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(run.run() / "checkpoints")) {
    if (file.path().extension() == ".safetensors") bytes += file.file_size();
  }
  // Headers with the tensors' names beside the numbers, of one checkpoint or of two.
  const auto count = static_cast<double>(list_checkpoints(run.run() / "checkpoints").size());
  CHECK(static_cast<double>(estimate.checkpoint) * count ==
        Approx(static_cast<double>(bytes)).epsilon(0.1));
}

TEST_CASE("processes share the rows of a step, as its tokens and its arithmetic") {
  const Settings settings = default_settings(small_shape({{"training.batch", "12"},
                                                          {"training.accumulation", "2"},
                                                          {"model.width", "768"},
                                                          {"model.heads", "12"},
                                                          {"model.layers", "12"},
                                                          {"training.precision", "bf16"}}));
  const TrainingEstimate one = estimate_training(settings, {.device = "h100"});
  const TrainingEstimate eight = estimate_training(settings, {.device = "h100", .processes = 8});
  CHECK(one.stages[0].rows == 24);
  CHECK(eight.stages[0].rows == 24);
  CHECK(one.stages[0].passes == 2);
  CHECK(eight.stages[0].passes == 1);  // of 3 rows
  CHECK(eight.tokens() == Approx(one.tokens()));
  CHECK(eight.gflop() == Approx(one.gflop()));
  const auto weights = static_cast<std::uint64_t>(2 * one.count);  // rounded, in each process
  CHECK(eight.memory().activations - weights < (one.memory().activations - weights) / 3);
  REQUIRE(one.time);
  REQUIRE(eight.time);
  CHECK(eight.time->hours < one.time->hours);
  CHECK(eight.time->hours > one.time->hours / 8);
  CHECK_THROWS_WITH(estimate_training(settings, {.device = "h100", .processes = 5}),
                    Catch::Contains("2 micro-batches of 12 rows, which 5 processes cannot share") &&
                        Catch::Contains("--training.batch 15"));
}

TEST_CASE("the memory of BERT-base on a GPU is estimated within 15 % of its record") {
  const Settings settings =
      load_settings(std::string(CONFIGS) + "/bench/mlm-base.yaml",
                    {{"training.batch", "32"}, {"training.precision", "bf16"}});
  const TrainingEstimate estimate = estimate_training(settings, {.device = "h200"});
  CHECK(estimate.count == 109'119'546);
  // gpu_memory_mib of "speed, base at 512" in scripts/peers/gpu_h200_graphs.json
  CHECK(static_cast<double>(estimate.memory().total() >> 20) == Approx(6587).epsilon(0.15));
}

TEST_CASE("stages are estimated one by one") {
  const Settings settings = default_settings(small_shape(
      {{"stages", "[{steps: 10, length: 32, batch: 4}, {steps: 5, length: 64, batch: 8}]"}}));
  const TrainingEstimate estimate = estimate_training(settings, {.device = "h200"});
  REQUIRE(estimate.stages.size() == 2);
  CHECK(estimate.steps() == 15);
  CHECK(estimate.tokens() == 10 * 4 * 32 + 5 * 8 * 64);
  CHECK(estimate.memory().total() == estimate.stages[1].memory.total());
}

TEST_CASE("a request that lacks something says what") {
  const Settings without = default_settings({{"training.steps", "3e"}});
  CHECK_THROWS_WITH(estimate_training(without, {.device = "cpu"}), Catch::Contains("--vocabulary"));
  CHECK_THROWS_WITH(estimate_training(without, {.device = "cpu", .vocabulary = 100}),
                    Catch::Contains("--examples") && Catch::Contains("training.steps is 3e"));
  CHECK_THROWS_WITH(estimate_training(without, {.device = "b200"}),
                    Catch::Contains("h100 or h200"));
  const TinyRun run("rope");
  CHECK_THROWS_WITH(estimate_training(run.settings, {.device = "cpu", .vocabulary = 100}),
                    Catch::Contains("is for data that are not prepared"));
}

TEST_CASE("the measured steps have the arithmetic that is counted for them") {
  const auto gflop = [](const std::vector<Override>& shape, double rows, double share) {
    const Settings settings = default_settings(shape);
    const auto length = static_cast<double>(settings.data.length);
    return language_gflop(
        settings, {.tokens = rows * length, .targets = share * rows * length, .length = length});
  };
  const std::vector<Override> base = {{"model.layers", "12"},        {"model.width", "768"},
                                      {"model.heads", "12"},         {"model.feed_forward", "3072"},
                                      {"model.vocabulary", "30522"}, {"data.length", "512"}};
  std::vector<Override> gpt2 = base;
  gpt2.insert(gpt2.end(), {{"task", "causal_lm"},
                           {"model.vocabulary", "50257"},
                           {"model.head", "linear"},
                           {"data.length", "1024"}});
  for (const MeasuredDevice& device : measured_devices()) {
    for (const MeasuredStep& step : device.steps) {
      CAPTURE(step.name);
      for (const double rows : {32, 64, 128}) {
        const std::string shown = std::to_string(static_cast<int>(rows)) + " rows of ";
        if (step.name == "BERT-base, " + shown + "512") {
          CHECK(step.gflop == Approx(gflop(base, rows, 0.15)).epsilon(0.01));
        } else if (step.name == "GPT-2 of 124 M, " + shown + "1,024") {
          CHECK(step.gflop == Approx(gflop(gpt2, rows, 1)).epsilon(0.01));
        }
      }
      const InterpolatedTime same = interpolated_time(device, step.gflop, step.width);
      CHECK(same.milliseconds == Approx(step.milliseconds));
      CHECK(same.factor == Approx(1.1));
    }
    const InterpolatedTime narrow = interpolated_time(device, 9187, 256);
    CHECK(narrow.milliseconds > interpolated_time(device, 9187, 768).milliseconds);
    CHECK(narrow.factor > 1.3);
  }
}

TEST_CASE("eight cards add the gradients of BERT-base as the formula says") {
  const MeasuredDevice& device = *find_measured_device("NVIDIA H100 80GB HBM3");
  CHECK(device.name == "h100");
  CHECK(reduction_milliseconds(device, 0.44e9, 8) == Approx(2.1).epsilon(0.01));
  CHECK(reduction_milliseconds(device, 0.44e9, 64) == Approx(2.1 + 30.8).epsilon(0.01));
  CHECK(reduction_milliseconds(device, 0.44e9, 1) == 0);
  CHECK(find_measured_device("NVIDIA A100") == nullptr);
}

// A busy machine may disturb either time, so the bounds are wide.
TEST_CASE("measured steps tell the time of a training") {
  const TinyRun run("rope", {{"training.steps", "60"},
                             {"training.batch", "32"},
                             {"model.width", "128"},
                             {"model.feed_forward", "512"},
                             {"training.validate_every", "0"},
                             {"training.save_every", "0"}});
  const TrainingEstimate estimate =
      estimate_training(run.settings, {.device = "cpu", .measured_steps = 10});
  const TrainingSummary summary = train_run(run.settings, ExistingRun::refuse);
  REQUIRE(estimate.time);
  const double minutes = 60 * estimate.time->hours;
  CAPTURE(minutes, summary.consumed.minutes);
  CHECK(minutes > summary.consumed.minutes / 8);
  CHECK(minutes < summary.consumed.minutes * 8);
}

TEST_CASE("steps of pairs and of texts are measured without their data") {
  const Settings pairs =
      default_settings(small_shape({{"task", "translation"}, {"training.batch_tokens", "256"}}));
  CHECK(estimate_training(pairs, {.device = "cpu", .measured_steps = 2}).time->hours > 0);
  const Settings texts =
      default_settings(small_shape({{"task", "tagging"}, {"data.length", "16"}}));
  CHECK(estimate_training(texts, {.device = "cpu", .measured_steps = 2}).time->hours > 0);
}
