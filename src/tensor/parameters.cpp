#include "tensor/parameters.h"

#include <ATen/Parallel.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/safetensors.h"

namespace roformer {
namespace {

constexpr std::size_t kDrawnTogether = 4096;  // random numbers
thread_local std::optional<ValueMemory> without_initial_values;
thread_local const ParametersOnly::Told* told_only = nullptr;

// [count] zeros. On a CPU the system gives their memory when they are first written: a model that
// is only used never has its gradients.
at::Tensor zeros_on_demand(std::int64_t count, const at::TensorOptions& options) {
  const std::size_t bytes = static_cast<std::size_t>(count) * options.dtype().itemsize();
  void* const memory =
      options.device().is_cpu() && bytes > 0
          ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
          : MAP_FAILED;
  if (memory == MAP_FAILED) return at::zeros({count}, options);  // or LibTorch's error
  return at::from_blob(
      memory, {count}, [bytes](void* begin) { ::munmap(begin, bytes); }, options);
}

}  // namespace

WithoutInitialValues::WithoutInitialValues(ValueMemory memory)
    : scope_(without_initial_values, memory) {}

ParametersOnly::ParametersOnly(Told told) : told_(std::move(told)), scope_(told_only, &told_) {}

Initializer zeros() {
  return constant(0);
}
Initializer ones() {
  return constant(1);
}

Initializer constant(double value) {
  return [value](std::span<float> values, Random&) {
    std::ranges::fill(values, static_cast<float>(value));
  };
}

// The numbers of Random::truncated_normal() in the same order, drawn by all threads: each draws a
// part of the stream's normal numbers, and the accepted ones are joined.
Initializer truncated_normal(double standard_deviation) {
  return [=](std::span<float> values, Random& random) {
    std::vector<std::vector<float>> kept;
    std::size_t filled = 0;
    while (filled < values.size()) {
      const std::size_t wanted = values.size() - filled;
      const std::size_t pieces = wanted / kDrawnTogether + 1;
      kept.resize(pieces);
      at::parallel_for(0, static_cast<std::int64_t>(pieces), 1, [&](auto begin, auto end) {
        for (auto piece = begin; piece < end; ++piece) {
          Random own = random;
          own.skip(static_cast<std::uint64_t>(piece) * kDrawnTogether * Random::kOfNormal);
          std::vector<float>& drawn = kept[static_cast<std::size_t>(piece)];
          drawn.clear();
          for (std::size_t i = 0; i < kDrawnTogether; ++i) {
            const double value = own.normal();
            if (std::abs(value) > Random::kTruncation) continue;
            drawn.push_back(static_cast<float>(standard_deviation * value));
          }
        }
      });
      for (const std::vector<float>& drawn : kept) {
        const std::size_t taken = std::min(drawn.size(), values.size() - filled);
        std::copy_n(drawn.begin(), taken, values.begin() + static_cast<std::ptrdiff_t>(filled));
        filled += taken;
      }
      random.skip(pieces * kDrawnTogether * Random::kOfNormal);
    }
  };
}

Initializer normal(double standard_deviation) {
  return [=](std::span<float> values, Random& random) {
    for (float& value : values) value = static_cast<float>(standard_deviation * random.normal());
  };
}

Initializer uniform(double low, double high) {
  return [=](std::span<float> values, Random& random) {
    for (float& value : values) value = static_cast<float>(low + (high - low) * random.uniform());
  };
}

ParameterStore ParameterStore::borrowing(const ParameterStore& lender) {
  ParameterStore result(lender.seed_, lender.type_, lender.device_);
  result.lender_ = &lender;
  return result;
}

at::Tensor ParameterStore::add(ParameterSpec spec) {
  ROFORMER_ASSERT(find(spec.name) == nullptr && !flat_values_.defined());
  if (lender_ != nullptr) {
    const Parameter* const lent = lender_->find(spec.name);
    ROFORMER_ASSERT(lent != nullptr && lent->value.sizes() == at::IntArrayRef(spec.shape));
    return parameters_.emplace_back(*lent).value;
  }
  const bool trained = !spec.fixed;
  if (told_only != nullptr) {
    (*told_only)(spec);
    at::Tensor value = at::zeros({}, at::kFloat).expand(spec.shape);
    parameters_.push_back({.spec = std::move(spec), .value = value, .trained = trained});
    return value;
  }
  const auto options = at::TensorOptions().dtype(type_).device(device_);
  at::Tensor value;
  if (without_initial_values) {  // one number, which flatten() replaces by memory for all
    const at::AutoDispatchBelowADInplaceOrView untracked;
    value = at::full({}, std::numeric_limits<double>::quiet_NaN(), options).expand(spec.shape);
  } else {
    const at::Tensor initial = at::empty(spec.shape, at::kFloat);
    Random random(random_key({seed_, random_word(spec.name)}));
    spec.initial({initial.data_ptr<float>(), static_cast<std::size_t>(initial.numel())}, random);
    value = initial.to(options);
  }
  value.set_requires_grad(trained);
  parameters_.push_back({.spec = std::move(spec), .value = value, .trained = trained});
  return value;
}

void ParameterStore::freeze(const std::function<bool(const ParameterSpec&)>& which) {
  ROFORMER_ASSERT(!flat_values_.defined());
  for (Parameter& parameter : parameters_) {
    if (!which(parameter.spec)) continue;
    parameter.trained = false;
    parameter.value.set_requires_grad(false);
  }
}

void ParameterStore::flatten() {
  ROFORMER_ASSERT(!flat_values_.defined() && lender_ == nullptr);
  if (told_only != nullptr) return;
  if (without_initial_values == ValueMemory::of_file) {
    in_file_ = true;
    return freeze([](const ParameterSpec&) { return true; });
  }
  std::vector<Parameter*> trained;
  for (Parameter& parameter : parameters_) {
    if (parameter.trained) {
      trained.push_back(&parameter);
    } else if (!parameter.value.is_contiguous()) {
      parameter.value.set_data(parameter.value.contiguous());
    }
  }
  std::ranges::stable_sort(trained, [](const Parameter* a, const Parameter* b) {
    return std::tuple(!a->spec.decay, a->spec.depth) < std::tuple(!b->spec.decay, b->spec.depth);
  });
  // Every parameter starts on a cache line, for fast matrix products.
  constexpr std::int64_t kAlignment = 16;
  std::int64_t total = 0;
  for (const Parameter* parameter : trained) {
    total += (parameter->value.numel() + kAlignment - 1) / kAlignment * kAlignment;
  }
  const auto options = at::TensorOptions().dtype(type_).device(device_);
  flat_values_ = at::zeros({total}, options);
  flat_gradients_ = zeros_on_demand(total, options);
  std::int64_t offset = 0;
  for (Parameter* parameter : trained) {
    const std::int64_t size = parameter->value.numel();
    const std::int64_t end = offset + (size + kAlignment - 1) / kAlignment * kAlignment;
    const at::Tensor view = flat_values_.narrow(0, offset, size).view(parameter->spec.shape);
    view.copy_(parameter->value.detach());
    parameter->value.set_data(view);
    parameter->value.mutable_grad() =
        flat_gradients_.narrow(0, offset, size).view(parameter->spec.shape);
    if (ranges_.empty() || ranges_.back().decay != parameter->spec.decay ||
        ranges_.back().depth != parameter->spec.depth) {
      ranges_.push_back({.begin = offset,
                         .end = offset,
                         .decay = parameter->spec.decay,
                         .depth = parameter->spec.depth});
    }
    ranges_.back().end = end;
    offset = end;
  }
}

void ParameterStore::take(Safetensors file) {
  ROFORMER_ASSERT(in_file_);
  file_ = std::make_shared<const Safetensors>(std::move(file));
  for (Parameter& parameter : parameters_) {
    const at::Tensor value = file_->tensor(parameter.spec.name);
    parameter.value.set_data(parameter.spec.constraint ? value.clone() : value);
  }
}

void ParameterStore::release(const at::Tensor& value) const {
  if (!file_) return;
  for (const Parameter& parameter : parameters_) {
    if (parameter.value.is_same(value)) file_->release(parameter.spec.name);
  }
}

const Parameter* ParameterStore::find(const std::string& name) const {
  const auto found =
      std::ranges::find_if(parameters_, [&](const Parameter& p) { return p.spec.name == name; });
  return found == parameters_.end() ? nullptr : &*found;
}

std::int64_t ParameterStore::offset_of(const Parameter& parameter) const {
  ROFORMER_ASSERT(flat_values_.defined() && parameter.trained);
  return parameter.value.storage_offset() - flat_values_.storage_offset();
}

std::int64_t ParameterStore::count() const {
  return std::accumulate(
      parameters_.begin(), parameters_.end(), std::int64_t{0},
      [](std::int64_t sum, const Parameter& p) { return sum + p.value.numel(); });
}

void ParameterStore::zero_gradients() {
  flat_gradients_.zero_();
}

void ParameterStore::apply_constraints() {
  for (Parameter& parameter : parameters_) {
    if (!parameter.spec.constraint) continue;
    at::Tensor values = parameter.value.detach();  // shares the storage
    parameter.spec.constraint(values);
  }
}

}  // namespace roformer
