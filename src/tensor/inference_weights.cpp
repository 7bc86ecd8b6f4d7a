#include "tensor/inference_weights.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/eight_bit_kernels.h"
#include "tensor/few_row_kernels.h"
#include "tensor/parallel.h"
#include "tensor/products.h"

namespace roformer {
namespace {

using Product = std::function<at::Tensor(const at::Tensor&)>;

thread_local const InferenceWeights* weights_in_use = nullptr;

// LibTorch declares these operations in no header; a program finds them by name.
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
  // MKL lays out for a number of rows but multiplies any number (CTranslate2 passes 1). Only
  // LibTorch requires that a call repeats the number it was given, so each call passes its own.
  constexpr std::int64_t kRows = 64;
  return [weight, packed = pack.call(weight, kRows)](const at::Tensor& x) {
    return multiply.call(x, packed, weight, std::nullopt, x.size(0));
  };
}

// Depends on the instruction sets that oneDNN may use, which an environment variable can limit.
bool has_bf16_layout() {
  return at::globalContext().hasMKLDNN() && has_operation("mkldnn::_is_mkldnn_bf16_supported") &&
         operation<bool()>("mkldnn::_is_mkldnn_bf16_supported").call();
}

// Calls `multiply` with a padded number of rows, so that few different numbers occur.
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

// Beyond these, MKL computes faster than the weight can be read.
constexpr std::int64_t kFewRows = 24;
// Outputs of a thread at least: less work than this takes no longer in one thread.
std::int64_t outputs_of_thread(std::int64_t rows, std::int64_t row_bytes) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 17;
  return std::max<std::int64_t>(1, kBytes / (row_bytes * std::max<std::int64_t>(1, rows / 8)));
}

Product in_place_product(const at::Tensor& weight) {
  return [weight, multiply = kernels::few_row_kernel()](const at::Tensor& x) {
    kernels::FewRowProduct work{.rows = x.size(0), .in = weight.size(1), .out = weight.size(0)};
    const at::Tensor result = at::empty({work.rows, work.out}, x.options());
    work.x = x.const_data_ptr<float>();
    work.weight = weight.const_data_ptr<float>();
    work.product = result.mutable_data_ptr<float>();
    at::parallel_for(0, work.out, outputs_of_thread(work.rows, work.in * 4),
                     [&](std::int64_t begin, std::int64_t end) { multiply(work, begin, end); });
    return result;
  };
}

Product int8_product(const at::Tensor& weight) {
  const kernels::EightBitKernels& loops = kernels::eight_bit_kernels();
  kernels::EightBitProduct work{.in = weight.size(1), .out = weight.size(0)};
  const std::int64_t count = (work.out + loops.panel - 1) / loops.panel;
  const at::Tensor panels = at::empty({count * loops.panel, work.quads() * 4}, at::kByte);
  const at::Tensor scales = at::empty({work.out}, at::kFloat);
  loops.pack(weight.const_data_ptr<float>(), work.out, work.in,
             panels.mutable_data_ptr<std::uint8_t>(), scales.mutable_data_ptr<float>());
  return [=, &loops](const at::Tensor& x) {
    thread_local Scratch<std::int8_t> numbers;
    thread_local Scratch<std::int32_t> sums;
    thread_local Scratch<float> x_scales;
    kernels::EightBitProduct product = work;
    product.panels = panels.const_data_ptr<std::uint8_t>();
    product.weight_scales = scales.const_data_ptr<float>();
    const std::int64_t rows = product.rows = x.size(0);
    product.x = {.numbers = numbers(rows * product.quads() * 4),
                 .scales = x_scales(rows),
                 .sums = sums(rows)};
    const at::Tensor result = at::empty({rows, product.out}, x.options());
    product.product = result.mutable_data_ptr<float>();
    for_rows(rows, product.in, [&](std::int64_t begin, std::int64_t end) {
      kernels::EightBitProduct part = product;
      part.rows = end - begin;
      part.x.numbers += begin * product.quads() * 4;
      part.x.scales += begin;
      part.x.sums += begin;
      loops.quantize(x.const_data_ptr<float>() + begin * product.in, part);
    });
    const std::int64_t grain =
        std::max<std::int64_t>(1, outputs_of_thread(rows, product.in) / loops.panel);
    at::parallel_for(0, count, grain, [&](std::int64_t begin, std::int64_t end) {
      loops.multiply(product, begin, end);
    });
    return result;
  };
}

Product product_of(const at::Tensor& weight, WeightForm form) {
  switch (form) {
    case WeightForm::fp32:
      return fp32_product(weight);
    case WeightForm::fp32_in_place:
      return in_place_product(weight);
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
  switch (form) {
    case WeightForm::fp32:
      return at::globalContext().hasMKL() && has_operation("mkl::_mkl_linear");
    case WeightForm::bf16:
      return has_bf16_layout();
    case WeightForm::fp32_in_place:
    case WeightForm::int8:
      return true;
  }
  return false;
}

void InferenceWeights::add(const at::Tensor& weight, WeightForm form) {
  ROFORMER_ASSERT(weight.is_cpu() && weight.scalar_type() == at::kFloat && weight.dim() == 2 &&
                  weight.is_contiguous());
  if (form == WeightForm::fp32 && !available(form)) return;
  prepared_[weight.const_data_ptr()] = {
      .out = weight.size(0),
      .in = weight.size(1),
      .input = form == WeightForm::bf16 ? at::kBFloat16 : at::kFloat,
      .most_rows =
          form == WeightForm::fp32_in_place ? kFewRows : std::numeric_limits<std::int64_t>::max(),
      .project = product_of(weight.detach(), form)};
}

at::Tensor InferenceWeights::project(const at::Tensor& x, const at::Tensor& weight) const {
  const auto found = prepared_.find(weight.const_data_ptr());
  if (found == prepared_.end() || x.scalar_type() != found->second.input || x.numel() == 0) {
    return {};
  }
  // A part or another view of a matrix may begin at the same address.
  const Prepared& prepared = found->second;
  if (x.size(0) > prepared.most_rows) return {};
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

InferenceWeights::Use::Use(const InferenceWeights* weights) : scope_(weights_in_use, weights) {}

}  // namespace roformer
