#include "training/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/adamw.h"
#include "tensor/profile.h"
#include "training/adamw_kernel.h"

namespace roformer {
namespace {

// The numbers that a thread takes at a time: few enough for the second-level cache, and a constant,
// so that results do not depend on the number of threads.
constexpr std::int64_t kChunk = 1 << 15;

// Calls work(chunk, begin, end) for every chunk of [begin, end), in parallel.
template <typename Work>
void for_chunks(std::int64_t begin, std::int64_t end, const Work& work) {
  const std::int64_t chunks = (end - begin + kChunk - 1) / kChunk;
  at::parallel_for(0, chunks, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      const std::int64_t start = begin + chunk * kChunk;
      work(chunk, start, std::min(start + kChunk, end));
    }
  });
}

template <typename T>
std::vector<double> squares_of(const T* values, std::int64_t size) {
  std::vector<double> sums(static_cast<std::size_t>((size + kChunk - 1) / kChunk));
  for_chunks(0, size, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    sums[static_cast<std::size_t>(chunk)] = sum_of_squares(values + begin, end - begin);
  });
  return sums;
}

// The sum of squares of each chunk.
std::vector<double> squares_on_cpu(const at::Tensor& values) {
  ROFORMER_ASSERT(values.is_cpu() && values.is_contiguous());
  return values.scalar_type() == at::kDouble
             ? squares_of(values.const_data_ptr<double>(), values.numel())
             : squares_of(values.const_data_ptr<float>(), values.numel());
}

static_assert(FlatParts::kPiece % kChunk == 0, "the chunks of all parts are those of the whole");

// A piece at a time, because at::isfinite copies its argument.
bool all_finite(const at::Tensor& values) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 22;
  const std::int64_t piece = values.is_cpu() ? kPiece : std::max<std::int64_t>(1, values.numel());
  for (const at::Tensor& part : values.split(piece)) {
    if (!at::isfinite(part).all().item<bool>()) return false;
  }
  return true;
}

}  // namespace

