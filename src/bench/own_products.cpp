#include "bench/own_products.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/error.h"
#include "bench/timed_training.h"

namespace roformer {
namespace {

// LibTorch hands a thread's callbacks to the threads that compute a GPU's backward pass.
std::mutex noting;
std::map<ProductShape, std::int64_t>* noted = nullptr;

std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& function) {
  std::string name = function.name();
  if (name.ends_with('_')) name.pop_back();
  const bool added = name == "aten::addmm" || name == "aten::baddbmm";
  if (!added && name != "aten::mm" && name != "aten::bmm") return nullptr;
  const auto inputs = function.inputs();
  const std::size_t first = added ? 1 : 0;
  const at::Tensor a = inputs[first].toTensor(), b = inputs[first + 1].toTensor();
  const std::lock_guard lock(noting);
  ++(*noted)[{.operation = name,
              .type = a.scalar_type(),
              .sizes_a = a.sizes().vec(),
              .strides_a = a.strides().vec(),
              .sizes_b = b.sizes().vec(),
              .strides_b = b.strides().vec()}];
  return nullptr;
}

// Random numbers in that layout; of expanded operands several places are one number.
at::Tensor operand(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
                   const at::TensorOptions& options) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  return at::randn({last + 1}, options).as_strided(sizes, strides);
}

// Makes a product into `result` again and again.
void multiply_into(at::Tensor& result, const ProductShape& shape, const at::Tensor& a,
                   const at::Tensor& b) {
  if (shape.operation == "aten::mm") {
    at::mm_out(result, a, b);
  } else if (shape.operation == "aten::bmm") {
    at::bmm_out(result, a, b);
  } else if (shape.operation == "aten::addmm") {
    result.addmm_(a, b);
  } else {
    result.baddbmm_(a, b);
  }
}

double best_milliseconds(const ProductShape& shape, at::Device device) {
  constexpr int kTimes = 3;
  const auto options = at::TensorOptions().dtype(shape.type).device(device);
  const at::Tensor a = operand(shape.sizes_a, shape.strides_a, options);
  const at::Tensor b = operand(shape.sizes_b, shape.strides_b, options);
  at::Tensor result = at::matmul(a, b);
  wait_for(result.flatten()[0]);
  double best = INFINITY;
  for (int i = 0; i < kTimes; ++i) {
    const auto start = BenchmarkClock::now();
    multiply_into(result, shape, a, b);
    wait_for(result.flatten()[0]);
    best = std::min(best, milliseconds_since(start));
  }
  return best;
}

}  // namespace

double ProductShape::gflop() const {
  double numbers = 1;
  for (const std::int64_t size : sizes_a) numbers *= static_cast<double>(size);
  return 2e-9 * numbers * static_cast<double>(sizes_b.back());
}

ProductRecorder::ProductRecorder() {
  ROFORMER_ASSERT(noted == nullptr);
  noted = &products_;
  callback_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(note).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
}

ProductRecorder::~ProductRecorder() {
  at::removeCallback(callback_);
  noted = nullptr;
}

double products_alone(const std::map<ProductShape, std::int64_t>& products, at::Device device) {
  double gflop = 0, milliseconds = 0;
  for (const auto& [shape, count] : products) {
    if (shape.gflop() == 0) continue;
    gflop += shape.gflop() * static_cast<double>(count);
    milliseconds += best_milliseconds(shape, device) * static_cast<double>(count);
  }
  return milliseconds > 0 ? gflop / milliseconds * 1e3 : 0;
}

}  // namespace roformer
