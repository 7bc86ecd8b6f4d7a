#include "bench/attention_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analysis/reference_attention.h"
#include "attention/linear_attention.h"
#include "base/error.h"
#include "bench/attention_layer.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

constexpr double kFloat = 4;  // bytes

Settings settings_of_kernel(const Settings& settings, const std::string& kernel,
                            const AttentionBenchmarkOptions& options, std::int64_t length) {
  Settings result = settings;
  result.data.length = length;
  result.training.batch = options.sequences;
  result.attention.window = kernel == "window" ? options.window : 0;
  result.attention.kernel = kernel == "elu"     ? AttentionKernel::elu
                            : kernel == "favor" ? AttentionKernel::favor
                                                : AttentionKernel::softmax;
  return result;
}

// The [L, L] matrices of a pass: the window's mask and bias.
double matrix_bytes(const std::string& kernel, std::int64_t length) {
  return kernel == "window" ? 3 * kFloat * static_cast<double>(length) * static_cast<double>(length)
                            : 0;
}

// Predicts the time of the next length from shorter lengths.
class Patience {
 public:
  explicit Patience(double seconds) : seconds_(seconds) {}

  std::string refusal(const std::string& kernel, std::int64_t length) const {
    const auto found = last_.find(kernel);
    if (found == last_.end()) return "";
    const auto& [before, milliseconds] = found->second;
    const double times = static_cast<double>(length) / static_cast<double>(before);
    const double growth = kernel == "softmax" || kernel == "window" ? times * times : times;
    const double expected = milliseconds * growth / 1000;
    if (expected <= seconds_) return "";
    return fmt::format("a pass would take about {:.2g} s", expected);
  }
  void note(const std::string& kernel, std::int64_t length, double milliseconds) {
    last_[kernel] = {length, milliseconds};
  }

 private:
  double seconds_;
  std::map<std::string, std::pair<std::int64_t, double>> last_;
};

class AttentionContest {
 public:
  AttentionContest(const Settings& settings, const ComputePlan& plan,
                   const AttentionBenchmarkOptions& options, const BenchmarkProgress& progress)
      : settings_(settings),
        plan_(plan),
        options_(options),
        progress_(progress),
        patience_(options.longest),
        passes_(static_cast<std::int64_t>(options.lengths.size() *
                                          (options.kernels.size() + (options.forms ? 3 : 0)))) {}

  AttentionBenchmark run() {
    AttentionBenchmark result;
    for (const std::int64_t length : options_.lengths) {
      if (stopped_) break;
      measure_kernels(length, result.costs);
      if (options_.forms && !stopped_) result.forms.push_back(measure_forms(length));
    }
    return result;
  }

 private:
  const Settings& settings_;
  const ComputePlan& plan_;
  const AttentionBenchmarkOptions& options_;
  const BenchmarkProgress& progress_;
  Patience patience_;
  std::int64_t passes_, done_ = 0;
  bool stopped_ = false;

  void advance() {
    progress_(++done_, passes_);
    stopped_ = options_.stopped && options_.stopped();
  }

  void measure_kernels(std::int64_t length, std::vector<AttentionCost>& costs) {
    const std::int64_t width = settings_.model.width;
    const at::Tensor x = random_input({options_.sequences * length, width}, plan_).requires_grad_();
    const at::Tensor slopes = random_input({options_.sequences * length, width}, plan_);
    for (const std::string& kernel : options_.kernels) {
      if (stopped_) return;
      AttentionCost cost{.kernel = kernel, .length = length};
      const Settings settings = settings_of_kernel(settings_, kernel, options_, length);
      cost.remark = refusal(kernel, settings, length);
      if (cost.remark.empty()) measure(settings, x, slopes, cost);
      costs.push_back(std::move(cost));
      advance();
    }
  }

  // Why the kernel is not measured at this length; "" if it is.
  std::string refusal(const std::string& kernel, const Settings& settings,
                      std::int64_t length) const {
    const std::string refused = refusal_of(settings), nowhere = "refused: default: ";
    // The user did not set the kernel, so the message has no location for it.
    if (refused.starts_with(nowhere)) return "refused: " + refused.substr(nowhere.size());
    if (!refused.empty()) return refused;
    if (const double bytes = matrix_bytes(kernel, length); bytes > options_.memory) {
      return fmt::format("its masks would take about {:.0f} GiB", bytes / (1 << 30));
    }
    return patience_.refusal(kernel, length);
  }

