#include "config/schemes/rope.h"

#include <fmt/format.h>

#include <cmath>

#include "config/attention_settings.h"
#include "config/schemes/check.h"
#include "config/schemes/options.h"
#include "config/task_facts.h"
#include "config/words.h"

namespace roformer {
namespace {

std::vector<Key> rope_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(RopeSettings, layout, rotary_layout("the paper has interleaved")),
      ROFORMER_OPTION(RopeSettings, base,
                      {.range = above(1),
                       .help = "wavelengths grow from 2 pi to 2 pi times this (Su 2021: 10000; "
                               "Llama 3: 500000)"}),
      ROFORMER_OPTION(RopeSettings, fraction,
                      {.unit = "share of a head",
                       .range = {.low = 0, .high = 1, .low_open = true},
                       .help = "features that are rotated (GPT-NeoX: 0.25)"}),
      ROFORMER_OPTION(RopeSettings, value,
                      {.help = "rotate the values too (rotary_value of Hugging Face's RoFormer)"}),
      ROFORMER_OPTION(
          RopeSettings, offset,
          {.unit = "tokens", .range = between(0, 1e9), .help = "position of the first token"}),
      ROFORMER_OPTION(RopeSettings, scaling,
                      {.help = "frequencies for longer texts: linear (Chen 2023), ntk and "
                               "dynamic_ntk (bloc97), yarn (Peng 2023, ramp of the released code) "
                               "or yarn_paper, llama3 (Llama 3.1), ntk_mixed (Su), longrope (Ding "
                               "2024); p_rope (Barbero 2024) leaves the slow pairs as they are"}),
      ROFORMER_OPTION(RopeSettings, factor,
                      {.range = at_least(1),
                       .help = "factor of the scaling: how many times longer the text may become"}),
      ROFORMER_OPTION(RopeSettings, original_length,
                      {.unit = "tokens",
                       .range = between(0, kLongest),
                       .help = "length before scaling; 0: data.length"}),
      ROFORMER_OPTION(RopeSettings, beta_fast,
                      {.unit = "rotations",
                       .range = above(0),
                       .help = "yarn: pairs that rotate more often keep their frequency (32)"}),
      ROFORMER_OPTION(
          RopeSettings, beta_slow,
          {.unit = "rotations",
           .range = above(0),
           .help = "yarn: pairs that rotate less often are stretched by the factor (1)"}),
      ROFORMER_OPTION(
          RopeSettings, attention_factor,
          {.range = at_least(0),
           .help = "factor of q and k; 0: the scaling's own (yarn: 0.1 ln s + 1; longrope: "
                   "sqrt(1 + ln s / ln L0))"}),
      ROFORMER_OPTION(RopeSettings, low_frequency_factor,
                      {.range = above(0), .help = "llama3: lower edge of its middle band (1)"}),
      ROFORMER_OPTION(RopeSettings, high_frequency_factor,
                      {.range = above(0), .help = "llama3: upper edge of its middle band (4)"}),
      ROFORMER_OPTION(RopeSettings, mixed_exponent,
                      {.range = above(0), .help = "ntk_mixed: exponent b (0.75)"}),
      ROFORMER_OPTION(RopeSettings, short_factor,
                      {.range = above(0),
                       .help = "longrope: divisors of the pairs' frequencies in texts of up to "
                               "original_length tokens; the model brings them"}),
      ROFORMER_OPTION(
          RopeSettings, long_factor,
          {.range = above(0), .help = "longrope: divisors of the frequencies in longer texts"}),
      ROFORMER_OPTION(RopeSettings, proportion,
                      {.unit = "share of the pairs",
                       .range = between(0, 1),
                       .help = "p_rope: the fast pairs that rotate (Gemma 4: 0.25)"}),
  };
}

