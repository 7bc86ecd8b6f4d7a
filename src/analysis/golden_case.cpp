#include "analysis/golden_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "analysis/golden_schemes.h"
#include "analysis/reference_attention.h"
#include "attention/attend.h"
#include "attention/linear_attention.h"
#include "attention/position_session.h"
#include "base/error.h"
#include "config/schemes/cope.h"
#include "config/schemes/rope.h"
#include "config/schemes/t5.h"
#include "position/relative_index.h"
#include "position/rope.h"
#include "position/rotary_table.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

// One case in one precision.
class Run {
 public:
  Run(const GoldenCase& golden, at::ScalarType type, at::Device device)
      : golden_(golden),
        setup_(golden_setup(golden)),
        store_(0, type, device),
        type_(type),
        device_(device) {
    setup_.shape.type = type;
    for (const auto& [name, value] : golden.inputs) inputs_[name] = leaf(name, value);
    for (const auto& [name, value] : golden.parameters) parameters_[name] = leaf(name, value);
    make_scheme_of_case();
  }

  void forward() {
    at::Tensor query, key, value;
    if (const auto x = inputs_.find("x"); x != inputs_.end()) {
      const std::int64_t length = x->second.size(1);
      const at::Tensor embedded = embed(x->second);
      if (scheme_->capabilities().token_inputs) {
        token_inputs_ = scheme_->token_inputs(0, embedded.flatten(0, 1))
                            .view({embedded.size(0), length, setup_.shape.heads, -1})
                            .transpose(1, 2);
      }
      const auto project = [&](const char* name) {
        return at::matmul(embedded, parameters_.at(name))
            .view({embedded.size(0), length, setup_.shape.heads, setup_.shape.head_width})
            .transpose(1, 2);
      };
      query = project("Wq"), key = project("Wk"), value = project("Wv");
    } else {
      query = inputs_.at("q"), key = inputs_.at("k"), value = inputs_.at("v");
    }
    if (setup_.token_inputs) token_inputs_ = setup_.token_inputs(inputs_);
    const std::int64_t queries = query.size(2), keys = key.size(2);
    context_ = {.queries = Positions::range(keys - queries, queries),
                .keys = Positions::range(0, keys),
                .type = type_,
                .device = device_,
                .drawn_positions = setup_.drawn_positions};
    if (golden_.mask.defined()) context_.mask = golden_.mask.to(device_);
    context_.causal = setup_.shape.causal || hides_the_future();
    if (token_inputs_.defined())
      context_.token_inputs = scheme_->cached_token_inputs(token_inputs_, {});
    if (setup_.attention.kernel == AttentionKernel::softmax) {
      softmax(query, key, value);
    } else {
      linear(query, key, value);
    }
  }

  void backward() { (output * golden_.gradients.at("G").to(output.options())).sum().backward(); }

  at::Tensor gradient(const std::string& name) const {
    for (const GoldenSetup::Link& link : setup_.links) {
      if (link.name != name) continue;
      const Parameter* parameter = store_.find(link.parameter);
      if (parameter == nullptr || !parameter->value.grad().defined()) return {};
      return link.transposed ? parameter->value.grad().t() : parameter->value.grad();
    }
    if (const auto found = inputs_.find(name); found != inputs_.end()) return found->second.grad();
    return parameters_.at(name).grad();
  }

  at::Tensor extra(const std::string& name) const;

  at::Tensor logits, output;

 private:
  const GoldenCase& golden_;
  GoldenSetup setup_;
  ParameterStore store_;
  at::ScalarType type_;
  at::Device device_;
  GoldenArrays inputs_, parameters_;
  std::unique_ptr<PositionScheme> scheme_;
  AttentionContext context_;
  at::Tensor bias_, denominator_;
  at::Tensor token_inputs_;  // as computed, before cached_token_inputs()
  AttentionWeights weights_;

  at::Tensor leaf(const std::string& name, const at::Tensor& value) const {
    at::Tensor copy = value.to(at::TensorOptions().dtype(type_).device(device_),
                               /*non_blocking=*/false, /*copy=*/true);
    copy.set_requires_grad(golden_.gradients.contains(name));
    return copy;
  }

  at::Tensor embed(const at::Tensor& x) const {
    const at::Tensor added = setup_.drawn_positions.defined()
                                 ? scheme_->embedding_at(setup_.drawn_positions)
                                 : scheme_->embedding(Positions::range(0, x.size(1)));
    const at::Tensor scaled = x * setup_.content_scale;
    return added.defined() ? scaled + added.to(scaled.options()) : scaled;
  }

