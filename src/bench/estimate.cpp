#include "bench/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/progress.h"
#include "bench/benchmark.h"
#include "bench/measured_devices.h"
#include "bench/random_training.h"
#include "bench/step_arithmetic.h"
#include "config/position_facts.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "metrics/statistics.h"
#include "position/scheme.h"
#include "runs/model_source.h"
#include "tasks/example_training.h"
#include "tasks/task_definition.h"
#include "training/schedule.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// --- Parameters ---

// The first part whose word is in a parameter's name has it.
struct NamedPart {
  std::string_view word, title;
};
constexpr std::array<NamedPart, 6> kParts{{{"position.", "positions"},
                                           {"norm.", "norms"},
                                           {"cross_attention.", "attention to the source"},
                                           {"attention.", "attention"},
                                           {"feed_forward.", "feed-forward"},
                                           {"embedding", "embeddings"}}};

struct ListedParameters {
  std::int64_t count = 0;    // numbers
  std::int64_t of_muon = 0;  // numbers that Muon trains
  std::vector<ParameterPart> parts;

  void add(const ParameterSpec& spec, OptimizerKind optimizer) {
    const std::int64_t size =
        std::accumulate(spec.shape.begin(), spec.shape.end(), std::int64_t{1}, std::multiplies<>());
    const auto* const found = std::ranges::find_if(kParts, [&](const NamedPart& part) {
      return spec.name.find(part.word) != std::string::npos;
    });
    const std::string title(found == kParts.end() ? "head" : found->title);
    auto part = std::ranges::find(parts, title, &ParameterPart::name);
    if (part == parts.end()) part = parts.insert(parts.end(), {.name = title});
    part->count += size;
    count += size;
    if (optimizer == OptimizerKind::muon && !spec.matrices.empty()) of_muon += size;
  }
};

// --- Data ---

// The assumed length of a sentence of WMT in tokens, where the sentences are not counted.
constexpr double kTokensOfSentence = 28;

// The mean size of one micro-batch of a stage.
struct MeanBatch {
  double texts = 0;
  double tokens = 0;   // a translator's: of the target
  double targets = 0;  // rows that the last layer computes
};

// The training, with its data if they are there, and without its model's numbers.
struct Opened {
  Settings settings;  // completed by the data
  ListedParameters parameters;
  std::unique_ptr<TrainingTask> task;  // null: no data
  std::vector<std::string> assumptions;
};

bool is_labelled(const Settings& settings) {
  const TaskFacts& facts = task_facts(settings.task);
  return facts.labelled || facts.data == TaskData::matching_folder;
}

// Whether the last layer computes the rows of every token.
bool needs_all_rows(const Settings& settings) {
  switch (settings.task) {
    case TaskKind::tagging:
      return true;
    case TaskKind::embedding:
      return settings.embedding.pooling == TextPooling::mean;
    case TaskKind::matching:
      return settings.matching.pooling == TextPooling::mean;
    default:
      return is_labelled(settings) && classifier_settings(settings).pooling == TextPooling::mean;
  }
}

bool data_are_there(const Settings& settings) {
  const TaskFacts& facts = task_facts(settings.task);
  if (facts.data == TaskData::generated) return true;
  std::error_code error;
  if (data_path(settings).empty() || !fs::exists(data_path(settings), error)) return false;
  return !is_labelled(settings) || !settings.tokenizer.file.empty() || !settings.model.from.empty();
}

OpenedTask open_with_tokenizer(const Settings& settings, const ComputePlan& plan) {
  TaskSources sources{.settings = settings, .plan = plan};
  if (is_labelled(settings) && !settings.model.from.empty() && settings.tokenizer.file.empty()) {
    sources.offered = open_model_source(settings.model.from).tokenizer;
  }
  return open_task(sources);
}

