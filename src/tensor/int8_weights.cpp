#include "tensor/int8_weights.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/quantized/PackedParams.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/quantize_per_channel.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "tensor/device.h"

namespace roformer {
namespace {

using PackedWeight = c10::intrusive_ptr<LinearPackedParamsBase>;

thread_local const Int8Weights* weights_in_use = nullptr;

// GCC 12 takes the tensor of an empty optional for one that is read.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
PackedWeight pack(const at::Tensor& weight) {
  // Symmetric, so that the zero of a weight stays one.
  const at::Tensor scales =
      at::clamp_min(at::amax(weight.abs(), {1}), 1e-12).to(at::kDouble) / 127.0;
  const at::Tensor zeros = at::zeros({weight.size(0)}, at::kLong);
  const at::Tensor quantized = at::quantize_per_channel(weight, scales, zeros, 0, at::kQInt8);
  static const auto prepack = c10::Dispatcher::singleton()
                                  .findSchemaOrThrow("quantized::linear_prepack", "")
                                  .typed<PackedWeight(at::Tensor, std::optional<at::Tensor>)>();
  return prepack.call(quantized, std::nullopt);
}
#pragma GCC diagnostic pop

}  // namespace

struct Int8Weights::Packed {
  PackedWeight weight;
  std::int64_t out = 0;
};

Int8Weights::Int8Weights() = default;
Int8Weights::~Int8Weights() = default;

bool Int8Weights::available() {
  const auto& engines = at::globalContext().supportedQEngines();
  return std::ranges::find(engines, at::QEngine::FBGEMM) != engines.end() ||
         std::ranges::find(engines, at::QEngine::X86) != engines.end();
}

void Int8Weights::add(const at::Tensor& weight) {
  ROFORMER_ASSERT(weight.is_cpu() && weight.scalar_type() == at::kFloat && weight.dim() == 2);
  packed_[weight.const_data_ptr()] = std::make_unique<Packed>(
      Packed{.weight = pack(weight.detach().contiguous()), .out = weight.size(0)});
}

at::Tensor Int8Weights::project(const at::Tensor& x, const at::Tensor& weight) const {
  const auto found = packed_.find(weight.const_data_ptr());
  if (found == packed_.end() || x.scalar_type() != at::kFloat || x.numel() == 0) return {};
  // A part of a matrix may begin where the whole does.
  if (found->second->out != weight.size(0)) return {};
  // Without these instructions sums of two products of eight bits overflow.
  static const bool reduced = !processor_has("avx512_vnni") && !processor_has("avx_vnni");
  return found->second->weight->apply_dynamic(x.detach().contiguous(), reduced);
}

const Int8Weights* Int8Weights::in_use() {
  return weights_in_use;
}

Int8Weights::Use::Use(const Int8Weights* weights) : before_(weights_in_use) {
  weights_in_use = weights;
}

Int8Weights::Use::~Use() {
  weights_in_use = before_;
}

}  // namespace roformer
