#include "bench/products.h"

#include <ATen/ops/randn.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "bench/timing.h"
#include "config/attention_settings.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

struct Card {
  std::string_view words;  // in its name
  double gflops_per_second;
};

// The first match counts: the names of one chip on different boards differ in what follows.
constexpr std::array kCards = {
    Card{"H100 PCIe", 756e3}, Card{"H100 NVL", 835e3}, Card{"H100 80GB HBM3", 989e3},
    Card{"H200 NVL", 835e3},  Card{"H200", 989e3},     Card{"A100", 312e3},
    Card{"L4", 121e3}};

// Guards `noted`: LibTorch hands a thread's callbacks to the threads of a GPU's backward pass.
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

// Random numbers in that layout. Several places of an expanded operand share one number.
at::Tensor operand(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
                   const at::TensorOptions& options) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  return at::randn({last + 1}, options).as_strided(sizes, strides);
}

// Computes the product into `result`, which can be repeated.
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
  const auto options = at::TensorOptions().dtype(shape.type).device(device);
  const at::Tensor a = operand(shape.sizes_a, shape.strides_a, options);
  const at::Tensor b = operand(shape.sizes_b, shape.strides_b, options);
  at::Tensor result = at::matmul(a, b);
  wait_for(result.flatten()[0]);
  return best_time(3, [&] {
    multiply_into(result, shape, a, b);
    return result.flatten()[0];
  });
}

}  // namespace

LayerProducts layer_products(const ModelSettings& model) {
  const auto width = static_cast<double>(model.width);
  const auto heads = static_cast<double>(model.heads * model.features_of_head());
  const auto shared = static_cast<double>(model.heads_of_keys() * model.features_of_head());
  const double matrices = is_gated(model.activation) ? 3 : 2;
  return {.projections = width * (heads + 2 * shared),
          .rest = width * heads + matrices * width * static_cast<double>(model.feed_forward),
          .pair = 2 * heads,
          .cross_target = 2 * width * heads,
          .cross_source = 2 * width * shared};
}

double keys_of_query(const AttentionSettings& attention, double length, std::int64_t head_width,
                     bool causal) {
  if (attention.kernel != AttentionKernel::softmax) {
    constexpr double kNeighbours = 16;  // of a chunk of 32 (tensor/linear_attention_operations.h)
    const auto features = static_cast<double>(linear_feature_count(attention, head_width));
    return features + (causal ? std::min(kNeighbours, length / 2) : 0);
  }
  const auto window = static_cast<double>(attention.window);
  if (window == 0 || window >= length) return causal ? length / 2 : length;
  // Queries near the ends of a text see less: the first lacks `side` keys, the next one fewer.
  const auto lost = [length](double side) { return side * (side + 1) / 2 / length; };
  if (causal) return window - lost(window - 1);
  const double left = std::floor(window / 2);
  return window - lost(left) - lost(window - 1 - left);
}

double keys_of_layers(const Settings& settings, std::int64_t layers, double length, bool causal) {
  double keys = 0;
  for (const AttentionSettings& layer : attention_of_layers(settings.attention, layers)) {
    keys += keys_of_query(layer, length, settings.model.features_of_head(), causal);
  }
  return keys;
}

std::optional<double> dense_bfloat16_peak(std::string_view card) {
  for (const Card& known : kCards) {
    const std::size_t begin = card.find(known.words);
    const std::size_t end = begin + known.words.size();
    if (begin == std::string_view::npos) continue;
    if (end == card.size() || card[end] == ' ' || card[end] == '-') return known.gflops_per_second;
  }
  return std::nullopt;
}

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

double matmul_ceiling(const ComputePlan& plan, std::int64_t wanted) {
  constexpr std::int64_t kOnCpu = 2048, kOnGpu = 8192;
  const std::int64_t size = wanted > 0 ? wanted : plan.device.is_cpu() ? kOnCpu : kOnGpu;
  const auto type = plan.precision == Precision::bf16 ? at::kBFloat16 : at::kFloat;
  // Random: a GPU multiplies equal numbers faster, since fewer transistors switch.
  const at::Tensor a = at::randn({size, size}, at::TensorOptions().dtype(type).device(plan.device));
  at::Tensor product = at::mm(a, a);
  wait_for(product[0][0]);
  const double best = best_time(10, [&] {
    at::mm_out(product, a, a);
    return product[0][0];
  });
  const auto edge = static_cast<double>(size);
  return 2 * edge * edge * edge * 1e-6 / best;
}

}  // namespace roformer