void check_rotated_features(const SchemeCheck& check) {
  const double fraction = check.options<RopeSettings>().fraction;
  if (fraction == 1) return check_pairs_of_head(check);
  if (!check.has_head_width()) return;
  const std::int64_t share = rotary_share(fraction, check.head_width());
  if (share >= 2 && share % 2 == 0) return;
  check.problem({check.option("fraction"), "model.heads", "model.width", check.choice()},
                fmt::format("{} of a head of {} features is {}, wanted an even number of at least "
                            "2",
                            fraction, check.head_width(), share));
}

bool is_yarn(RopeScaling scaling) {
  return scaling == RopeScaling::yarn || scaling == RopeScaling::yarn_paper;
}

// Scalings whose angles depend on the length of the text.
bool depends_on_length(RopeScaling scaling) {
  return scaling == RopeScaling::dynamic_ntk || scaling == RopeScaling::longrope;
}

// Scalings that change the base of the frequencies.
bool changes_base(RopeScaling scaling) {
  return scaling == RopeScaling::ntk || scaling == RopeScaling::dynamic_ntk;
}

// Options that only one scaling uses.
void check_unused_options(const SchemeCheck& check, const RopeSettings& rope) {
  if (rope.scaling == RopeScaling::none && rope.factor != 1) {
    check.problem({check.option("factor"), check.option("scaling")},
                  fmt::format("got {}, but no scaling is set that uses it", rope.factor),
                  "choose " + check.option("scaling"));
  }
  if (rope.scaling != RopeScaling::p_rope && rope.proportion != 1) {
    check.problem({check.option("proportion"), check.option("scaling")},
                  fmt::format("got {}, but only the scaling p_rope uses it", rope.proportion));
  }
}

void check_bands(const SchemeCheck& check, const RopeSettings& rope) {
  if (is_yarn(rope.scaling) && rope.beta_fast <= rope.beta_slow) {
    check.problem(
        {check.option("beta_fast"), check.option("beta_slow")},
        fmt::format("got {}, wanted more than beta_slow ({})", rope.beta_fast, rope.beta_slow));
  }
  if (rope.scaling == RopeScaling::llama3 &&
      rope.high_frequency_factor <= rope.low_frequency_factor) {
    check.problem({check.option("high_frequency_factor"), check.option("low_frequency_factor")},
                  fmt::format("got {}, wanted more than low_frequency_factor ({})",
                              rope.high_frequency_factor, rope.low_frequency_factor));
  }
}

// longrope needs one factor for each rotated pair; the other scalings take none.
void check_longrope_factors(const SchemeCheck& check, const RopeSettings& rope) {
  const bool used = rope.scaling == RopeScaling::longrope;
  const std::int64_t pairs = rotary_width(rope.fraction, check.head_width()) / 2;
  for (const auto& [option, list] :
       {std::pair("short_factor", &rope.short_factor), {"long_factor", &rope.long_factor}}) {
    const auto given = static_cast<std::int64_t>(list->size());
    if (used ? given == pairs : given == 0) continue;
    check.problem({check.option(option), check.option("scaling"), "model.width", "model.heads"},
                  used ? fmt::format("{} has {} numbers, wanted one for each of {} pairs", option,
                                     given, pairs)
                       : "is for the scaling longrope only");
  }
}

void check_longrope_with_linear_attention(const SchemeCheck& check, const RopeSettings& rope) {
  const AttentionSettings& attention = check.settings().attention;
  if (rope.scaling != RopeScaling::longrope || attention.kernel == AttentionKernel::softmax ||
      attention.linear_rotation != LinearRotation::numerator) {
    return;
  }
  const std::int64_t feature_width = linear_feature_count(attention, check.head_width());
  if (feature_width == check.head_width()) return;
  check.problem({check.option("scaling"), "attention.features", "attention.linear_rotation"},
                fmt::format("longrope has a factor for each pair of a head's {} features, but {} "
                            "are rotated",
                            check.head_width(), feature_width),
                fmt::format("attention.features: {}", check.head_width()));
}

