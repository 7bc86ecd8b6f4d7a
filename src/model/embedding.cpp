#include "model/embedding.h"

#include <cmath>
#include <vector>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

std::int64_t table_width(const ModelSettings& model) {
  return model.embedding_width > 0 ? model.embedding_width : model.width;
}

// Rows [T, E] of the sequences' positions from a table [L, E] for the longest, or from one for each
// sequence, [S or 1, L, E].
at::Tensor spread(const at::Tensor& table, const TokenLayout& layout) {
  const at::Tensor tables = table.dim() == 2 ? table.unsqueeze(0) : table;
  std::vector<at::Tensor> parts;
  std::int64_t first = 0;
  for (const TokenBlock& block : layout.blocks) {
    const at::Tensor own = tables.size(0) > 1 ? tables.narrow(0, first, block.sequences) : tables;
    parts.push_back(own.narrow(1, 0, block.length)
                        .expand({block.sequences, block.length, tables.size(2)})
                        .reshape({block.sequences * block.length, tables.size(2)}));
    first += block.sequences;
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, 0);
}

}  // namespace

at::Tensor add_token_table(const ModelSettings& model, const ParameterScope& scope) {
  ROFORMER_ASSERT(model.vocabulary > 0);
  return scope.add({.name = "embedding.tokens.weight",
                    .shape = {model.vocabulary, table_width(model)},
                    .initial = truncated_normal(model.initialization)});
}

Embedding::Embedding(const ModelSettings& model, bool norm, const ParameterScope& scope,
                     const at::Tensor& table)
    : scale_(model.embedding_scale), norm_epsilon_(model.norm_epsilon) {
  const std::int64_t narrow = table_width(model);
  table_ = table.defined() ? table : add_token_table(model, scope);
  ROFORMER_ASSERT(table_.size(1) == narrow);
  if (model.token_types > 0) {
    types_ = scope.add({.name = "embedding.types.weight",
                        .shape = {model.token_types, narrow},
                        .initial = truncated_normal(model.initialization)});
  }
  if (norm) norm_ = add_norm(scope, "embedding.norm", narrow, model);
  if (narrow != model.width) {
    projection_ = add_linear(scope, "embedding.projection",
                             {.out = model.width,
                              .in = narrow,
                              .initialization = model.initialization,
                              .bias = model.bias});
  }
}

at::Tensor Embedding::forward(const EmbeddingInputs& in) const {
  at::Tensor sum = embedding_rows(table_, in.ids);
  if (scale_ == EmbeddingScale::sqrt_width) sum = sum * std::sqrt(static_cast<double>(width()));
  if (types_.defined()) {
    sum = sum + (in.token_types.defined() ? embedding_rows(types_, in.token_types)
                                          : types_.narrow(0, 0, 1));
  }
  if (in.positions.defined()) sum = sum + spread(on_device(in.positions, sum.device()), in.layout);
  if (norm_.gain.defined()) {
    sum = residual_norm({.residual = sum,
                         .gain = norm_.gain,
                         .shift = norm_.shift,
                         .norm = norm_.kind,
                         .epsilon = norm_epsilon_})
              .normed;
  }
  sum = dropout(sum.to(in.type), in.dropout);
  return projection_.weight.defined() ? apply(projection_, sum) : sum;
}

}  // namespace roformer
