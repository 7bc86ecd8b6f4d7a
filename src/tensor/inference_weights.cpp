#include "tensor/inference_weights.h"

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/quantized/PackedParams.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/device.h"
#include "tensor/products.h"

namespace roformer {
namespace {

using Product = std::function<at::Tensor(const at::Tensor&)>;
using PackedWeight = c10::intrusive_ptr<LinearPackedParamsBase>;

thread_local const InferenceWeights* weights_in_use = nullptr;

// LibTorch compiles these operations for its own use; a program calls them by their names.
template <typename Signature>
c10::TypedOperatorHandle<Signature> operation(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

bool has_operation(const char* name) {
  return c10::Dispatcher::singleton().findSchema({name, ""}).has_value();
}

Product fp32_product(const at::Tensor& weight) {
  static const auto pack =
      operation<at::Tensor(const at::Tensor&, std::int64_t)>("mkl::_mkl_reorder_linear_weight");
  static const auto multiply =
      operation<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                           const std::optional<at::Tensor>&, std::int64_t)>("mkl::_mkl_linear");
  // MKL multiplies any number of rows by what it laid out for one number (CTranslate2 names 1).
  // That LibTorch asks for the same number is its own condition, so each call names the one that it
  // has.
  constexpr std::int64_t kRows = 64;
  return [weight, packed = pack.call(weight, kRows)](const at::Tensor& x) {
    return multiply.call(x, packed, weight, std::nullopt, x.size(0));
  };
}

// By the instructions that oneDNN may use, which its user can limit.
bool has_bf16_layout() {
  return at::globalContext().hasMKLDNN() && has_operation("mkldnn::_is_mkldnn_bf16_supported") &&
         operation<bool()>("mkldnn::_is_mkldnn_bf16_supported").call();
}

// `multiply` for one of few numbers of rows.
template <typename Multiply>
at::Tensor in_few_counts(const at::Tensor& x, const Multiply& multiply) {
  const std::int64_t rows = x.size(0), count = row_count_for(rows);
  if (count == rows) return multiply(x);
  const at::Tensor padded = at::zeros({count, x.size(1)}, x.options());
  padded.narrow(0, 0, rows).copy_(x);
  return multiply(padded).narrow(0, 0, rows);
}

Product bf16_product(const at::Tensor& weight) {
  const at::Tensor cast = weight.to(at::kBFloat16);
  if (!InferenceWeights::available(WeightForm::bf16)) {
    return [cast](const at::Tensor& x) {
      return in_few_counts(x, [&](const at::Tensor& rows) { return at::mm(rows, cast.t()); });
    };
  }
  static const auto pack = operation<at::Tensor(const at::Tensor&, std::optional<c10::SymInt>)>(
      "mkldnn::_reorder_linear_weight");
  static const auto multiply =
      operation<at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                           std::string_view, c10::List<std::optional<at::Scalar>>,
                           std::optional<std::string_view>)>("mkldnn::_linear_pointwise");
  return [packed = pack.call(cast, std::nullopt)](const at::Tensor& x) {
    return in_few_counts(x, [&](const at::Tensor& rows) {
      return multiply.call(rows, packed, std::nullopt, "none",
                           c10::List<std::optional<at::Scalar>>(), std::nullopt);
    });
  };
}

// GCC 12 takes the tensor of an empty optional for one that is read.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
Product int8_product(const at::Tensor& weight) {
  // Symmetric, so that the zero of a weight stays one.
  const at::Tensor scales =
      at::clamp_min(at::amax(weight.abs(), {1}), 1e-12).to(at::kDouble) / 127.0;
  const at::Tensor zeros = at::zeros({weight.size(0)}, at::kLong);
  const at::Tensor quantized = at::quantize_per_channel(weight, scales, zeros, 0, at::kQInt8);
  static const auto pack =
      operation<PackedWeight(at::Tensor, std::optional<at::Tensor>)>("quantized::linear_prepack");
  // Without these instructions sums of two products of eight bits overflow.
  static const bool reduced = !processor_has("avx512_vnni") && !processor_has("avx_vnni");
  return [packed = pack.call(quantized, std::nullopt)](const at::Tensor& x) {
    // fbgemm rounds all rows by one range, so that a text would change with the texts beside it.
    // Each row is brought to its own, and two more rows give them the same.
    const std::int64_t rows = x.size(0);
    const at::Tensor largest = at::clamp_min(at::amax(x.abs(), {1}, /*keepdim=*/true), 1e-30);
    at::Tensor scaled = at::empty({rows + 2, x.size(1)}, x.options());
    at::Tensor own = scaled.narrow(0, 0, rows);
    at::div_out(own, x, largest);
    scaled.select(0, rows).fill_(1);
    scaled.select(0, rows + 1).fill_(-1);
    return packed->apply_dynamic(scaled, reduced).narrow(0, 0, rows).mul_(largest);
  };
}
#pragma GCC diagnostic pop

Product product_of(const at::Tensor& weight, WeightForm form) {
  switch (form) {
    case WeightForm::fp32:
      return fp32_product(weight);
    case WeightForm::bf16:
      return bf16_product(weight);
    case WeightForm::int8:
      return int8_product(weight);
  }
  ROFORMER_ASSERT(false);
}

}  // namespace