void check_length_in_translation(const SchemeCheck& check, const RopeSettings& rope) {
  if (!depends_on_length(rope.scaling)) return;
  const Settings& settings = check.settings();
  if (settings.task == TaskKind::translation && settings.position.cross == "rope") {
    check.problem({check.option("scaling"), "position.cross"},
                  fmt::format("{} depends on the length of the text, and a source and its "
                              "translation have different lengths",
                              to_word(rope.scaling)),
                  "position.cross: none, or a scaling that is the same at all lengths");
  }
  if (task_facts(settings.task).has_decoder && uses_linear_attention(settings.attention)) {
    check.problem({check.option("scaling"), "attention.kernel"},
                  fmt::format("{} rotates the keys of a translation again as it grows, and linear "
                              "attention does not keep them",
                              to_word(rope.scaling)),
                  "attention.kernel: softmax, or a scaling that is the same at all lengths");
  }
}

void check_pairs_for_base(const SchemeCheck& check, const RopeSettings& rope) {
  if (!changes_base(rope.scaling) || rotary_width(rope.fraction, check.head_width()) > 2) return;
  check.problem(
      {check.option("scaling"), check.option("fraction"), "model.width", "model.heads"},
      fmt::format("{} needs at least two pairs of rotated features", to_word(rope.scaling)));
}

void check_scaling(const SchemeCheck& check) {
  const auto& rope = check.options<RopeSettings>();
  check_unused_options(check, rope);
  check_bands(check, rope);
  check_longrope_factors(check, rope);
  check_longrope_with_linear_attention(check, rope);
  check_length_in_translation(check, rope);
  check_pairs_for_base(check, rope);
}

void check_rope(const SchemeCheck& check) {
  check_rotated_features(check);
  if (check.linear() && check.options<RopeSettings>().value) {
    check.problem({check.option("value"), "attention.kernel", check.choice()},
                  fmt::format("linear attention ({}) sums the values before any query meets them "
                              "and does not rotate them",
                              to_word(check.settings().attention.kernel)),
                  check.option("value") + ": false");
  }
  check_scaling(check);
}

void keep_rope_length(PositionSettings& position, std::int64_t length) {
  RopeSettings& rope = position.of<RopeSettings>();
  if (rope.scaling != RopeScaling::none && rope.original_length == 0) rope.original_length = length;
}

// The angles of dynamic NTK and LongRoPE also depend on the length.
std::string rope_remark(const PositionSettings& position, std::int64_t) {
  const auto& rope = position.of<RopeSettings>();
  switch (rope.scaling) {
    case RopeScaling::linear:
    case RopeScaling::ntk:
    case RopeScaling::ntk_mixed:
    case RopeScaling::yarn:
    case RopeScaling::yarn_paper:
    case RopeScaling::llama3:
      break;
    default:
      return "";
  }
  if (rope.factor != 1) return "";
  return fmt::format("position.rope.scaling {} stretches nothing: position.rope.factor is 1",
                     to_word(rope.scaling));
}

}  // namespace

std::int64_t rotary_share(double fraction, std::int64_t features) {
  return std::llround(fraction * static_cast<double>(features));
}

std::int64_t rotary_width(double fraction, std::int64_t features) {
  return rotary_share(fraction, features) / 2 * 2;
}

SchemeDefinition define_rope() {
  return {
      .facts = {.name = "rope",
                .family = "rotary",
                .linear_attention = true,
                .rotary = true,
                .cross_attention = true,
                .also_called = "rotary roformer su rotary_embedding rotary_embeddings rope_rotary",
                .formula = "S_ij = (R_i q_i).(R_j k_j) / sqrt(D), R_i rotates pairs by i theta_t",
                .cost = "6 operations a pair of q and k",
                .longer = "degrades; see position.rope.scaling",
                .paper = "Su 2021 (RoFormer), eq. 16",
                .held_against = "RoFormer, Llama"},
      .options = rope_options,
      .check = check_rope,
      .remark = rope_remark,
      .keep_training_length = keep_rope_length};
}

}  // namespace roformer
