// Values of a formula for all pairs of a query and a key at once, with gradients of its parameters.
// Parts that use neither the score nor a trained parameter are made once, in float64, and kept for
// the next call at the same positions; what depends on i - j alone is evaluated for the distances
// that occur and then spread. H heads, Lq queries, Lk keys.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/formula/expression.h"
#include "position/scheme.h"

namespace roformer {

// The numbers of one parameter: of each layer, or the same for all.
struct FormulaNumbers {
  std::string name;
  std::vector<at::Tensor> layers;  // [1 or H] or, of a table, [1 or H, size]; one or one a layer
  bool table = false;
  bool clamped = false;  // an index beside the table means its nearest entry

  const at::Tensor& of(std::int64_t layer) const {
    return layers.size() == 1 ? layers[0] : layers[static_cast<std::size_t>(layer)];
  }
};

class FormulaEvaluator {
 public:
  FormulaEvaluator(FormulaNode root, std::vector<FormulaNumbers> numbers, const ModelShape& shape);

  const FormulaNode& root() const { return root_; }

  // A formula without `score`: [1, H, Lq, Lk] in context.type.
  at::Tensor pairs(const AttentionContext& context) const;
  // One that depends on i - j alone, at these distances j - i, float64 [R]: [H, R].
  at::Tensor at_distances(const AttentionContext& context, const at::Tensor& distances) const;
  // A formula with `score` [B, H, Lq, Lk]: of its shape and type.
  at::Tensor scores(const AttentionContext& context, const at::Tensor& score) const;

 private:
  // A number, or numbers that broadcast to [H, Lq, Lk] ([B, H, Lq, Lk] with the score).
  struct Value {
    double number = 0;
    at::Tensor tensor;  // undefined: the number

    at::Tensor as_tensor() const;
  };
  // What is evaluated where.
  struct Operands {
    const AttentionContext& context;
    at::ScalarType type;    // of trained numbers and of what is made of them
    at::Tensor query, key;  // i and j, float64 on the CPU; undefined: to be spread where asked for
    at::Tensor score;
    bool exact = false;  // inside a constant part
    std::map<std::string, double> sums;
  };
  struct Kept {
    Positions queries, keys;
    at::ScalarType type = at::kDouble;
    at::Tensor tensor;
  };

  FormulaNode root_;
  std::vector<FormulaNumbers> numbers_;
  std::int64_t heads_, layers_;
  mutable std::map<std::pair<const FormulaNode*, std::int64_t>, Kept> kept_;

  Value evaluate(const FormulaNode& node, Operands& operands) const;
  Value operation(const FormulaNode& node, Operands& operands) const;
  Value sum(const FormulaNode& node, Operands& operands) const;
  Value variable(const FormulaNode& node, const Operands& operands) const;
  Value parameter(const FormulaNode& node, Operands& operands) const;
  at::Tensor entries(const FormulaNode& node, Operands& operands) const;
  at::Tensor index(const FormulaNode& node, Operands& operands) const;
  template <class Make>
  at::Tensor kept(const FormulaNode& node, const AttentionContext& context, at::ScalarType type,
                  const Make& make) const;
  at::Tensor spread(const FormulaNode& node, const AttentionContext& context) const;
  at::Tensor of_distances(const FormulaNode& node, const AttentionContext& context,
                          const at::Tensor& distances) const;
  at::Tensor valued(const FormulaNode& node, const AttentionContext& context,
                    const at::Tensor& query, const at::Tensor& key) const;
  FormulaValues numbers_of(const Operands& operands) const;
};

}  // namespace roformer