  void make_scheme_of_case() {
    if (setup_.make) {
      scheme_ = setup_.make(parameters_);
      return;
    }
    scheme_ =
        make_scheme({.settings = setup_.position, .shape = setup_.shape, .parameters = store_});
    for (const Parameter& parameter : store_.all()) {
      const auto link =
          std::ranges::find(setup_.links, parameter.spec.name, &GoldenSetup::Link::parameter);
      if (setup_.without_parameters) continue;
      if (link == setup_.links.end() || !parameters_.contains(link->name)) {
        throw_failure("", "the case has nothing for " + parameter.spec.name);
      }
      at::Tensor given = parameters_.at(link->name).detach();
      if (link->transposed) given = given.t();
      if (given.sizes() != parameter.value.sizes()) {
        throw_failure("", fmt::format("{} has another shape than {}", link->name, link->parameter));
      }
      parameter.value.detach().copy_(given);
    }
  }

  bool hides_the_future() const {
    const at::Tensor future = causal_mask(context_.queries, context_.keys).logical_not();
    if (!golden_.mask.defined()) return !future.any().item<bool>();
    return !golden_.mask.logical_and(future).any().item<bool>();
  }

  void softmax(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
    bias_ = scheme_->bias(context_);
    const Attended attended = attend({.query = query,
                                      .key = key,
                                      .value = value,
                                      .scheme = *scheme_,
                                      .attention = setup_.attention,
                                      .context = context_,
                                      .bias = bias_},
                                     /*with_scores=*/true);
    logits = attended.scores;
    weights_ = attended.weights;
    output = attended.output;
  }

  // Linear attention can hide keys only from all queries alike, apart from causality.
  void split_mask() {
    if (!golden_.mask.defined()) return;
    const at::Tensor keys = golden_.mask.any(-2, /*keepdim=*/true);
    at::Tensor whole = keys;
    if (setup_.shape.causal) {
      whole = keys.logical_and(causal_mask(context_.queries, context_.keys));
    }
    if (whole.logical_xor(golden_.mask).any().item<bool>()) {
      throw_failure("", "the mask hides more than keys and, where causal, the future");
    }
    context_.mask = keys.any(1, /*keepdim=*/true).to(device_);
  }

  void linear(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
    split_mask();
    const auto matrix = parameters_.find("W");
    const LinearFeatures features =
        linear_features({.query = query,
                         .key = key,
                         .scheme = *scheme_,
                         .attention = setup_.attention,
                         .context = context_,
                         .matrix = matrix == parameters_.end() ? at::Tensor() : matrix->second});
    const bool causal = setup_.shape.causal;
    denominator_ = linear_denominator(features, causal);
    logits =
        at::matmul(features.rotated_query, features.rotated_key.transpose(-2, -1)) / denominator_;
    if (causal) logits = logits.tril(key.size(2) - query.size(2));
    output = linear_attention(features, value, causal);
  }
};

at::Tensor Run::extra(const std::string& name) const {
  const std::int64_t width = setup_.shape.head_width;
  if (name == "pe") {
    if (!context_.drawn_positions.defined()) return scheme_->embedding(context_.queries);
    const at::Tensor table = scheme_->embedding_at(context_.drawn_positions);
    return table.expand({inputs_.at("x").size(0), table.size(1), table.size(2)});
  }
  if (name == "pos_bias") return bias_.squeeze(0);
  if (name == "weights") return weights_.weights;
  if (name == "remainder") return weights_.remainder;
  if (name == "log_fgate")
    return at::log_sigmoid(token_inputs_.select(-1, token_inputs_.size(-1) - 1));
  if (name == "denominator") return denominator_.squeeze(-1);
  if (name == "q_rot" || name == "k_rot") {
    if (!scheme_->capabilities().transform && !scheme_->rotation(context_, width)) {
      throw_failure("", "nothing is rotated");
    }
    return name == "q_rot" ? rotated(*scheme_, context_, inputs_.at("q"), TokenSide::query)
                           : rotated(*scheme_, context_, inputs_.at("k"), TokenSide::key);
  }
  if (name == "inv_freq" && setup_.position.scheme == "fope") {
    return at::tensor(fope_frequencies(setup_.position.of<FopeSettings>(), width, 0), at::kDouble);
  }
  if (name == "inv_freq" || name == "attention_factor") {
    const ScaledFrequencies scaled = scaled_frequencies(
        setup_.position.of<RopeSettings>(),
        rotary_width(setup_.position.of<RopeSettings>().fraction, width), 0, context_.keys.count());
    return name == "inv_freq" ? at::tensor(scaled.frequencies, at::kDouble)
                              : at::tensor({scaled.factor}, at::kDouble);
  }
  if (name == "buckets") {
    const DistanceBuckets buckets{.buckets = setup_.position.of<T5Settings>().buckets,
                                  .max_distance = setup_.position.of<T5Settings>().max_distance,
                                  .bidirectional = !setup_.shape.causal};
    return relative_index(context_.queries, context_.keys,
                          [&](auto distance) { return t5_bucket(distance, buckets); })
        .matrix(at::kCPU);
  }
  if (name == "distance") {
    const auto counted = counted_distance(setup_.position);
    std::vector<double> distances;
    for (std::int64_t i = 0; i < context_.queries.count(); ++i) {
      for (std::int64_t j = 0; j < context_.keys.count(); ++j) {
        distances.push_back(counted(context_.queries[i], context_.keys[j]));
      }
    }
    return at::tensor(distances, at::kDouble)
        .view({context_.queries.count(), context_.keys.count()});
  }
  if (name == "positions") {
    const at::Tensor scores = at::matmul(inputs_.at("q"), inputs_.at("k").transpose(-2, -1)) *
                              scheme_->score_scale(width);
    return contextual_positions(scores, context_.mask,
                                setup_.position.of<CopeSettings>().positions);
  }
  throw_failure("", "unknown extra " + name);
}

