// The tables of golden cases: the small functions in schemes. Cases name schemes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "analysis/golden_case.h"
#include "analysis/golden_schemes.h"
#include "attention/explicit_scores.h"
#include "attention/position_session.h"
#include "base/error.h"
#include "base/json.h"
#include "config/layer_map.h"
#include "config/schemes/rope.h"
#include "config/schemes/sinusoidal.h"
#include "position/relative_index.h"
#include "position/rope.h"
#include "position/rotary_table.h"
#include "position/scheme_parts.h"
#include "position/sinusoidal.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

using nlohmann::json;

std::vector<double> numbers(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

// A function of each number of an input.
at::Tensor each(const at::Tensor& input, const std::function<double(std::int64_t)>& function) {
  std::vector<double> values = numbers(input);
  for (double& value : values) value = function(static_cast<std::int64_t>(value));
  return at::tensor(values, at::kDouble);
}

ScaledFrequencies frequencies(const json& config, RopeScaling scaling) {
  RopeSettings rope{.base = config.at("base"),
                    .scaling = scaling,
                    .factor = config.at("factor"),
                    .original_length = config.at("train_len")};
  const auto read = [&](const char* name, double& option) { option = config.value(name, option); };
  read("beta_fast", rope.beta_fast);
  read("beta_slow", rope.beta_slow);
  read("low_freq_factor", rope.low_frequency_factor);
  read("high_freq_factor", rope.high_frequency_factor);
  read("b", rope.mixed_exponent);
  read("attention_factor", rope.attention_factor);
  return scaled_frequencies(rope, config.at("dim"), rope.original_length,
                            json_integer(config.at("seq_len")));
}

// LongRoPE at a running length, with lists from the case.
ScaledFrequencies longrope(const GoldenCase& in, double factor, std::int64_t length) {
  const RopeSettings rope{.base = in.config.at("base"),
                          .scaling = RopeScaling::longrope,
                          .factor = factor,
                          .original_length = in.config.at("train_len"),
                          .short_factor = numbers(in.inputs.at("short_factor")),
                          .long_factor = numbers(in.inputs.at("long_factor"))};
  return scaled_frequencies(rope, in.config.at("dim"), rope.original_length, length);
}

// A row for each proportion of p-RoPE.
at::Tensor proportional_frequencies(const GoldenCase& in) {
  std::vector<at::Tensor> rows;
  for (const double proportion : numbers(in.inputs.at("proportion"))) {
    const RopeSettings rope{.base = in.config.at("base"),
                            .scaling = RopeScaling::p_rope,
                            .factor = in.config.at("factor"),
                            .proportion = proportion};
    rows.push_back(
        at::tensor(scaled_frequencies(rope, in.config.at("dim"), 1, 1).frequencies, at::kDouble));
  }
  return at::stack(rows);
}

std::vector<double> fope_frequencies(const GoldenCase& in) {
  const FopeSettings settings{.base = in.config.at("base"),
                              .training_length = in.config.at("train_len"),
                              .floor_ratio = in.config.value("floor_ratio", 1.0),
                              .fourier_dim = in.config.at("fourier_dim")};
  return fope_frequencies(settings, in.config.at("D"), 0);
}

// value(i, j) of every pair, [L, L].
at::Tensor of_pairs(const GoldenCase& in,
                    const std::function<double(std::int64_t, std::int64_t)>& value) {
  const std::int64_t length = in.config.at("L");
  std::vector<double> values;
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t j = 0; j < length; ++j) values.push_back(value(i, j));
  }
  return at::tensor(values, at::kDouble).view({length, length});
}

StreamingSettings streaming_settings(const json& config) {
  return {.sinks = config.at("sinks"), .recent = config.at("recent")};
}

std::int64_t deberta_delta(std::int64_t past, std::int64_t span) {
  return std::clamp<std::int64_t>(past + span, 0, 2 * span - 1);
}

at::Tensor mask(const GoldenCase& in, const std::string& name) {
  const Positions all = Positions::range(0, in.config.at("L"));
  at::Tensor result;
  if (name == "causal") {
    result = causal_mask(all, all);
  } else if (name == "bca") {
    result = block_causal_mask(all, all, json_integer(in.config.at("bca_train_len")) / 2);
  } else {  // windowN_causal, windowN_bidirectional
    result = window_mask(all, all, std::stoll(name.substr(6)), name.ends_with("_causal"));
  }
  return result.unsqueeze(0).unsqueeze(0);
}

