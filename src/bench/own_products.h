// The matrix products of a step at their own shapes, each by itself: what the machine's libraries
// make of these very products, which is less than of large square ones. A step that reaches it has
// nothing around its products left to gain.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace roformer {

// One kind of product: operands by sizes and strides. Seen are LibTorch's own operations; products
// that loops of this program's own make within themselves (attention on CPUs) are not.
struct ProductShape {
  std::string operation;  // "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"
  at::ScalarType type = at::kFloat;
  std::vector<std::int64_t> sizes_a, strides_a;  // [.., m, k]
  std::vector<std::int64_t> sizes_b, strides_b;  // [.., k, n]
  auto operator<=>(const ProductShape&) const = default;

  double gflop() const;
};

// Notes the products of this thread, backward passes included, as long as it lives.
class ProductRecorder {
 public:
  ProductRecorder();
  ~ProductRecorder();
  ProductRecorder(const ProductRecorder&) = delete;
  ProductRecorder& operator=(const ProductRecorder&) = delete;

  // How often each came.
  const std::map<ProductShape, std::int64_t>& products() const { return products_; }

 private:
  std::map<ProductShape, std::int64_t> products_;
  std::uint64_t callback_ = 0;
};

// GFLOP/s of all of them, one after the other on `device`, each in the best of three times; 0 where
// there are none.
double products_alone(const std::map<ProductShape, std::int64_t>& products, at::Device device);

}  // namespace roformer
