// Evaluates a formula for all pairs of a query and a key at once, with gradients of its parameters.
// Parts without the score and trained parameters are computed once, in float64, and cached for the
// next call with the same positions. Parts that depend only on i - j are evaluated for each
// distance and then expanded to pairs. H heads, Lq queries, Lk keys.
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

// The numbers of one parameter, for each layer or shared by all layers.
struct FormulaNumbers {
  std::string name;
  std::vector<at::Tensor> layers;  // [1 or H], a table [1 or H, size]; shared: one entry
  bool table = false;
  bool clamped = false;  // an index outside the table uses the nearest entry

  const at::Tensor& of(std::int64_t layer) const {
    return layers.size() == 1 ? layers[0] : layers[static_cast<std::size_t>(layer)];
  }
};

class FormulaEvaluator {
 public:
  FormulaEvaluator(FormulaNode root, std::vector<FormulaNumbers> numbers, const ModelShape& shape);

  const FormulaNode& root() const { return root_; }

  // For a formula without `score`: [1, H, Lq, Lk] in context.type.
  at::Tensor pairs(const AttentionContext& context) const;
  // For a formula that depends only on i - j: its values at the distances j - i, float64 [R] -> [H,
  // R].
  at::Tensor at_distances(const AttentionContext& context, const at::Tensor& distances) const;
  // For a formula with `score` [B, H, Lq, Lk]: returns the same shape and type.
  at::Tensor scores(const AttentionContext& context, const at::Tensor& score) const;

 private:
  // One number, or a tensor that broadcasts to [H, Lq, Lk] ([B, H, Lq, Lk] with the score).
  struct Value {
    double number = 0;
    at::Tensor tensor;  // undefined: use the number

    at::Tensor as_tensor() const;
  };
  // The inputs of an evaluation.
  struct Operands {
    const AttentionContext& context;
    at::ScalarType type;    // of trained numbers and functions of them
    at::Tensor query, key;  // i and j, float64 on the CPU; undefined: spread() makes the values
    at::Tensor score;
    bool exact = false;  // inside a constant part: compute in float64
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