Opened open_for_estimate(const Settings& given, const EstimateRequest& request) {
  const TaskDefinition& definition = task_definition(given.task);
  Opened opened{.settings = given};
  Settings& settings = opened.settings;
  const ParametersOnly listed(
      [&](const ParameterSpec& spec) { opened.parameters.add(spec, given.training.optimizer); });
  if (data_are_there(given)) {
    if (request.vocabulary > 0 || request.examples > 0) {
      throw_usage(request.vocabulary > 0 ? "--vocabulary" : "--examples",
                  "is for data that are not prepared, and these are: " + data_path(given).string());
    }
    if (definition.complete != nullptr) settings = definition.complete(given);
    OpenedTask task = open_with_tokenizer(settings, {});
    if (settings.model.vocabulary == 0 && task.tokenizer) {
      settings.model.vocabulary = task.tokenizer->vocabulary_size();
    }
    opened.task = std::move(task.task);
    return opened;
  }
  if (request.vocabulary > 0) settings.model.vocabulary = request.vocabulary;
  if (settings.model.vocabulary == 0) {
    throw_usage("--vocabulary",
                data_path(given).empty()
                    ? "no data are named, so the size of the vocabulary is unknown"
                    : data_path(given).string() + " is not there, so the vocabulary is unknown",
                "--vocabulary 30522, or prepare the data first");
  }
  if (settings.task == TaskKind::classification && settings.classification.classes.empty()) {
    settings.classification.classes = {"0", "1"};
    opened.assumptions.push_back("two classes.");
  }
  if (settings.task == TaskKind::tagging && settings.tagging.classes.empty()) {
    settings.tagging.classes = {"O", "B-1", "I-1"};
    opened.assumptions.push_back("three tags.");
  }
  opened.assumptions.push_back(fmt::format("The data are not there; a vocabulary of {}.",
                                           format_count(settings.model.vocabulary)));
  definition.make_model(
      settings, {.source = settings.model.vocabulary, .target = settings.model.vocabulary}, {});
  return opened;
}

// The benchmark's training sets (Wang 2018). Tokens of an example in the mean: the runs of
// configs/study/glue_small.json, with a vocabulary of 8,192; QQP's and MNLI's from their words.
struct GlueSize {
  GlueTask task;
  std::int64_t examples;
  double tokens;
};
constexpr std::array<GlueSize, 9> kGlueSizes{{{GlueTask::cola, 8551, 14.4},
                                              {GlueTask::sst2, 67349, 18.2},
                                              {GlueTask::mrpc, 3668, 72.4},
                                              {GlueTask::stsb, 5749, 36.4},
                                              {GlueTask::qqp, 363846, 39},
                                              {GlueTask::mnli, 392702, 52},
                                              {GlueTask::qnli, 104743, 61.3},
                                              {GlueTask::rte, 2490, 80},
                                              {GlueTask::wnli, 635, 40}}};

struct DataSize {
  double examples = 0;  // 0: unknown
  double tokens = 0;    // of an example
};

// Adds to the assumptions what the request does not say.
DataSize assumed_size(Opened& opened, const EstimateRequest& request) {
  const Settings& settings = opened.settings;
  const auto length = static_cast<double>(settings.data.length);
  DataSize size{.examples = static_cast<double>(request.examples),
                .tokens = request.tokens_of_example};
  if (settings.task == TaskKind::glue) {
    const auto* const known = std::ranges::find(kGlueSizes, settings.glue.task, &GlueSize::task);
    if (size.examples == 0) size.examples = static_cast<double>(known->examples);
    if (size.tokens == 0) size.tokens = std::min(length, known->tokens);
    opened.assumptions.push_back(
        fmt::format("{} examples of {} tokens in the mean, as the benchmark's.",
                    format_count(std::llround(size.examples)), std::llround(size.tokens)));
  } else if (size.tokens == 0 && is_labelled(settings)) {
    size.tokens = length;
    opened.assumptions.push_back(fmt::format(
        "Every text has {} tokens, the most that there can be (--tokens).", settings.data.length));
  } else if (settings.task == TaskKind::translation && size.tokens == 0) {
    size.tokens = std::min(length, kTokensOfSentence);
    opened.assumptions.push_back(fmt::format(
        "Sentences of {:g} tokens, as WMT's English and German (--tokens).", size.tokens));
  } else if (size.tokens == 0) {
    size.tokens = length;
  }
  return size;
}

// --- Stages ---

// How the processes share a step: whole micro-batches as far as they go round, else parts of them.
struct Sharing {
  std::int64_t passes = 1;  // of each process
  std::int64_t parts = 1;   // of a micro-batch
};
Sharing share(std::int64_t batch, std::int64_t accumulation, bool by_tokens,
              std::int64_t processes) {
  const std::int64_t together = std::gcd(accumulation, processes);
  const Sharing sharing{.passes = accumulation / together, .parts = processes / together};
  if (by_tokens || batch % sharing.parts == 0) return sharing;
  throw_usage("training.batch",
              fmt::format("a step has {} micro-batches of {} rows, which {} processes cannot share "
                          "evenly",
                          accumulation, batch, processes),
              fmt::format("--training.batch {}",
                          (batch + sharing.parts - 1) / sharing.parts * sharing.parts));
}