double norm_on_cpu(const at::Tensor& values) {
  const std::vector<double> sums = squares_on_cpu(values);
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

AdamW::AdamW(ParameterStore& parameters, const AdamWOptions& options, Processes* in_parts)
    : parameters_(parameters),
      options_(options),
      processes_(in_parts),
      end_(parameters.flat_values().numel()),
      updates_(at::zeros({}, parameters.flat_values().options().dtype(at::kFloat))) {
  if (processes_ != nullptr) {
    ROFORMER_ASSERT(parameters.flat_values().is_cpu());
    parts_.emplace(end_, processes_->count());
    begin_ = parts_->begin(processes_->rank());
    end_ = parts_->end(processes_->rank());
  }
  first_ = at::zeros({end_ - begin_}, parameters.flat_values().options());
  second_ = at::zeros_like(first_);
  int deepest = 0;
  for (const ParameterRange& range : parameters.ranges()) deepest = std::max(deepest, range.depth);
  for (const ParameterRange& range : parameters.ranges()) {
    rate_shares_.push_back(std::pow(options.layer_decay, deepest - range.depth));
  }
}

OptimizerOutcome AdamW::step(const OptimizerStep& step) {
  const OperationScope scope("optimizer/adamw");
  switch (form_of(first_)) {
    case Form::loops:
      return step_on_cpu(step);
    case Form::gpu_kernels:
      return step_by_kernels(step);
    case Form::composed:
      break;
  }
  return step_composed(step);
}

std::int64_t AdamW::updates() const {
  return static_cast<std::int64_t>(updates_.item<float>());
}

bool AdamW::is_finite() const {
  bool finite = true;
  for (const at::Tensor& values : {parameters_.flat_values(), first_, second_}) {
    finite = finite && all_finite(values);
  }
  if (processes_ == nullptr) return finite;
  const double bad = finite ? 0 : 1;
  return sum_numbers(*processes_, {&bad, 1})[0] == 0;
}

Moments AdamW::room_for_moments() const {
  if (processes_ == nullptr) return {.first = first_, .second = second_};
  if (!processes_->first()) return {};
  return {.first = at::zeros_like(parameters_.flat_values()),
          .second = at::zeros_like(parameters_.flat_values())};
}

Moments AdamW::moments() const {
  Moments whole = room_for_moments();
  if (processes_ == nullptr) return whole;
  parts_->gather(*processes_, whole.first, first_, processes_->first());
  parts_->gather(*processes_, whole.second, second_, processes_->first());
  return whole;
}

void AdamW::restore_moments(const Moments& moments, Processes& processes) {
  if (processes_ == nullptr) {
    processes.take_from_first(moments.first);
    processes.take_from_first(moments.second);
  } else {
    parts_->spread(processes, moments.first, first_);
    parts_->spread(processes, moments.second, second_);
  }
}

double AdamW::gradient_norm_on_cpu() const {
  if (processes_ == nullptr) return norm_on_cpu(parameters_.flat_gradients());
  std::vector<double> own =
      squares_on_cpu(parameters_.flat_gradients().narrow(0, begin_, end_ - begin_));
  // Every process sends as many numbers as the first, whose part is the largest.
  own.resize(static_cast<std::size_t>((parts_->size(0) + kChunk - 1) / kChunk));
  double sum = 0;
  for (const auto& row : gather_numbers(*processes_, own)) {
    sum = std::accumulate(row.begin(), row.end(), sum);
  }
  return std::sqrt(sum);
}

void AdamW::restore_updates(std::int64_t updates) {
  updates_.fill_(static_cast<float>(updates));
}

OptimizerOutcome AdamW::step_on_cpu(const OptimizerStep& step) {
  const double norm = gradient_norm_on_cpu() / step.targets;
  const bool skipped = !std::isfinite(norm) || !std::isfinite(step.loss.item<double>());
  if (skipped) {
    parameters_.zero_gradients();
  } else {
    const double clip = step.clip > 0 && norm > step.clip ? step.clip / norm : 1;
    updates_.add_(1);
    if (first_.scalar_type() == at::kDouble) {
      update_on_cpu<double>(step, clip / step.targets);
    } else {
      update_on_cpu<float>(step, clip / step.targets);
    }
  }
  if (processes_ != nullptr) {
    if (!skipped) parts_->gather(*processes_, parameters_.flat_values());
    parameters_.zero_gradients();
  }
  return {.gradient_norm = at::scalar_tensor(norm, at::kDouble),
          .skipped = at::scalar_tensor(skipped, at::kBool)};
}

template <typename T>
void AdamW::update_on_cpu(const OptimizerStep& step, double gradient_scale) {
  const auto updates = static_cast<double>(this->updates());
  T* const value = parameters_.flat_values().data_ptr<T>();
  T* const gradient = parameters_.flat_gradients().data_ptr<T>();
  T* const first = first_.data_ptr<T>();  // from begin_ on
  T* const second = second_.data_ptr<T>();
  for (std::size_t i = 0; i < rate_shares_.size(); ++i) {
    const ParameterRange& range = parameters_.ranges()[i];
    const double rate = step.learning_rate * rate_shares_[i];
    const AdamWStep constants{
        .beta1 = options_.beta1,
        .beta2 = options_.beta2,
        .epsilon = options_.epsilon,
        .gradient_scale = gradient_scale,
        .decay = 1 - rate * (range.decay ? options_.weight_decay : 0),
        .step_size = rate / (1 - std::pow(options_.beta1, updates)),
        .second_inverse = 1 / std::sqrt(1 - std::pow(options_.beta2, updates))};
    const std::int64_t from = std::max(range.begin, begin_), to = std::min(range.end, end_);
    if (from >= to) continue;
    for_chunks(from, to, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      adamw_update(AdamWPiece<T>{.value = value + begin,
                                 .gradient = gradient + begin,
                                 .first = first + (begin - begin_),
                                 .second = second + (begin - begin_),
                                 .size = end - begin},
                   constants);
    });
  }
}