// All options of tables, separated by spaces.
constexpr std::string_view kOptions =
    " L layers interval M D dim base heads factor train_len seq_len beta_fast"
    " beta_slow fourier_dim floor_ratio attn_scale floor_scale decay_time_min"
    " decay_time_max low_freq_factor gamma b buckets max_position span"
    " high_freq_factor num_buckets windows group window sinks recent chunk local"
    " max_distance bca_train_len attention_factor ";

using TableMaker = std::function<at::Tensor(const GoldenCase&)>;

std::map<std::string, TableMaker> make_tables() {
  std::map<std::string, TableMaker> all;
  constexpr std::array<std::pair<const char*, RopeScaling>, 8> kScalings{
      {{"default", RopeScaling::none},
       {"linear", RopeScaling::linear},
       {"ntk", RopeScaling::ntk},
       {"dynamic", RopeScaling::dynamic_ntk},
       {"yarn_code", RopeScaling::yarn},
       {"yarn_paper", RopeScaling::yarn_paper},
       {"llama3", RopeScaling::llama3},
       {"ntk_mixed", RopeScaling::ntk_mixed}}};
  for (const auto& [name, scaling] : kScalings) {
    all[name] = [scaling = scaling](const GoldenCase& in) {
      return at::tensor(frequencies(in.config, scaling).frequencies, at::kDouble);
    };
  }
  all["yarn_mscale"] = [](const GoldenCase& in) {
    return at::tensor({frequencies(in.config, RopeScaling::yarn).factor}, at::kDouble);
  };
  all["inv_freq"] = [](const GoldenCase& in) {
    return in.config.contains("fourier_dim") ? at::tensor(fope_frequencies(in), at::kDouble)
                                             : proportional_frequencies(in);
  };
  all["step_eye"] = [](const GoldenCase& in) {
    const auto frequencies = static_cast<std::int64_t>(fope_frequencies(in).size());
    return fope_identity(frequencies, std::min(frequencies, json_integer(in.config.at("D")) / 4));
  };
  const auto add_longrope = [&](const char* name, std::int64_t beyond) {
    all[name] = [beyond](const GoldenCase& in) {
      const std::int64_t length = json_integer(in.config.at("train_len")) + beyond;
      return at::tensor(longrope(in, in.config.at("factor"), length).frequencies, at::kDouble);
    };
  };
  add_longrope("at_train_len", 0);
  add_longrope("above", 1);
  const auto add_longrope_factor = [&](const char* name, bool extended) {
    all[name] = [extended](const GoldenCase& in) {
      const double factor = extended ? in.config.at("factor").get<double>() : 1.0;
      return at::tensor({longrope(in, factor, 1).factor}, at::kDouble);
    };
  };
  add_longrope_factor("attention_factor", true);
  add_longrope_factor("no_extension", false);
  all["bias"] = [](const GoldenCase& in) {
    return at::tensor(forget_gate_biases(in.config.at("heads"), in.config.at("decay_time_min"),
                                         in.config.at("decay_time_max")),
                      at::kDouble);
  };
  all["factor"] = [](const GoldenCase& in) {
    const NoneSettings settings{.attention_scale = in.config.at("attn_scale"),
                                .floor_scale = in.config.at("floor_scale")};
    return each(in.inputs.at("i"), [&](auto i) { return query_temperature(i, settings); });
  };
  const auto add_self_extend = [&](const char* name, SelfExtendShift shift) {
    all[name] = [shift](const GoldenCase& in) {
      const SelfExtendSettings settings{
          .group = in.config.at("group"), .window = in.config.at("window"), .shift = shift};
      return of_pairs(in, [&](auto i, auto j) { return self_extend_distance(i, j, settings); });
    };
  };
  // Llama 4's and SmolLM3's layers that rotate.
  all["uses_rope"] = [](const GoldenCase& in) {
    const std::int64_t interval = in.config.at("interval");
    const auto map = fmt::format("{{{}-last/{}: none, others: rope}}", interval - 1, interval);
    std::vector<double> rotates;
    for (const std::int64_t entry :
         entries_of_layers(parse_layer_map(map), in.config.at("layers"))) {
      rotates.push_back(static_cast<double>(entry));  // rope is the second entry
    }
    return at::tensor(rotates, at::kDouble);
  };
  add_self_extend("self_extend", SelfExtendShift::real);
  add_self_extend("self_extend_floor", SelfExtendShift::floor);
  all["dca"] = [](const GoldenCase& in) {
    const DualChunkSettings settings{.chunk = in.config.at("chunk"),
                                     .local = in.config.at("local")};
    return of_pairs(in, [&](auto i, auto j) { return dual_chunk_distance(i, j, settings); });
  };
  all["streaming"] = [](const GoldenCase& in) {
    return of_pairs(in, [settings = streaming_settings(in.config)](auto i, auto j) {
      return streaming_distance(i, j, settings);
    });
  };
  all["streaming_mask"] = [](const GoldenCase& in) {
    return of_pairs(in, [settings = streaming_settings(in.config)](auto i, auto j) {
      return streaming_sees(i, j, settings) ? 1.0 : 0.0;
    });
  };
  const auto add_sinusoid = [&](const char* name, SinusoidalLayout layout) {
    all[name] = [layout](const GoldenCase& in) {
      return sinusoid_table(Positions::range(0, in.config.at("L")), in.config.at("M"),
                            in.config.at("base"), layout);
    };
  };
  add_sinusoid("interleaved", SinusoidalLayout::interleaved);
  add_sinusoid("concat", SinusoidalLayout::concat);
  add_sinusoid("t2t", SinusoidalLayout::tensor2tensor);
  const auto add_log_n = [&](const char* name, const char* input, LogNScaling scaling,
                             std::int64_t first) {
    all[name] = [=](const GoldenCase& in) {
      return each(in.inputs.at(input), [&](std::int64_t n) {
        return log_n_factor(scaling, n + first, in.config.at("train_len"));
      });
    };
  };
  add_log_n("clipped", "i", LogNScaling::query, 1);
  add_log_n("unclipped", "i", LogNScaling::query_unclipped, 1);
  add_log_n("sequence", "n", LogNScaling::encoder, 0);
  const auto add_t5 = [&](const char* name, bool bidirectional) {
    all[name] = [bidirectional](const GoldenCase& in) {
      const DistanceBuckets buckets{.buckets = in.config.at("num_buckets"),
                                    .max_distance = in.config.at("max_distance"),
                                    .bidirectional = bidirectional};
      return each(in.inputs.at("rel"),
                  [&](std::int64_t distance) { return t5_bucket(distance, buckets); });
    };
  };
  add_t5("bidirectional", true);
  add_t5("unidirectional", false);
  const auto bucket = [](const GoldenCase& in, std::int64_t past) {
    return deberta_bucket(past, in.config.at("buckets"), in.config.at("max_position"));
  };
  all["bucket"] = [bucket](const GoldenCase& in) {
    return each(in.inputs.at("rel"), [&](std::int64_t past) { return bucket(in, past); });
  };
  all["delta"] = [bucket](const GoldenCase& in) {
    return each(in.inputs.at("rel"), [&](std::int64_t past) {
      return deberta_delta(bucket(in, past), in.config.at("span"));
    });
  };
  all["delta_plain"] = [](const GoldenCase& in) {
    return each(in.inputs.at("rel"),
                [&](std::int64_t past) { return deberta_delta(past, in.config.at("span")); });
  };
  all["slopes"] = [](const GoldenCase& in) {
    return at::tensor(alibi_slopes(in.config.at("heads")), at::kDouble);
  };
  all["bound"] = [](const GoldenCase& in) {
    return at::tensor(decay_bound(rotary_frequencies(in.config.at("dim"), in.config.at("base")),
                                  numbers(in.inputs.at("m"))),
                      at::kDouble);
  };
  all["pi"] = [](const GoldenCase& in) {
    return at::tensor(half_permutation(in.config.at("D")), at::kLong);
  };
  all["zeta"] = [](const GoldenCase& in) {
    return at::tensor(xpos_zeta(in.config.at("D"), in.config.at("gamma")), at::kDouble);
  };
  return all;
}

}  // namespace

at::Tensor golden_table(const GoldenCase& golden, const std::string& name) {
  for (const auto& [option, value] : golden.config.items()) {
    if (kOptions.find(" " + option + " ") == std::string_view::npos)
      throw_failure("", "unknown option " + option);
  }
  static const std::map<std::string, TableMaker> kTables = make_tables();
  if (name == "causal" || name == "bca" || name.starts_with("window")) return mask(golden, name);
  const auto found = kTables.find(name);
  if (found == kTables.end()) throw_failure("", "unknown table " + name);
  return found->second(golden);
}

}  // namespace roformer
