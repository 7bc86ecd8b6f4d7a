#include "position/formula_values.h"

#include <ATen/ScalarOps.h>
#include <fmt/format.h>

#include "base/error.h"
#include "config/formula/operators.h"
#include "position/relative_index.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

using Op = FormulaOperation;

// A number becomes a tensor without dimensions, which does not change the type of other operands.
at::Tensor formula_number(double number) {
  return at::native::wrapped_scalar_tensor(number);
}

// Whether the gradient of the operation is computed from its result, which must then not change.
bool keeps_result(Op operation) {
  switch (operation) {
    case Op::exponential:
    case Op::square_root:
    case Op::tangent_hyperbolic:
    case Op::sigmoid:
    case Op::power:
    case Op::sum:  // a sum of one term is the term itself
      return true;
    default:
      return false;
  }
}

// Operations on tensors that broadcast, with gradients. Conditions are bool.
struct TensorMath {
  static at::Tensor power(const at::Tensor& base, const at::Tensor& exponent) {
    const bool two = base.dim() == 0 && !base.requires_grad() && base.item<double>() == 2;
    return two ? at::exp2(exponent) : at::pow(base, exponent);
  }
  static at::Tensor lesser(const at::Tensor& a, const at::Tensor& b) {
    return a.dim() == 0 ? bounded(b, a, false) : bounded(a, b, false);
  }
  static at::Tensor greater(const at::Tensor& a, const at::Tensor& b) {
    return a.dim() == 0 ? bounded(b, a, true) : bounded(a, b, true);
  }

 private:
  // at::minimum and at::maximum split the gradient evenly between equal arguments. A constant bound
  // must get none, so at the bound the whole gradient goes to the number.
  static at::Tensor bounded(const at::Tensor& x, const at::Tensor& bound, bool above) {
    if (bound.dim() == 0 && !bound.requires_grad()) {
      const double limit = bound.item<double>();
      return above ? x.clamp_min(limit) : x.clamp_max(limit);
    }
    return above ? at::maximum(x, bound.to(x.scalar_type()))
                 : at::minimum(x, bound.to(x.scalar_type()));
  }
};

// The positions of queries and keys as two tensors that broadcast. In a causal model, a key after
// its query is hidden. It gets the query's own position, so the formula need not be defined for it.
std::pair<at::Tensor, at::Tensor> all_pairs(const AttentionContext& context) {
  const at::Tensor query = context.queries.tensor().to(at::kDouble).view({1, -1, 1});
  const at::Tensor key = context.keys.tensor().to(at::kDouble).view({1, 1, -1});
  return {query, context.causal ? at::minimum(key, query) : key};
}

// Returns x for 1 + x or x + 1; otherwise nullptr.
const FormulaNode* beyond_one(const FormulaNode& node) {
  if (node.operation != Op::add) return nullptr;
  for (const std::size_t side : {0, 1}) {
    const FormulaNode& one = node.arguments[side];
    if (one.operation == Op::number && one.number == 1) return &node.arguments[1 - side];
  }
  return nullptr;
}

bool is_number(const FormulaNode& node) {
  const FormulaUses& uses = node.uses;
  return uses.constant() && !uses.pairs() && !uses.head;
}

}  // namespace

at::Tensor FormulaEvaluator::Value::as_tensor() const {
  return tensor.defined() ? tensor : formula_number(number);
}

FormulaEvaluator::FormulaEvaluator(FormulaNode root, std::vector<FormulaNumbers> numbers,
                                   const ModelShape& shape)
    : root_(std::move(root)),
      numbers_(std::move(numbers)),
      heads_(shape.heads),
      layers_(shape.layers) {}

at::Tensor FormulaEvaluator::pairs(const AttentionContext& context) const {
  const at::Tensor values = spread(root_, context);
  if (values.size(1) == heads_) return values;
  return values.expand({1, heads_, values.size(2), values.size(3)}).contiguous();
}

at::Tensor FormulaEvaluator::scores(const AttentionContext& context,
                                    const at::Tensor& score) const {
  const at::ScalarType type = score.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  Operands operands{.context = context, .type = type, .score = score.to(type)};
  const Value value = evaluate(root_, operands);
  const at::Tensor result = value.as_tensor().to(score.scalar_type()).expand_as(score);
  // The softmax overwrites the scores, so they must not be cached, expanded or needed by the
  // backward pass.
  const bool own = root_.uses.score && result.is_contiguous() && !keeps_result(root_.operation);
  return own ? result : result.clone(at::MemoryFormat::Contiguous);
}

at::Tensor FormulaEvaluator::at_distances(const AttentionContext& context,
                                          const at::Tensor& distances) const {
  const auto make = [&] {
    const at::Tensor values = of_distances(root_, context, distances);
    return values.expand({heads_, values.size(1)}).contiguous();
  };
  return root_.uses.constant() ? kept(root_, context, context.type, make) : make();
}

