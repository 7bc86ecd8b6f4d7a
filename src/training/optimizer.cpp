#include "training/optimizer.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/adamw.h"
#include "tensor/gpu/muon.h"
#include "tensor/parallel.h"
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
  for_pieces(chunks, [&](std::int64_t chunk) {
    const std::int64_t start = begin + chunk * kChunk;
    work(chunk, start, std::min(start + kChunk, end));
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

// Gives the pieces their places among the second moments.
template <typename Piece>
std::vector<Piece> with_places(std::vector<Piece> pieces) {
  std::int64_t place = 0;
  for (Piece& piece : pieces) {
    piece.second = place;
    if (!piece.is_matrices) place += piece.end - piece.begin;
  }
  return pieces;
}

template <typename Piece>
std::int64_t count_of_second(const std::vector<Piece>& pieces) {
  std::int64_t count = 0;
  for (const Piece& piece : pieces) count += piece.is_matrices ? 0 : piece.end - piece.begin;
  return count;
}

// Calls use(place in the packed second moments, place in flat_values(), size).
template <typename Piece, typename Use>
void for_second(const std::vector<Piece>& pieces, const Use& use) {
  for (const Piece& piece : pieces) {
    if (!piece.is_matrices) use(piece.second, piece.begin, piece.end - piece.begin);
  }
}

// Packed second moments -> [size], laid out as flat_values() from `begin` on, 0 for matrices.
template <typename Piece>
at::Tensor in_full(const at::Tensor& packed, const std::vector<Piece>& pieces, std::int64_t begin,
                   std::int64_t size) {
  at::Tensor full = at::zeros({size}, packed.options());
  for_second(pieces, [&](std::int64_t second, std::int64_t flat, std::int64_t count) {
    full.narrow(0, flat - begin, count).copy_(packed.narrow(0, second, count));
  });
  return full;
}

// The reverse of in_full.
template <typename Piece>
void pack(const at::Tensor& full, const std::vector<Piece>& pieces, std::int64_t begin,
          const at::Tensor& packed) {
  for_second(pieces, [&](std::int64_t second, std::int64_t flat, std::int64_t count) {
    packed.narrow(0, second, count).copy_(full.narrow(0, flat - begin, count));
  });
}

}  // namespace

double norm_on_cpu(const at::Tensor& values) {
  const std::vector<double> sums = squares_on_cpu(values);
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

OptimizerOptions optimizer_options(const TrainingSettings& settings) {
  OptimizerOptions options{.beta1 = settings.beta1,
                           .beta2 = settings.beta2,
                           .epsilon = settings.epsilon,
                           .weight_decay = settings.weight_decay,
                           .layer_decay = settings.layer_decay};
  if (settings.optimizer == OptimizerKind::muon) {
    const MuonSettings& muon = settings.muon;
    options.muon = {
        .rate = muon.learning_rate == 0 ? 1 : muon.learning_rate / settings.learning_rate,
        .momentum = muon.momentum,
        .nesterov = muon.nesterov,
        .iterations = muon.iterations,
        .scale = muon.scale};
  }
  return options;
}

std::int64_t numbers_of_muon(const TrainingSettings& settings, const ParameterStore& parameters) {
  std::int64_t numbers = 0;
  if (settings.optimizer != OptimizerKind::muon) return numbers;
  for (const Parameter& parameter : parameters.all()) {
    if (parameter.trained && !parameter.spec.matrices.empty()) numbers += parameter.value.numel();
  }
  return numbers;
}

Optimizer::Optimizer(ParameterStore& parameters, const OptimizerOptions& options,
                     Processes* in_parts)
    : parameters_(parameters),
      options_(options),
      matrices_(parameters),
      processes_(in_parts),
      end_(parameters.flat_values().numel()),
      updates_(at::zeros({}, parameters.flat_values().options().dtype(at::kFloat))) {
  if (processes_ != nullptr) {
    parts_.emplace(end_, processes_->count());
    begin_ = parts_->begin(processes_->rank());
    end_ = parts_->end(processes_->rank());
  }
  all_pieces_ = with_places(make_pieces());
  for (Piece piece : all_pieces_) {
    piece.begin = std::max(piece.begin, begin_);
    piece.end = std::min(piece.end, end_);
    if (piece.begin < piece.end) pieces_.push_back(piece);
  }
  pieces_ = with_places(std::move(pieces_));
  first_ = at::zeros({end_ - begin_}, parameters.flat_values().options());
  second_ = at::zeros({count_of_second(pieces_)}, first_.options());
}

std::vector<Optimizer::Piece> Optimizer::make_pieces() const {
  std::set<std::int64_t> begins;  // of parameters that Muon trains
  std::vector<std::int64_t> borders{parameters_.flat_values().numel()};
  for (const Parameter& parameter : parameters_.all()) {
    if (!parameter.trained) continue;
    borders.push_back(parameters_.offset_of(parameter));
    if (options_.muon && !parameter.spec.matrices.empty()) begins.insert(borders.back());
  }
  std::ranges::sort(borders);
  int deepest = 0;
  for (const ParameterRange& range : parameters_.ranges()) deepest = std::max(deepest, range.depth);
  std::vector<Piece> pieces;
  auto border = borders.begin();
  for (const ParameterRange& range : parameters_.ranges()) {
    const double share = std::pow(options_.layer_decay, deepest - range.depth);
    bool first_of_range = true;
    for (; *border < range.end; ++border) {
      const bool is_matrices = begins.contains(*border);
      if (first_of_range || pieces.back().is_matrices != is_matrices) {
        pieces.push_back({.begin = *border,
                          .is_matrices = is_matrices,
                          .decay = range.decay,
                          .rate_share = share});
      }
      pieces.back().end = *std::next(border);
      first_of_range = false;
    }
  }
  return pieces;
}

double Optimizer::rate_of(const Piece& piece, const OptimizerStep& step) const {
  return step.learning_rate * piece.rate_share * (piece.is_matrices ? options_.muon->rate : 1);
}

double Optimizer::decay_of(const Piece& piece, const OptimizerStep& step) const {
  return 1 - rate_of(piece, step) * (piece.decay ? options_.weight_decay : 0);
}

OptimizerOutcome Optimizer::step(const OptimizerStep& step) {
  const OperationScope scope(options_.muon ? "optimizer/muon" : "optimizer/adamw");
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

std::int64_t Optimizer::updates() const {
  return static_cast<std::int64_t>(updates_.item<float>());
}

bool Optimizer::is_finite() const {
  bool finite = true;
  for (const at::Tensor& values : {parameters_.flat_values(), first_, second_}) {
    finite = finite && all_finite(values);
  }
  if (processes_ == nullptr) return finite;
  const double bad = finite ? 0 : 1;
  return sum_numbers(*processes_, {&bad, 1})[0] == 0;
}

Moments Optimizer::named(at::Tensor first, at::Tensor second) const {
  Moments moments{.first = std::move(first), .second = std::move(second)};
  for (const Parameter& parameter : parameters_.all()) {
    if (!parameter.trained) continue;
    const std::int64_t begin = parameters_.offset_of(parameter), size = parameter.value.numel();
    const Piece& piece =
        *std::prev(std::ranges::upper_bound(all_pieces_, begin, {}, &Piece::begin));
    const auto add = [&](const char* prefix, const at::Tensor& flat, std::int64_t from) {
      moments.named.push_back({.name = prefix + parameter.spec.name,
                               .value = flat.narrow(0, from, size).view(parameter.spec.shape)});
    };
    add(piece.is_matrices ? kMomentumPrefix : "first_moment.", moments.first, begin);
    if (piece.is_matrices) continue;
    add("second_moment.", moments.second, piece.second + begin - piece.begin);
  }
  return moments;
}

Moments Optimizer::room_for_moments() const {
  if (processes_ == nullptr) return named(first_, second_);
  if (!processes_->first()) return {};
  return named(at::zeros_like(parameters_.flat_values()),
               at::zeros({count_of_second(all_pieces_)}, first_.options()));
}

Moments Optimizer::moments() const {
  Moments whole = room_for_moments();
  if (processes_ == nullptr) return whole;
  parts_->gather(*processes_, whole.first, first_, processes_->first());
  const bool first = processes_->first();
  const at::Tensor own = in_full(second_, pieces_, begin_, end_ - begin_);
  const at::Tensor all = first ? at::empty_like(parameters_.flat_values()) : at::Tensor();
  parts_->gather(*processes_, all, own, first);
  if (first) pack(all, all_pieces_, 0, whole.second);
  return whole;
}

void Optimizer::restore_moments(const Moments& moments, Processes& processes) {
  if (processes_ == nullptr) {
    processes.take_from_first(moments.first);
    processes.take_from_first(moments.second);
  } else {
    const std::int64_t size = parameters_.flat_values().numel();
    const at::Tensor all =
        processes.first() ? in_full(moments.second, all_pieces_, 0, size) : at::Tensor();
    const at::Tensor own = at::empty_like(first_);
    parts_->spread(processes, moments.first, first_);
    parts_->spread(processes, all, own);
    pack(own, pieces_, begin_, second_);
  }
}

double Optimizer::gradient_norm_on_cpu() const {
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

void Optimizer::restore_updates(std::int64_t updates) {
  updates_.fill_(static_cast<float>(updates));
}

// Where the optimiser is in parts, each process has updated its own.
void Optimizer::take_other_parts() {
  if (processes_ == nullptr) return;
  parts_->gather(*processes_, parameters_.flat_values());
  parameters_.zero_gradients();
}

OptimizerOutcome Optimizer::step_on_cpu(const OptimizerStep& step) {
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
  take_other_parts();
  return {.gradient_norm = at::scalar_tensor(norm, at::kDouble),
          .skipped = at::scalar_tensor(skipped, at::kBool)};
}

template <typename T>
void Optimizer::update_on_cpu(const OptimizerStep& step, double gradient_scale) {
  T* const value = parameters_.flat_values().data_ptr<T>();
  T* const gradient = parameters_.flat_gradients().data_ptr<T>();
  T* const momentum = first_.data_ptr<T>();  // from begin_ on
  for (const Piece& piece : pieces_) {
    if (!piece.is_matrices) {
      adamw_on_cpu<T>(piece, step, gradient_scale);
      continue;
    }
    const MuonMomentumStep constants{.momentum = options_.muon->momentum,
                                     .gradient_scale = gradient_scale,
                                     .nesterov = options_.muon->nesterov};
    for_chunks(piece.begin, piece.end, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      muon_momentum(MuonPiece<T>{.gradient = gradient + begin,
                                 .momentum = momentum + (begin - begin_),
                                 .size = end - begin},
                    constants);
    });
  }
  if (!options_.muon) return;
  const at::Tensor& updates = parameters_.flat_gradients();
  if (processes_ != nullptr) parts_->gather(*processes_, updates);
  matrices_.make_orthogonal(updates, *options_.muon, MuonProducts::single, begin_, end_);
  for (const Piece& piece : pieces_) {
    if (!piece.is_matrices) continue;
    for_chunks(piece.begin, piece.end, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      muon_descend(MuonDescent<T>{.value = value + begin,
                                  .update = gradient + begin,
                                  .size = end - begin,
                                  .decay = decay_of(piece, step),
                                  .step_size = rate_of(piece, step)});
    });
  }
}

template <typename T>
void Optimizer::adamw_on_cpu(const Piece& piece, const OptimizerStep& step, double gradient_scale) {
  const auto updates = static_cast<double>(this->updates());
  T* const value = parameters_.flat_values().data_ptr<T>();
  T* const gradient = parameters_.flat_gradients().data_ptr<T>();
  T* const first = first_.data_ptr<T>();                   // from begin_ on
  T* const second = second_.data_ptr<T>() + piece.second;  // from piece.begin on
  const AdamWStep constants{
      .beta1 = options_.beta1,
      .beta2 = options_.beta2,
      .epsilon = options_.epsilon,
      .gradient_scale = gradient_scale,
      .decay = decay_of(piece, step),
      .step_size = rate_of(piece, step) / (1 - std::pow(options_.beta1, updates)),
      .second_inverse = 1 / std::sqrt(1 - std::pow(options_.beta2, updates))};
  for_chunks(piece.begin, piece.end, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    adamw_update(AdamWPiece<T>{.value = value + begin,
                               .gradient = gradient + begin,
                               .first = first + (begin - begin_),
                               .second = second + (begin - piece.begin),
                               .size = end - begin},
                 constants);
  });
}

OptimizerOutcome Optimizer::step_by_kernels(const OptimizerStep& step) {
  const at::Tensor& gradients = parameters_.flat_gradients();
  const at::Device device = gradients.device();
  const auto options = at::TensorOptions().device(device);
  const at::Tensor squares = gpu::sums_of_squares(gradients.narrow(0, begin_, end_ - begin_));
  if (processes_ != nullptr) processes_->begin_sum(squares)->wait();
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
    T* const values = parameters_.flat_values().mutable_data_ptr<T>();
    T* const gradient = gradients.mutable_data_ptr<T>();
    T* const first = first_.mutable_data_ptr<T>();  // from begin_ on
    for (const Piece& piece : pieces_) {
      if (piece.is_matrices) {
        gpu::muon_momentum(gpu::MuonMomentum<T>{.gradient = gradient + piece.begin,
                                                .momentum = first + (piece.begin - begin_),
                                                .size = piece.end - piece.begin,
                                                .decided = decided.const_data_ptr<double>(),
                                                .decay = options_.muon->momentum,
                                                .nesterov = options_.muon->nesterov},
                           device);
        continue;
      }
      gpu::adamw_update(gpu::AdamWUpdate<T>{.value = values + piece.begin,
                                            .gradient = gradient + piece.begin,
                                            .first = first + (piece.begin - begin_),
                                            .second = second_.mutable_data_ptr<T>() + piece.second,
                                            .size = piece.end - piece.begin,
                                            .decided = decided.const_data_ptr<double>(),
                                            .learning_rate = rate_of(piece, step),
                                            .decay = decay_of(piece, step),
                                            .beta1 = options_.beta1,
                                            .beta2 = options_.beta2,
                                            .epsilon = options_.epsilon},
                        device);
    }
    if (!options_.muon) return;
    if (processes_ != nullptr) parts_->gather(*processes_, gradients);
    matrices_.make_orthogonal(gradients, *options_.muon, MuonProducts::batched, begin_, end_);
    for (const Piece& piece : pieces_) {
      if (!piece.is_matrices) continue;
      gpu::muon_descend(gpu::MuonDescent<T>{.value = values + piece.begin,
                                            .update = gradient + piece.begin,
                                            .size = piece.end - piece.begin,
                                            .decided = decided.const_data_ptr<double>(),
                                            .step_size = rate_of(piece, step),
                                            .decay = decay_of(piece, step)},
                        device);
    }
  });
  take_other_parts();
  return {.gradient_norm = norm, .skipped = skipped};
}