  void measure(const Settings& settings, const at::Tensor& x, const at::Tensor& slopes,
               AttentionCost& cost) {
    const AttentionLayers layers(settings, 1, plan_);
    const auto pass = [&](const at::Tensor& input) {
      return layers.forward(input, cost.length, AttentionForm::efficient);
    };
    const TurnTimes times =
        time_pieces({[&](std::int64_t) { return timed_pass(x, {}, pass); },
                     [&](std::int64_t) { return timed_pass(x, slopes, pass); }},
                    {.counted = options_.repeats, .stops = [&](std::int64_t round, std::size_t) {
                       return round > 0 && options_.stopped && options_.stopped();
                     }});
    cost.forward = median_or_none(times[0]);
    cost.training = median_or_none(times[1]);
    patience_.note(cost.kernel, cost.length, cost.training);
    cost.memory = pass_memory(x, slopes, pass);
  }

  LinearFormCost measure_forms(std::int64_t length) {
    const std::int64_t heads = settings_.model.heads, head_width = settings_.model.width / heads;
    const std::vector<std::int64_t> shape{options_.sequences, heads, length, head_width};
    // A model sums features in float, whatever its precision.
    const auto input = [&] { return random_input(shape, plan_).to(at::kFloat); };
    const at::Tensor x = input().requires_grad_(), slopes = input(), value = input();
    LinearFormCost cost{.length = length};
    const auto form = [&](const std::string& name, double bytes, const auto& attention) {
      double time = -1;
      if (stopped_) return time;
      const std::string refusal =
          bytes > options_.memory
              ? fmt::format("its states would take about {:.0f} GiB", bytes / (1 << 30))
              : patience_.refusal(name, length);
      if (refusal.empty()) {
        const auto pass = [&](const at::Tensor& input) {
          LinearFeatures features{.query = at::elu(input) + 1};
          features.key = features.rotated_query = features.rotated_key = features.query;
          return attention(features);
        };
        time =
            median_or_none(time_pieces({[&](std::int64_t) { return timed_pass(x, slopes, pass); }},
                                       {.counted = options_.repeats})
                               .front());
        patience_.note(name, length, time);
      } else {
        cost.remark += (cost.remark.empty() ? "" : "; ") + name + ": " + refusal;
      }
      advance();
      return time;
    };
    cost.chunked = form("chunked", 0, [&](const LinearFeatures& features) {
      return linear_attention(features, value, /*causal=*/true);
    });
    cost.not_causal = form("not causal", 0, [&](const LinearFeatures& features) {
      return linear_attention(features, value, /*causal=*/false);
    });
    // The states, their sums and the gradients of both.
    const double states = 4 * kFloat * static_cast<double>(value.numel() * head_width);
    cost.cumulative = form("cumulative", states, [&](const LinearFeatures& features) {
      return cumulative_linear_attention(features, value);
    });
    return cost;
  }
};

}  // namespace

std::vector<std::string> attention_kernels() {
  return {"softmax", "window", "elu", "favor"};
}

AttentionBenchmark benchmark_attention(const Settings& settings, const ComputePlan& plan,
                                       const AttentionBenchmarkOptions& options,
                                       const BenchmarkProgress& progress) {
  ROFORMER_ASSERT(std::ranges::is_sorted(options.lengths));
  return AttentionContest(settings, plan, options, progress).run();
}

std::optional<double> crossing_point(const std::vector<AttentionCost>& costs,
                                     std::string_view kernel, std::int64_t shortest) {
  // By length, the logarithm of the ratio of the kernel's time to the softmax's.
  std::vector<std::array<double, 2>> ratios;
  for (const AttentionCost& cost : costs) {
    if (cost.kernel != kernel || cost.training <= 0 || cost.length < shortest) continue;
    for (const AttentionCost& other : costs) {
      if (other.kernel != "softmax" || other.length != cost.length || other.training <= 0) continue;
      ratios.push_back(
          {std::log(static_cast<double>(cost.length)), std::log(cost.training / other.training)});
    }
  }
  for (std::size_t i = 1; i < ratios.size(); ++i) {
    const auto [x0, y0] = ratios[i - 1];
    const auto [x1, y1] = ratios[i];
    const bool stays = std::all_of(ratios.begin() + static_cast<std::ptrdiff_t>(i), ratios.end(),
                                   [](const auto& ratio) { return ratio[1] <= 0; });
    if (y0 > 0 && stays) return std::exp(x0 + (x1 - x0) * y0 / (y0 - y1));
  }
  return std::nullopt;
}

}  // namespace roformer