// The value at positions of queries and keys that broadcast, in context.type.
at::Tensor FormulaEvaluator::valued(const FormulaNode& node, const AttentionContext& context,
                                    const at::Tensor& query, const at::Tensor& key) const {
  Operands operands{.context = context,
                    .type = context.type == at::kDouble ? at::kDouble : at::kFloat,
                    .query = query,
                    .key = key};
  const Value value = evaluate(node, operands);
  return on_device(value.as_tensor(),
                   at::TensorOptions().dtype(context.type).device(context.device));
}

// The value at distances j - i, [R]: [1 or H, R] in context.type. Treats hidden keys as all_pairs()
// does.
at::Tensor FormulaEvaluator::of_distances(const FormulaNode& node, const AttentionContext& context,
                                          const at::Tensor& distances) const {
  const at::Tensor past = context.causal ? (-distances).clamp_min(0) : -distances;
  const at::Tensor values =
      valued(node, context, past.view({1, 1, -1}), at::zeros({1, 1, 1}, at::kDouble));
  const std::int64_t rows = values.dim() == 3 ? values.size(0) : 1;
  return values.expand({rows, 1, distances.size(0)}).squeeze(1).contiguous();
}

// [1, 1 or H, Lq, Lk] in context.type.
at::Tensor FormulaEvaluator::spread(const FormulaNode& node,
                                    const AttentionContext& context) const {
  const auto make = [&] {
    const std::int64_t queries = context.queries.count(), keys = context.keys.count();
    if (!node.uses.by_distance) {
      const auto [query, key] = all_pairs(context);
      const at::Tensor values = valued(node, context, query, key);
      return values.expand({values.dim() == 3 ? values.size(0) : 1, queries, keys}).unsqueeze(0);
    }
    return bias_of_distance(context.queries, context.keys, [&](const at::Tensor& distances) {
      return of_distances(node, context, distances);
    });
  };
  if (!node.uses.constant()) return make();
  return kept(node, context, context.type, make);
}

template <class Make>
at::Tensor FormulaEvaluator::kept(const FormulaNode& node, const AttentionContext& context,
                                  at::ScalarType type, const Make& make) const {
  Kept& last = kept_[{&node, node.uses.layer ? context.layer : -1}];
  const bool same = last.tensor.defined() && last.queries == context.queries &&
                    last.keys == context.keys && last.type == type &&
                    last.tensor.device() == context.device;
  if (!same && records_graph()) return on_device(make(), context.device);
  if (!same) {
    last = {.queries = context.queries,
            .keys = context.keys,
            .type = type,
            .tensor = on_device(make(), context.device)};
  }
  keep_for_graph(last.tensor);
  return last.tensor;
}

FormulaEvaluator::Value FormulaEvaluator::evaluate(const FormulaNode& node,
                                                   Operands& operands) const {
  if (is_number(node) && node.operation != Op::parameter) {
    return {.number = evaluate_formula(node, numbers_of(operands))};
  }
  const FormulaUses& uses = node.uses;
  // In a formula with a score, computes a part that uses only positions like a bias.
  if (!operands.query.defined() && uses.pairs() && !uses.score && uses.bound.empty()) {
    const at::Tensor values = spread(node, operands.context);
    return {.tensor = node.type == FormulaType::boolean ? values != 0 : values};
  }
  const bool constant_part = !operands.exact && uses.constant() && uses.bound.empty();
  if (!constant_part) return operation(node, operands);
  // Computes in float64, then converts to the type of the other parts.
  const auto make = [&] {
    Operands exact{.context = operands.context,
                   .type = at::kDouble,
                   .query = operands.query,
                   .key = operands.key,
                   .exact = true};
    const Value value = operation(node, exact);
    const at::Tensor tensor = value.as_tensor();
    return tensor.scalar_type() == at::kBool ? tensor : tensor.to(operands.type);
  };
  // at_distances() and spread() cache the root.
  if (&node == &root_) return {.tensor = make()};
  return {.tensor = kept(node, operands.context, operands.type, make)};
}

FormulaEvaluator::Value FormulaEvaluator::operation(const FormulaNode& node,
                                                    Operands& operands) const {
  switch (node.operation) {
    case Op::number:
      return {.number = node.number};
    case Op::variable:
      return variable(node, operands);
    case Op::parameter:
      return parameter(node, operands);
    case Op::sum:
      return sum(node, operands);
    default:
      break;
  }
  std::vector<at::Tensor> arguments;
  const FormulaNode* const small =
      node.operation == Op::logarithm ? beyond_one(node.arguments[0]) : nullptr;
  if (small != nullptr) {
    const Value value = evaluate(*small, operands);
    return {.tensor = at::log1p(value.as_tensor())};
  }
  for (const FormulaNode& argument : node.arguments) {
    const Value value = evaluate(argument, operands);
    const bool condition = !value.tensor.defined() && argument.type == FormulaType::boolean;
    arguments.push_back(condition ? value.as_tensor().to(at::kBool) : value.as_tensor());
  }
  return {.tensor = apply_formula(node.operation, TensorMath(), arguments)};
}