WeightForm weight_form(Precision precision) {
  return precision == Precision::bf16 ? WeightForm::bf16 : WeightForm::fp32;
}

InferenceWeights::InferenceWeights() = default;
InferenceWeights::~InferenceWeights() = default;

bool InferenceWeights::available(WeightForm form) {
  const auto& engines = at::globalContext().supportedQEngines();
  switch (form) {
    case WeightForm::fp32:
      return at::globalContext().hasMKL() && has_operation("mkl::_mkl_linear");
    case WeightForm::bf16:
      return has_bf16_layout();
    case WeightForm::int8:
      return std::ranges::find(engines, at::QEngine::FBGEMM) != engines.end() ||
             std::ranges::find(engines, at::QEngine::X86) != engines.end();
  }
  return false;
}

void InferenceWeights::add(const at::Tensor& weight, WeightForm form) {
  ROFORMER_ASSERT(weight.is_cpu() && weight.scalar_type() == at::kFloat && weight.dim() == 2 &&
                  weight.is_contiguous());
  ROFORMER_ASSERT(form != WeightForm::int8 || available(form));
  if (form == WeightForm::fp32 && !available(form)) return;
  prepared_[weight.const_data_ptr()] = {
      .out = weight.size(0),
      .in = weight.size(1),
      .input = form == WeightForm::bf16 ? at::kBFloat16 : at::kFloat,
      .project = product_of(weight.detach(), form)};
}

at::Tensor InferenceWeights::project(const at::Tensor& x, const at::Tensor& weight) const {
  const auto found = prepared_.find(weight.const_data_ptr());
  if (found == prepared_.end() || x.scalar_type() != found->second.input || x.numel() == 0) {
    return {};
  }
  // A part of a matrix, or another view of it, may begin where the whole does.
  const Prepared& prepared = found->second;
  if (weight.sizes() != at::IntArrayRef({prepared.out, prepared.in}) || !weight.is_contiguous()) {
    return {};
  }
  ROFORMER_ASSERT(x.size(1) == prepared.in);
  ROFORMER_ASSERT(!(c10::GradMode::is_enabled() && x.requires_grad()));
  return prepared.project(x.contiguous());
}

const InferenceWeights* InferenceWeights::in_use() {
  return weights_in_use;
}

InferenceWeights::Use::Use(const InferenceWeights* weights) : before_(weights_in_use) {
  weights_in_use = weights;
}

InferenceWeights::Use::~Use() {
  weights_in_use = before_;
}

}  // namespace roformer