double error_share(const at::Tensor& got, const at::Tensor& wanted, const GoldenTolerance& allowed,
                   const at::Tensor& mask = {}) {
  if (!got.defined()) throw_failure("", "nothing was computed");
  if (got.sizes() != wanted.sizes()) throw_failure("", "another shape");
  const at::Tensor difference = (got.detach().to(at::kCPU, at::kDouble) - wanted).abs();
  at::Tensor share = difference / (allowed.absolute + allowed.relative * wanted.abs());
  // NaN is the worst miss.
  share = at::where(share.isnan(), std::numeric_limits<double>::infinity(), share);
  if (mask.defined()) share = share.masked_fill(mask.logical_not(), 0);
  return share.numel() == 0 ? 0 : share.max().item<double>();
}

GoldenErrors compare(const GoldenCase& golden, at::ScalarType type, at::Device device,
                     const GoldenTolerance& allowed, const GoldenTolerance& gradient_allowed) {
  Run run(golden, type, device);
  run.forward();
  GoldenErrors errors;
  for (const auto& [name, wanted] : golden.expected) {
    try {
      if (name == "logits") {
        errors.logits = error_share(run.logits, wanted, allowed, golden.mask);
      } else if (name == "output") {
        errors.output = error_share(run.output, wanted, allowed);
      } else {
        errors.others = std::max(errors.others, error_share(run.extra(name), wanted, allowed));
      }
    } catch (const Error& error) {
      throw_failure(name, error.what());
    }
  }
  if (golden.gradients.empty()) return errors;
  run.backward();
  for (const auto& [name, wanted] : golden.gradients) {
    if (name == "G") continue;
    try {
      errors.gradients =
          std::max(errors.gradients, error_share(run.gradient(name), wanted, gradient_allowed));
    } catch (const Error& error) {
      throw_failure("gradient of " + name, error.what());
    }
  }
  return errors;
}

}  // namespace

double GoldenErrors::worst() const {
  return std::max({logits, output, gradients, others});
}

void GoldenErrors::include(const GoldenErrors& more) {
  logits = std::max(logits, more.logits);
  output = std::max(output, more.output);
  gradients = std::max(gradients, more.gradients);
  others = std::max(others, more.others);
}

bool GoldenResult::passed() const {
  return problem.empty() && float64.worst() <= 1 && float32.worst() <= 1;
}

GoldenResult run_golden_case(const std::filesystem::path& file, const GoldenIndex& index,
                             at::Device device) {
  GoldenResult result{.file = file.filename().string(), .scheme = "?"};
  try {
    const GoldenCase golden = read_golden_case(file);
    result.scheme = golden.scheme;
    if (golden.scheme == "table") {
      for (const auto& [name, wanted] : golden.expected) {
        const double share = error_share(golden_table(golden, name), wanted, index.float64);
        result.float64.others = std::max(result.float64.others, share);
      }
      return result;
    }
    result.scheme = golden_setup(golden).position.scheme;
    result.float64 = compare(golden, at::kDouble, device, index.float64, index.gradient_float64);
    result.float32 = compare(golden, at::kFloat, device, index.float32, index.gradient_float32);
  } catch (const std::exception& error) {
    // The case is a miss with its reason; the other cases still run.
    result.problem = error.what();
  }
  return result;
}

std::vector<GoldenResult> run_golden_folder(const std::filesystem::path& folder,
                                            at::Device device) {
  const GoldenIndex index = read_golden_index(folder);
  std::vector<GoldenResult> results;
  for (const std::filesystem::path& file : index.files) {
    results.push_back(run_golden_case(file, index, device));
  }
  return results;
}

}  // namespace roformer
