// The matrix products of a model's step: the expected number by the sizes of its layers, the
// products of an actual step, and the machine's speed on exactly these. That speed is lower than on
// large square products. A step that reaches it has nothing left to gain outside its products.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "tensor/device.h"

namespace roformer {

// Multiply-adds of a layer.
struct LayerProducts {
  double projections = 0;   // for each token: its queries, keys and values
  double rest = 0;          // for each token: the output of its attention, the feed-forward layer
  double pair = 0;          // for each query and key: their score, the share of the value
  double cross_target = 0;  // in cross-attention, for each token of the target
  double cross_source = 0;  // and of the source
};
LayerProducts layer_products(const ModelSettings& model);

// The mean number of keys that a query is multiplied with in a layer: all or the earlier ones,
// within the window; in linear attention its features, and the neighbours of a causal form.
double keys_of_query(const AttentionSettings& attention, double length, std::int64_t head_width,
                     bool causal);
// The sum over the layers of a stack.
double keys_of_layers(const Settings& settings, std::int64_t layers, double length, bool causal);

// GFLOP/s of dense bfloat16 products with float sums by NVIDIA's data sheets, for a card as the
// driver names it ("NVIDIA H100 80GB HBM3"). Empty for an unknown card. Model FLOPs are reported as
// a share of it (MFU, Chowdhery 2022).
std::optional<double> dense_bfloat16_peak(std::string_view card);

// One kind of product: operands by sizes and strides. Only LibTorch's own operations are recorded,
// not products inside this program's loops (attention on CPUs).
struct ProductShape {
  std::string operation;  // "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"
  at::ScalarType type = at::kFloat;
  std::vector<std::int64_t> sizes_a, strides_a;  // [.., m, k]
  std::vector<std::int64_t> sizes_b, strides_b;  // [.., k, n]
  auto operator<=>(const ProductShape&) const = default;

  double gflop() const;
};

// Records the products of this thread, backward passes included, while it lives.
class ProductRecorder {
 public:
  ProductRecorder();
  ~ProductRecorder();
  ProductRecorder(const ProductRecorder&) = delete;
  ProductRecorder& operator=(const ProductRecorder&) = delete;

  // How often each product occurred.
  const std::map<ProductShape, std::int64_t>& products() const { return products_; }

 private:
  std::map<ProductShape, std::int64_t> products_;
  std::uint64_t callback_ = 0;
};

// GFLOP/s of all of them one after the other on `device`, each in its best of three times; 0 for
// none.
double products_alone(const std::map<ProductShape, std::int64_t>& products, at::Device device);

// GFLOP/s of square matrix products, large enough for the device to be busy; 0: a size that suits
// the device.
double matmul_ceiling(const ComputePlan& plan, std::int64_t size = 0);

}  // namespace roformer
