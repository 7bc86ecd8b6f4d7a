// A task small enough to compute by hand: linear regression whose every row is a function of
// (seed, index), so that any batch can be made on its own, as real tasks make theirs.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <functional>
#include <string>

#include "base/random.h"
#include "config/training_settings.h"
#include "report/json_lines.h"
#include "training/task.h"

namespace roformer {

struct ToyOptions {
  std::int64_t rows = 4;  // of a micro-batch
  std::int64_t width = 8;
  std::int64_t hidden = 0;  // above 0: the rows of a matrix inside a layer, before the linear one
  bool dropout = true;      // a factor that depends on the forward key
  // Called before each batch with its number; may throw, kill, or raise a signal.
  std::function<void(std::int64_t)> before_batch = [](std::int64_t) {};
  // The factor of a batch's loss, for losses that are not finite.
  std::function<double(std::int64_t)> loss_factor = [](std::int64_t) { return 1.0; };
  std::function<bool(std::int64_t)> has_targets = [](std::int64_t) { return true; };
  std::function<double()> validation_factor = [] { return 1.0; };
  std::function<void(const std::string&)> while_saving = [](const std::string&) {};
};

class ToyTask : public TrainingTask {
 public:
  explicit ToyTask(ToyOptions options = {})
      : options_(std::move(options)),
        parameters_(7),
        matrix_(options_.hidden == 0
                    ? at::Tensor()
                    : parameters_.add({.name = "layer.weight",
                                       .shape = {options_.hidden, options_.width},
                                       .initial = normal(1 / std::sqrt(options_.width)),
                                       .depth = 1,
                                       .matrices = {8, options_.hidden - 8}})),
        weight_(parameters_.add({.name = "linear.weight",
                                 .shape = {1, matrix_.defined() ? options_.hidden : options_.width},
                                 .initial = normal(0.1),
                                 .depth = 1})),
        bias_(parameters_.add({.name = "linear.bias",
                               .shape = {1},
                               .initial = zeros(),
                               .decay = false,
                               .depth = 2})) {
    parameters_.flatten();
  }

  ParameterStore& parameters() override { return parameters_; }
  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    options_.before_batch(number);
    auto batch = std::make_unique<Batch>(rows(number * options_.rows, options_.rows));
    batch->number = number;
    batch->target_count = options_.has_targets(number) ? options_.rows : 0;
    batch->tokens = 10 * options_.rows;
    return batch;
  }
  double batches_per_epoch() const override { return 40.0 / static_cast<double>(options_.rows); }
  double tokens_per_batch() const override { return static_cast<double>(10 * options_.rows); }
  at::Tensor loss_sum(const TrainingBatch& given, const ForwardMode& mode) override {
    const auto& batch = static_cast<const Batch&>(given);
    at::Tensor inputs = batch.inputs;
    if (mode.training && options_.dropout) inputs = inputs * (0.5 + Random(mode.key).uniform());
    if (matrix_.defined()) inputs = at::tanh(at::linear(inputs, matrix_));
    const at::Tensor error = at::linear(inputs, weight_, bias_).squeeze(1) - batch.targets;
    const double factor = options_.has_targets(batch.number) ? 1 : 0;
    return error.square().sum() * factor * options_.loss_factor(batch.number);
  }
  Figures validate(Processes&) override {
    const at::NoGradGuard no_gradient;
    ++validations;
    const at::Tensor loss = loss_sum(rows(1'000'000, 64), {}) / 64;
    return {{"loss", options_.validation_factor() * loss.item<double>()}};
  }
  void save_assets(const InnerPath& folder) const override {
    options_.while_saving(folder.string());
  }

  std::int64_t validations = 0;

 private:
  struct Batch : TrainingBatch {
    at::Tensor inputs;   // [rows, width]
    at::Tensor targets;  // [rows]
    std::int64_t number = 0;
  };

  ToyOptions options_;
  ParameterStore parameters_;
  at::Tensor matrix_;
  at::Tensor weight_;
  at::Tensor bias_;

  Batch rows(std::int64_t first, std::int64_t count) const {
    Batch batch;
    batch.inputs = at::empty({count, options_.width});
    batch.targets = at::empty({count});
    for (std::int64_t row = 0; row < count; ++row) {
      Random random(random_key({11, static_cast<std::uint64_t>(first + row)}));
      double target = 1;
      for (std::int64_t column = 0; column < options_.width; ++column) {
        const double value = random.normal();
        batch.inputs.data_ptr<float>()[row * options_.width + column] = static_cast<float>(value);
        target += value * static_cast<double>(column % 3);
      }
      batch.targets.data_ptr<float>()[row] = static_cast<float>(target + 0.1 * random.normal());
    }
    return batch;
  }
};

inline TrainingSettings toy_settings() {
  TrainingSettings settings;
  settings.steps = {60, Period::Unit::steps};
  settings.learning_rate = 0.02;
  settings.warmup = {5, Period::Unit::steps};
  settings.log_every = {1, Period::Unit::steps};
  settings.validate_every = {10, Period::Unit::steps};
  settings.save_every = {7, Period::Unit::steps};
  return settings;
}

// All lines of metrics.jsonl that must be equal between two runs: without times.
inline std::vector<nlohmann::json> lasting_metrics(const std::filesystem::path& run) {
  std::vector<nlohmann::json> lines = read_json_lines(run / "metrics.jsonl");
  for (nlohmann::json& line : lines) {
    for (const char* key :
         {"minutes", "tokens_per_s", "step_ms", "loader_wait_ms", "loader_share"}) {
      line.erase(key);
    }
  }
  return lines;
}

}  // namespace roformer