// The settings of one pass of one process in a stage.
struct Pass {
  Settings settings;
  std::int64_t stage = 0;
  double steps = 0;  // 0: by training.steps
  Sharing sharing;
};

std::vector<Pass> passes_of(const Settings& settings, std::int64_t processes) {
  std::vector<StageSettings> stages = settings.stages;
  if (stages.empty()) stages.emplace_back();
  std::vector<Pass> passes;
  for (const StageSettings& stage : stages) {
    Pass pass{.settings = settings,
              .stage = std::ssize(passes),
              .steps = static_cast<double>(stage.steps)};
    TrainingSettings& training = pass.settings.training;
    pass.settings.stages.clear();
    pass.settings.data.length = stage.length.value_or(settings.data.length);
    const std::int64_t batch = stage.batch.value_or(training.batch);
    pass.sharing = share(batch, stage.accumulation.value_or(training.accumulation),
                         training.batch_tokens > 0, processes);
    training.batch = std::max<std::int64_t>(1, batch / pass.sharing.parts);
    training.batch_tokens /= pass.sharing.parts;
    training.accumulation = pass.sharing.passes;
    passes.push_back(std::move(pass));
  }
  return passes;
}

// The mean over the stage's first micro-batches, divided among the processes that share one.
MeanBatch mean_of_data(const Opened& opened, const Pass& pass) {
  constexpr std::int64_t kBatches = 8;
  MeanBatch mean;
  for (std::int64_t i = 0; i < kBatches; ++i) {
    const auto batch = opened.task->make_batch_of(pass.stage, i);
    mean.tokens += static_cast<double>(batch->tokens);
    mean.targets += static_cast<double>(batch->target_count);
    const auto* const examples = dynamic_cast<const ExampleBatch*>(batch.get());
    mean.texts += examples != nullptr ? static_cast<double>(examples->texts.lengths.size()) : 0;
  }
  const double all = static_cast<double>(kBatches * pass.sharing.parts);
  mean.tokens /= all;
  mean.targets /= all;
  mean.texts /= all;
  const TrainingSettings& training = pass.settings.training;
  if (is_labelled(pass.settings)) return mean;
  const bool filled = training.batch_tokens > 0;  // with pairs, whose number nobody counts here
  mean.texts = filled ? mean.tokens / kTokensOfSentence : static_cast<double>(training.batch);
  return mean;
}

MeanBatch mean_of_assumptions(const Pass& pass, const DataSize& size) {
  const Settings& settings = pass.settings;
  const TrainingSettings& training = settings.training;
  MeanBatch mean{.texts = static_cast<double>(training.batch)};
  if (training.batch_tokens > 0) {
    mean.texts = static_cast<double>(training.batch_tokens) / size.tokens;
  }
  const bool rows = !is_labelled(settings) && settings.task != TaskKind::translation;
  mean.tokens = mean.texts * (rows ? static_cast<double>(settings.data.length) : size.tokens);
  const bool all = task_facts(settings.task).causal || !rows;
  mean.targets = mean.tokens * (all ? 1 : settings.data.masking.probability);
  return mean;
}

double gflop_of_pass(const Settings& settings, const MeanBatch& batch) {
  const double length = batch.tokens / batch.texts;
  if (is_labelled(settings)) {
    const auto texts =
        static_cast<std::size_t>(std::max<std::int64_t>(1, std::llround(batch.texts)));
    const std::vector<std::int64_t> lengths(texts, std::max<std::int64_t>(1, std::llround(length)));
    const double made = static_cast<double>(texts) * static_cast<double>(lengths[0]);
    return 3 * text_gflop(settings, lengths, needs_all_rows(settings)) * batch.tokens / made;
  }
  if (settings.task == TaskKind::translation) {
    return batch.texts * pair_gflop(settings, length, length);
  }
  return language_gflop(settings,
                        {.tokens = batch.tokens, .targets = batch.targets, .length = length});
}