OptimizerOutcome AdamW::step_by_kernels(const OptimizerStep& step) {
  const at::Tensor& gradients = parameters_.flat_gradients();
  const at::Device device = gradients.device();
  const auto options = at::TensorOptions().device(device);
  const at::Tensor squares = gpu::sums_of_squares(gradients);
  const at::Tensor norm = at::empty({}, options.dtype(at::kDouble));
  const at::Tensor skipped = at::empty({}, options.dtype(at::kBool));
  const at::Tensor decided = at::empty({gpu::kDecidedNumbers}, options.dtype(at::kDouble));
  gpu::adamw_decide({.squares = squares.const_data_ptr<double>(),
                     .gradient_norm = norm.mutable_data_ptr<double>(),
                     .skipped = skipped.mutable_data_ptr<bool>(),
                     .updates = updates_.mutable_data_ptr<float>(),
                     .decided = decided.mutable_data_ptr<double>(),
                     .targets = step.targets,
                     .clip = step.clip,
                     .beta1 = options_.beta1,
                     .beta2 = options_.beta2},
                    step.loss);
  with_type(first_.scalar_type(), [&](auto tag) {
    using T = kernels::Accumulate<decltype(tag)>;
    for (std::size_t i = 0; i < rate_shares_.size(); ++i) {
      const ParameterRange& range = parameters_.ranges()[i];
      const double rate = step.learning_rate * rate_shares_[i];
      gpu::adamw_update(
          gpu::AdamWUpdate<T>{
              .value = parameters_.flat_values().mutable_data_ptr<T>() + range.begin,
              .gradient = gradients.mutable_data_ptr<T>() + range.begin,
              .first = first_.mutable_data_ptr<T>() + range.begin,
              .second = second_.mutable_data_ptr<T>() + range.begin,
              .size = range.end - range.begin,
              .decided = decided.const_data_ptr<double>(),
              .learning_rate = rate,
              .decay = 1 - rate * (range.decay ? options_.weight_decay : 0),
              .beta1 = options_.beta1,
              .beta2 = options_.beta2,
              .epsilon = options_.epsilon},
          device);
    }
  });
  return {.gradient_norm = norm, .skipped = skipped};
}

OptimizerOutcome AdamW::step_composed(const OptimizerStep& step) {
  const at::Tensor& gradients = parameters_.flat_gradients();
  const at::Tensor norm =
      at::linalg_vector_norm(gradients, 2, {}, false, at::kDouble).div(step.targets);
  const at::Tensor skipped = at::isfinite(norm).logical_and(at::isfinite(step.loss)).logical_not();
  // The fused operator divides the gradient by this.
  at::Tensor divisor = at::full({}, step.targets, norm.options());
  if (step.clip > 0) divisor = divisor * at::clamp_min(norm / step.clip, 1);
  divisor = divisor.to(at::kFloat);
  const at::Tensor found_bad = skipped.to(at::kFloat);
  updates_.add_(1 - found_bad);
  for (std::size_t i = 0; i < rate_shares_.size(); ++i) {
    const ParameterRange& range = parameters_.ranges()[i];
    const auto piece = [&](const at::Tensor& flat) {
      return std::vector<at::Tensor>{flat.narrow(0, range.begin, range.end - range.begin)};
    };
    std::vector<at::Tensor> value = piece(parameters_.flat_values());
    std::vector<at::Tensor> gradient = piece(gradients);
    std::vector<at::Tensor> first = piece(first_);
    std::vector<at::Tensor> second = piece(second_);
    at::_fused_adamw_(value, gradient, first, second, /*max_exp_avg_sqs=*/{}, {updates_},
                      step.learning_rate * rate_shares_[i], options_.beta1, options_.beta2,
                      range.decay ? options_.weight_decay : 0, options_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false, divisor, found_bad);
  }
  parameters_.zero_gradients();
  return {.gradient_norm = norm, .skipped = skipped};
}

}  // namespace roformer