OptimizerOutcome Optimizer::step_composed(const OptimizerStep& step) {
  const at::Tensor& gradients = parameters_.flat_gradients();
  at::Tensor length =
      at::linalg_vector_norm(gradients.narrow(0, begin_, end_ - begin_), 2, {}, false, at::kDouble);
  if (processes_ != nullptr) {
    const at::Tensor square = length.square();
    processes_->begin_sum(square)->wait();
    length = square.sqrt();
  }
  const at::Tensor norm = length.div(step.targets);
  const at::Tensor skipped = at::isfinite(norm).logical_and(at::isfinite(step.loss)).logical_not();
  // The fused operator divides the gradient by this.
  at::Tensor divisor = at::full({}, step.targets, norm.options());
  if (step.clip > 0) divisor = divisor * at::clamp_min(norm / step.clip, 1);
  divisor = divisor.to(at::kFloat);
  const at::Tensor found_bad = skipped.to(at::kFloat);
  updates_.add_(1 - found_bad);
  for (const Piece& piece : pieces_) {
    const std::int64_t size = piece.end - piece.begin;
    const at::Tensor gradient = gradients.narrow(0, piece.begin, size);
    const at::Tensor first = first_.narrow(0, piece.begin - begin_, size);
    if (piece.is_matrices) {
      const at::Tensor g = gradient / divisor;
      const double kept = options_.muon->momentum;
      const at::Tensor m = first * kept + g * (1 - kept);
      first.copy_(at::where(skipped, first, m));
      const at::Tensor update = options_.muon->nesterov ? m * kept + g * (1 - kept) : m;
      gradient.copy_(at::where(skipped, at::zeros_like(update), update));
      continue;
    }
    at::_fused_adamw_({parameters_.flat_values().narrow(0, piece.begin, size)}, {gradient}, {first},
                      {second_.narrow(0, piece.second, size)}, /*max_exp_avg_sqs=*/{}, {updates_},
                      rate_of(piece, step), options_.beta1, options_.beta2,
                      piece.decay ? options_.weight_decay : 0, options_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false, divisor, found_bad);
  }
  if (options_.muon) {
    if (processes_ != nullptr) parts_->gather(*processes_, gradients);
    matrices_.make_orthogonal(gradients, *options_.muon, MuonProducts::batched, begin_, end_);
    for (const Piece& piece : pieces_) {
      if (!piece.is_matrices) continue;
      const std::int64_t size = piece.end - piece.begin;
      const at::Tensor value = parameters_.flat_values().narrow(0, piece.begin, size);
      const at::Tensor update = gradients.narrow(0, piece.begin, size);
      value.copy_(
          at::where(skipped, value, value * decay_of(piece, step) - update * rate_of(piece, step)));
    }
  }
  take_other_parts();
  parameters_.zero_gradients();
  return {.gradient_norm = norm, .skipped = skipped};
}

}  // namespace roformer