// Layers that store all scores, because their scheme changes them by content and has no tiles for
// it.
std::int64_t layers_with_scores(const Settings& settings, const ComputePlan& plan) {
  const ParametersOnly silent([](const ParameterSpec&) {});
  ParameterStore store(0);
  const ModelSettings& model = settings.model;
  const auto scheme = make_scheme({.settings = settings.position,
                                   .shape = {.layers = model.layers,
                                             .width = model.width,
                                             .embedding_width = model.embedding_width,
                                             .heads = model.heads,
                                             .head_width = model.features_of_head(),
                                             .causal = task_facts(settings.task).causal,
                                             .training_length = settings.data.length},
                                   .parameters = store});
  std::int64_t layers = 0;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const SchemeCapabilities capabilities = scheme->of_layer(i).capabilities();
    const bool tiles = plan.device.is_cpu() && settings.attention.dropout == 0 &&
                       (capabilities.relative_form || capabilities.attends);
    layers += !tiles && (capabilities.scores != ContentScores::none || capabilities.value_term ||
                         capabilities.weights || capabilities.bias_of_positions);
  }
  return layers;
}

// --- Time ---

struct Speed {
  // Milliseconds of a pass with so many GFLOP, and the factors to its least and most.
  std::function<double(double gflop)> milliseconds;
  double below = 1, above = 1;
  std::string source;
};

// A property that no measured step has, in words, and the factor by which it may slow a step.
struct Unmeasured {
  double factor = 1;
  std::string words;
};
Unmeasured unmeasured(const Settings& settings, std::int64_t with_scores) {
  Unmeasured result;
  const auto add = [&](double factor, const std::string& words) {
    result.factor *= factor;
    result.words += (result.words.empty() ? "" : ", ") + words;
  };
  if (uses_linear_attention(settings.attention)) {
    add(3, "linear attention");
  } else if (settings.attention.dropout > 0) {
    add(3, "dropout of attention's probabilities, which keeps all scores");
  } else if (with_scores > 0) {
    add(3, "scores that position " + settings.position.scheme + " changes");
  }
  if (is_labelled(settings) || settings.task == TaskKind::translation) {
    add(1.5, "texts of unequal lengths");
  }
  return result;
}

Speed known_speed(const MeasuredDevice& device, const Settings& settings, double gflop,
                  std::int64_t with_scores) {
  const auto width = static_cast<double>(settings.model.width);
  const bool exact = settings.training.attention_gradient == AttentionGradient::exact;
  const double slower = exact ? device.exact_gradient : 1;
  const InterpolatedTime time = interpolated_time(device, gflop, width);
  return {.milliseconds =
              [&device, width, slower](double of_pass) {
                return slower * interpolated_time(device, of_pass, width).milliseconds;
              },
          .below = time.factor,
          .above = time.factor * unmeasured(settings, with_scores).factor,
          .source = fmt::format("interpolated; the nearest measured step is {} on such a card: "
                                "{:.1f} ms, {:.0f} TFLOP/s ({})",
                                time.nearest->name, time.nearest->milliseconds,
                                time.nearest->gflops_per_second() * 1e-3, time.nearest->record)};
}

// The training of one pass on this machine, on its data or on random tokens.
std::unique_ptr<TrainingObjective> timed_objective(const Opened& opened, const Pass& pass,
                                                   const MeanBatch& batch,
                                                   const ComputePlan& plan) {
  if (opened.task) return open_with_tokenizer(pass.settings, plan).task;
  if (is_labelled(pass.settings)) {
    return random_texts_objective(
        pass.settings, plan, std::max<std::int64_t>(3, std::llround(batch.tokens / batch.texts)));
  }
  if (pass.settings.task != TaskKind::translation) return random_language(pass.settings, plan);
  Settings settings = pass.settings;
  if (settings.training.batch_tokens == 0)
    settings.training.batch_tokens = std::llround(batch.tokens);
  return random_pairs(settings, plan);
}

Speed measured_speed(const Opened& opened, const Pass& pass, const MeanBatch& batch, double gflop,
                     const ComputePlan& plan, std::int64_t steps) {
  constexpr std::int64_t kWarmup = 3;
  constexpr double kMostSeconds = 60;
  TimedTraining training(timed_objective(opened, pass, batch, plan), pass.settings);
  std::vector<double> times;
  double total = 0;
  for (std::int64_t i = 0; i < kWarmup + steps; ++i) {
    const double milliseconds = training.step(i).milliseconds;
    total += milliseconds;
    if (i >= kWarmup || total > kMostSeconds * 1e3) times.push_back(milliseconds);
    if (total > kMostSeconds * 1e3) break;
  }
  // Batches of unequal lengths differ in their work, so that a median would mean nothing.
  const bool alike = !is_labelled(pass.settings) && pass.settings.task != TaskKind::translation;
  const double mean =
      std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  const double typical = alike ? median(times) : mean;
  const double rate = gflop / typical;
  return {.milliseconds = [rate](double of_pass) { return of_pass / rate; },
          .below = 1.15,
          .above = 1.15,
          .source = fmt::format("measured here: {} of {:.1f} ms on {}",
                                format_counted(std::ssize(times), "step"), typical,
                                opened.task ? "the data" : "random tokens")};
}