FormulaEvaluator::Value FormulaEvaluator::sum(const FormulaNode& node, Operands& operands) const {
  const FormulaTerms terms = sum_terms(node, numbers_of(operands));
  at::Tensor total;
  for (long t = terms.first; t <= terms.last; ++t) {
    operands.sums[node.name] = static_cast<double>(t);
    const Value value = evaluate(node.arguments[2], operands);
    const at::Tensor term = value.as_tensor();
    total = total.defined() ? total + term : term;
  }
  operands.sums.erase(node.name);
  return {.tensor = total};
}

FormulaEvaluator::Value FormulaEvaluator::variable(const FormulaNode& node,
                                                   const Operands& operands) const {
  if (node.name == "i") return {.tensor = operands.query};
  if (node.name == "j") return {.tensor = operands.key};
  if (node.name == "score") return {.tensor = operands.score};
  if (node.name == "h") return {.tensor = at::arange(heads_, at::kDouble).view({-1, 1, 1})};
  return {.number = numbers_of(operands).variable(node.name)};
}

FormulaValues FormulaEvaluator::numbers_of(const Operands& operands) const {
  return {.variable =
              [&](const std::string& name) {
                const auto bound = operands.sums.find(name);
                if (bound != operands.sums.end()) return bound->second;
                return static_cast<double>(name == "layer"    ? operands.context.layer
                                           : name == "heads"  ? heads_
                                           : name == "layers" ? layers_
                                                              : operands.context.keys.count());
              },
          .parameter =
              [&](std::size_t parameter, double at) {
                const FormulaNumbers& numbers = numbers_[parameter];
                const at::Tensor& all = numbers.of(operands.context.layer);
                const auto size = static_cast<double>(numbers.table ? all.size(1) : 1);
                const double inside = std::min(std::max(at, 0.0), size - 1);
                if (inside != at && !numbers.clamped) {
                  throw_usage(
                      "position.formula",
                      fmt::format("entry {:g} of {}, which has {:g}", at, numbers.name, size),
                      "outside: clamp, a larger size, or min and max");
                }
                return all.view({-1})[static_cast<std::int64_t>(inside)].item<double>();
              }};
}

FormulaEvaluator::Value FormulaEvaluator::parameter(const FormulaNode& node,
                                                    Operands& operands) const {
  const FormulaNumbers& numbers = numbers_[node.parameter];
  if (numbers.table) return {.tensor = entries(node, operands)};
  const at::Tensor values = numbers.of(operands.context.layer).to(operands.type);
  return {.tensor = values.view({-1, 1, 1})};
}

at::Tensor FormulaEvaluator::index(const FormulaNode& node, Operands& operands) const {
  const FormulaNumbers& numbers = numbers_[node.parameter];
  const std::int64_t size = numbers.of(operands.context.layer).size(1);
  Operands exact{.context = operands.context,
                 .type = at::kDouble,
                 .query = operands.query,
                 .key = operands.key,
                 .exact = true,
                 .sums = operands.sums};
  const Value value = evaluate(node.arguments[0], exact);
  at::Tensor entries = value.as_tensor().to(at::kLong);
  if (entries.dim() == 0) entries = entries.view({1, 1, 1});
  if (numbers.clamped) return entries.clamp(0, size - 1);
  const auto least = entries.min().item<std::int64_t>(), most = entries.max().item<std::int64_t>();
  if (least < 0 || most >= size) {
    throw_usage(
        "position.formula",
        fmt::format("entry {} of {}, which has {}", least < 0 ? least : most, numbers.name, size),
        "outside: clamp, a larger size, or min and max");
  }
  return entries;
}

// The table's entries at the index: [1 or H, Lq or 1, Lk or positions], or [1, 1 or H, Lq, Lk] if
// the index uses a sum's variable in a formula with a score.
at::Tensor FormulaEvaluator::entries(const FormulaNode& node, Operands& operands) const {
  const at::Tensor table = numbers_[node.parameter].of(operands.context.layer).to(operands.type);
  const auto make = [&] { return index(node, operands); };
  const bool keeps = node.arguments[0].uses.bound.empty() && !operands.exact;
  const at::Tensor at = keeps ? kept(node.arguments[0], operands.context, at::kLong, make)
                              : on_device(make(), table.device());
  std::vector<std::int64_t> sizes = at.sizes().vec();
  if (at.dim() == 4) {
    sizes[1] = std::max(sizes[1], table.size(0));
    const at::Tensor by_head = at.expand(sizes).transpose(0, 1).reshape({sizes[1], -1});
    return at::gather(table.expand({sizes[1], table.size(1)}), 1, by_head)
        .view({sizes[1], sizes[0], sizes[2], sizes[3]})
        .transpose(0, 1);
  }
  if (at.size(0) == 1) {
    sizes[0] = table.size(0);
    return at::index_select(table, 1, at.view({-1})).view(sizes);
  }
  const std::int64_t rows = at.size(0);
  return at::gather(table.expand({rows, table.size(1)}), 1, at.reshape({rows, -1})).view(sizes);
}

}  // namespace roformer