ComputePlan plan_of(const Settings& settings, const MeasuredDevice* device,
                    const EstimateRequest& request) {
  if (device == nullptr) {
    return plan_compute(request.device == "cpu" ? DeviceKind::cpu : settings.device,
                        settings.training.precision, settings.model.width);
  }
  const bool wide = settings.training.precision == Precision::fp32;
  return {.device = c10::Device(c10::kCUDA, 0),
          .precision = wide ? Precision::fp32 : Precision::bf16};
}

// The measured device of the request or of this machine; null: a CPU or an unknown card.
const MeasuredDevice* device_of(const Settings& settings, const EstimateRequest& request) {
  if (!request.device.empty()) return find_measured_device(request.device);
  if (settings.device == DeviceKind::cpu || !gpu_support().usable) return nullptr;
  return find_measured_device(device_name(c10::Device(c10::kCUDA, 0)));
}

void add_time(TrainingEstimate& estimate, const Speed& speed, double gradient_milliseconds) {
  EstimatedTime time{.source = speed.source};
  double computing = 0;
  for (EstimatedStage& stage : estimate.stages) {
    const double of_each = stage.gflop / static_cast<double>(estimate.processes * stage.passes);
    const double compute = 1e-3 * speed.milliseconds(of_each) * static_cast<double>(stage.passes);
    stage.seconds = compute + 1e-3 * gradient_milliseconds;
    computing += stage.steps * compute;
    time.hours += stage.steps * stage.seconds / 3600;
  }
  const double seconds = time.hours * 3600;
  time.least = time.hours / speed.below;
  time.most = time.hours * speed.above;
  time.tokens_per_second = estimate.tokens() / seconds;
  time.gflops_per_second = estimate.gflop() / seconds;
  time.efficiency = computing / seconds;
  estimate.time = time;
}

// Steps of a training without stages; by minutes only with the time of a step.
double steps_of(const Opened& opened, const Pass& pass, const DataSize& size,
                const MeanBatch& batch) {
  const Period& period = opened.settings.training.steps;
  const double of_step = static_cast<double>(opened.settings.training.accumulation);
  BatchMeasure measure{.tokens_per_batch = batch.tokens * static_cast<double>(pass.sharing.parts),
                       .batches_per_step = of_step};
  if (opened.task) {
    measure.batches_per_epoch = opened.task->batches_per_epoch();
    measure.tokens_per_batch = opened.task->tokens_per_batch();
  } else {
    measure.batches_per_epoch =
        size.examples / (batch.texts * static_cast<double>(pass.sharing.parts));
    if (period.unit == Period::Unit::epochs && size.examples == 0) {
      throw_usage("--examples",
                  fmt::format("training.steps is {}, and the data are not there to count",
                              to_string(period)),
                  "--examples 10000");
    }
  }
  if (period.unit == Period::Unit::minutes) return 0;
  return std::ceil(steps_in(period, measure));
}

}  // namespace

double TrainingEstimate::steps() const {
  double sum = 0;
  for (const EstimatedStage& stage : stages) sum += stage.steps;
  return sum;
}

double TrainingEstimate::tokens() const {
  double sum = 0;
  for (const EstimatedStage& stage : stages) sum += stage.steps * stage.tokens;
  return sum;
}

double TrainingEstimate::gflop() const {
  double sum = 0;
  for (const EstimatedStage& stage : stages) sum += stage.steps * stage.gflop;
  return sum;
}

const MemoryEstimate& TrainingEstimate::memory() const {
  return std::ranges::max_element(stages, {},
                                  [](const EstimatedStage& stage) { return stage.memory.total(); })
      ->memory;
}

TrainingEstimate estimate_training(const Settings& given, const EstimateRequest& request) {
  const MeasuredDevice* const device = device_of(given, request);
  if (device == nullptr && !request.device.empty() && request.device != "cpu") {
    throw_usage("--device", "no measured device is called " + request.device, "cpu, h100 or h200");
  }
  Opened opened = open_for_estimate(given, request);
  const DataSize size = opened.task ? DataSize{} : assumed_size(opened, request);
  const Settings& settings = opened.settings;
  TrainingEstimate estimate{.settings = settings,
                            .plan = plan_of(settings, device, request),
                            .device = device != nullptr ? std::string(device->name) : "cpu",
                            .processes = request.processes,
                            .count = opened.parameters.count,
                            .parameters = opened.parameters.parts};
  if (device == nullptr && !estimate.plan.device.is_cpu()) estimate.device = "cuda";
  const std::int64_t with_scores = layers_with_scores(settings, estimate.plan);
  const std::vector<Pass> passes = passes_of(settings, request.processes);
  std::vector<MeanBatch> batches;
  for (const Pass& pass : passes) {
    const MeanBatch batch =
        opened.task ? mean_of_data(opened, pass) : mean_of_assumptions(pass, size);
    batches.push_back(batch);
    const double all = static_cast<double>(request.processes * pass.sharing.passes);
    const bool text = is_labelled(settings) && !needs_all_rows(settings);
    estimate.stages.push_back(
        {.steps = settings.stages.empty() ? steps_of(opened, pass, size, batch) : pass.steps,
         .length = pass.settings.data.length,
         .rows = all * batch.texts,
         .tokens = all * batch.tokens,
         .gflop = all * gflop_of_pass(pass.settings, batch),
         .passes = pass.sharing.passes,
         .memory = estimate_memory(pass.settings, opened.parameters.count, batch.tokens,
                                   estimate.plan, request.processes, opened.parameters.of_muon,
                                   {.targets = text                    ? batch.texts
                                               : is_labelled(settings) ? batch.tokens
                                                                       : batch.targets,
                                    .length = batch.tokens / batch.texts,
                                    .layers_with_scores = with_scores})});
  }
  estimate.checkpoint =
      estimate.memory().weights +
      4 * static_cast<std::uint64_t>(2 * opened.parameters.count - opened.parameters.of_muon) +
      (settings.training.ema > 0 ? estimate.memory().weights : 0);
  estimate.checkpoints = settings.training.keep_last + settings.training.keep_best;

  const double of_first = estimate.stages.front().gflop /
                          static_cast<double>(request.processes * passes.front().sharing.passes);
  std::optional<Speed> speed;
  if (request.measured_steps > 0) {
    speed = measured_speed(opened, passes.front(), batches.front(), of_first, estimate.plan,
                           request.measured_steps);
  } else if (device != nullptr && estimate.plan.precision == Precision::bf16) {
    speed = known_speed(*device, settings, of_first, with_scores);
    const Unmeasured what = unmeasured(settings, with_scores);
    if (!what.words.empty()) {
      estimate.assumptions.push_back(
          fmt::format("Not measured on such a card: {}; the hours may be {:g} times as many.",
                      what.words, what.factor));
    }
  } else {
    estimate.assumptions.push_back(
        device != nullptr
            ? "Hours are unknown in fp32: the measured steps are in bf16."
            : "Hours are unknown without --measure, which times steps on this machine.");
  }
  estimate.assumptions.insert(estimate.assumptions.begin(), opened.assumptions.begin(),
                              opened.assumptions.end());
  if (!speed) return estimate;
  double reducing = 0;
  if (request.processes > 1 && device != nullptr) {
    reducing = reduction_milliseconds(*device, 4.0 * static_cast<double>(estimate.count),
                                      request.processes);
    estimate.assumptions.push_back(
        fmt::format("{} processes, each with a card: gradients take {:.1f} ms a step by NVLink at "
                    "{:.0f} GB/s{}, without overlap. Several cards were never measured.",
                    request.processes, reducing, device->bandwidth * 1e-9,
                    request.processes > 8
                        ? fmt::format(" and {:.0f} GB/s between machines", device->network * 1e-9)
                        : ""));
  } else if (request.processes > 1) {
    estimate.assumptions.push_back(
        fmt::format("{} processes, each on a machine like this one; the network is not counted.",
                    request.processes));
  }
  const Period& period = settings.training.steps;
  if (settings.stages.empty() && period.unit == Period::Unit::minutes) {
    EstimatedStage& only = estimate.stages.front();
    only.steps = 1;
    add_time(estimate, *speed, reducing);
    only.steps = std::floor(period.amount * 60 / only.seconds);
  }
  add_time(estimate, *speed, reducing);
  return estimate;
}

}  // namespace roformer
