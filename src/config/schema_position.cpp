// Keys of the positional schemes, a section each, in the order of the registry.
#include "config/position_facts.h"
#include "config/schema_row.h"

namespace roformer {
namespace {

constexpr double kLongest = 1 << 20;  // tokens in a table

const char* const kBaseHelp = "wavelengths grow from 2 pi to 2 pi times this (Vaswani 2017: 10000)";
const char* const kBucketsHelp = "distances share so many values (Raffel 2020: 32)";
const char* const kMaxDistanceHelp = "from here on all distances share the last bucket (128)";

RowText base() {
  return {.range = above(1), .help = kBaseHelp};
}

RowText table_length() {
  return {.unit = "tokens",
          .range = between(1, kLongest),
          .help = "rows of the table; longer sequences are refused"};
}

RowText buckets() {
  return {.unit = "buckets", .range = between(2, kLongest), .help = kBucketsHelp};
}

RowText max_distance() {
  return {.unit = "tokens", .range = between(2, kLongest), .help = kMaxDistanceHelp};
}

RowText rotary_layout(const char* default_of) {
  return {.help = std::string("pairs of neighbours (interleaved: RoFormer, GPT-J, Llama's own "
                              "code) or of halves (half: GPT-NeoX, Hugging Face's Llama); ") +
                  default_of};
}

void append(std::vector<Key>& keys, std::vector<Key> more) {
  keys.insert(keys.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

std::vector<Key> absolute_keys() {
  return {
      ROFORMER_KEY(position.sinusoidal.layout,
                   {.help = "sines and cosines in turn (interleaved: Vaswani 2017), one after the "
                            "other (concat), or tensor2tensor's, whose last wavelength differs"}),
      ROFORMER_KEY(position.sinusoidal.base, base()),
      ROFORMER_KEY(position.sinusoidal.scale,
                   {.range = above(0),
                    .help = "factor of the table where it is added to the "
                            "embedding (1 in the paper)"}),
      ROFORMER_KEY(position.learned.length, table_length()),
      ROFORMER_KEY(position.learned.initialization,
                   {.unit = "standard deviation",
                    .range = above(0),
                    .help = "of the table's first values, normal cut at two standard deviations "
                            "(BERT: 0.02); with scaled embeddings, of their size"}),
      ROFORMER_KEY(position.learned.hierarchical,
                   {.help = "a table of N rows serves N*N positions (bert4keras, "
                            "kexue.fm/archives/7947)"}),
      ROFORMER_KEY(position.learned.hierarchical_alpha,
                   {.range = {.low = 0, .high = 1, .low_open = true, .high_open = true},
                    .help = "weight of the coarse position (bert4keras: 0.4)"}),
  };
}

std::vector<Key> relative_keys() {
  const auto clip = [](const char* side) {
    return RowText{.unit = "tokens",
                   .range = between(0, kLongest),
                   .help = std::string("larger distances to the ") + side +
                           " share one vector (Shaw 2018: k)"};
  };
  return {
      ROFORMER_KEY(position.shaw.left, clip("left")),
      ROFORMER_KEY(position.shaw.right, clip("right")),
      ROFORMER_KEY(position.shaw.values, {.help = "a table for the values too (Shaw 2018 eq. 3)"}),
      ROFORMER_KEY(position.music_transformer.length, table_length()),
      ROFORMER_KEY(position.nezha.clip,
                   {.unit = "tokens",
                    .range = between(1, kLongest),
                    .help = "larger distances share one vector (Wei 2019: 64)"}),
      ROFORMER_KEY(position.nezha.base, base()),
      ROFORMER_KEY(position.transformer_xl.base, base()),
      ROFORMER_KEY(
          position.transformer_xl.clamp,
          {.unit = "tokens",
           .range = between(0, kLongest),
           .help = "larger distances count as this one (the authors' clamp_len); 0: none"}),
      ROFORMER_KEY(position.transformer_xl.untie,
                   {.help = "the biases u and w belong to each layer (the authors' untie_r) "
                            "instead of all together"}),
  };
}

std::vector<Key> bucket_keys() {
  return {
      ROFORMER_KEY(position.t5.buckets, buckets()),
      ROFORMER_KEY(position.t5.max_distance, max_distance()),
      ROFORMER_KEY(position.t5.scale,
                   {.help = "none: scores are not divided by the root of the head's width, T5's "
                            "own form; sqrt_d: as all other schemes here"}),
      ROFORMER_KEY(position.tupe.length, table_length()),
      ROFORMER_KEY(position.tupe.relative,
                   {.help = "with T5's bias (TUPE-R) or without (TUPE-A; Ke 2021)"}),
      ROFORMER_KEY(position.tupe.untie_cls,
                   {.help = "[CLS], the first token, has no position (Ke 2021, 3.2)"}),
      ROFORMER_KEY(position.tupe.norm, {.help = "LayerNorm of the table, as the authors' code"}),
      ROFORMER_KEY(position.tupe.norm_epsilon,
                   {.range = above(0), .help = "added to the variance in that LayerNorm (1e-5)"}),
      ROFORMER_KEY(position.tupe.buckets, buckets()),
      ROFORMER_KEY(position.tupe.max_distance, max_distance()),
  };
}

std::vector<Key> deberta_keys() {
  return {
      ROFORMER_KEY(position.deberta.span,
                   {.unit = "tokens",
                    .range = between(1, kLongest),
                    .help = "larger distances share one vector (He 2021: k = 512)"}),
      ROFORMER_KEY(position.deberta.content_to_position, {.help = "the term of query content"}),
      ROFORMER_KEY(position.deberta.position_to_content, {.help = "the term of key content"}),
      ROFORMER_KEY(position.deberta.index,
                   {.help = "distance of the second term: as in the paper (eq. 4) or as in the "
                            "released code, which has the other sign"}),
      ROFORMER_KEY(position.deberta.share_projections,
                   {.help = "positions use the layer's own query and key projections "
                            "(share_att_key of version 2)"}),
      ROFORMER_KEY(position.deberta.buckets,
                   {.unit = "buckets",
                    .range = between(0, kLongest),
                    .help = "logarithmic buckets of versions 2 and 3 (256); 0: none"}),
      ROFORMER_KEY(position.deberta.max_position,
                   {.unit = "tokens",
                    .range = between(2, kLongest),
                    .help = "distance at which the logarithmic buckets end (512)"}),
      ROFORMER_KEY(position.deberta.norm, {.help = "LayerNorm of the table (version 3)"}),
      ROFORMER_KEY(position.deberta.norm_epsilon,
                   {.range = above(0),
                    .help = "added to the variance in that LayerNorm (the released code: 1e-7)"}),
  };
}

std::vector<Key> bias_keys() {
  return {
      ROFORMER_KEY(position.alibi.variant,
                   {.help = "causal (Press 2022); encoders: the same slopes on both sides "
                            "(symmetric) or own slopes left and right (asymmetric)"}),
      ROFORMER_KEY(position.alibi.trained, {.help = "slopes of asymmetric are trained"}),
      ROFORMER_KEY(position.kerple.variant, {.help = "-r1 ln(1 + r2 d) or -r1 d^r2 (Chi 2022)"}),
      ROFORMER_KEY(position.fire.hidden, {.unit = "features",
                                          .range = between(1, 65536),
                                          .help = "width of the function's network (Li 2024: 32)"}),
      ROFORMER_KEY(position.fire.hidden_layers,
                   {.unit = "layers",
                    .range = between(1, 16),
                    .help = "1 in the paper's listing, 2 in its text"}),
      ROFORMER_KEY(position.fire.initial_length,
                   {.unit = "tokens",
                    .range = above(0),
                    .help = "starting threshold of the normaliser (L0 = 512)"}),
      ROFORMER_KEY(position.fire.epsilon, {.range = above(0), .help = "guard of the division"}),
      ROFORMER_KEY(position.sandwich.base, base()),
      ROFORMER_KEY(position.sandwich.width,
                   {.unit = "features",
                    .range = between(2, 65536),
                    .help = "width of the sinusoids that are multiplied (Chi 2023: 128)"}),
      ROFORMER_KEY(position.cope.positions,
                   {.unit = "positions",
                    .range = between(2, kLongest),
                    .help = "largest contextual position (Golovneva 2024: 64)"}),
      ROFORMER_KEY(position.cope.scaled,
                   {.help = "divide the position's term by the root of the head's width, as the "
                            "released code does and the paper's listing does not"}),
  };
}

std::vector<Key> rope_keys() {
  return {
      ROFORMER_KEY(position.rope.layout, rotary_layout("the paper has interleaved")),
      ROFORMER_KEY(position.rope.base,
                   {.range = above(1),
                    .help = "wavelengths grow from 2 pi to 2 pi times this (Su 2021: 10000; "
                            "Llama 3: 500000)"}),
      ROFORMER_KEY(position.rope.fraction, {.unit = "share of a head",
                                            .range = {.low = 0, .high = 1, .low_open = true},
                                            .help = "features that are rotated (GPT-NeoX: 0.25)"}),
      ROFORMER_KEY(position.rope.value,
                   {.help = "rotate the values too (rotary_value of Hugging Face's RoFormer)"}),
      ROFORMER_KEY(
          position.rope.offset,
          {.unit = "tokens", .range = between(0, 1e9), .help = "position of the first token"}),
      ROFORMER_KEY(position.rope.scaling,
                   {.help = "frequencies for longer texts: linear (Chen 2023), ntk and dynamic_ntk "
                            "(bloc97), yarn (Peng 2023, ramp of the released code) or yarn_paper, "
                            "llama3 (Llama 3.1), ntk_mixed (Su)"}),
      ROFORMER_KEY(position.rope.factor,
                   {.range = at_least(1),
                    .help = "of the scaling: how many times longer the text may become"}),
      ROFORMER_KEY(position.rope.original_length,
                   {.unit = "tokens",
                    .range = between(0, kLongest),
                    .help = "length before scaling; 0: data.length"}),
      ROFORMER_KEY(position.rope.beta_fast,
                   {.unit = "turns",
                    .range = above(0),
                    .help = "yarn: pairs that turn more often keep their frequency (32)"}),
      ROFORMER_KEY(position.rope.beta_slow,
                   {.unit = "turns",
                    .range = above(0),
                    .help = "yarn: pairs that turn less often are stretched by the factor (1)"}),
      ROFORMER_KEY(
          position.rope.attention_factor,
          {.range = at_least(0), .help = "factor of q and k; 0: yarn's own, 0.1 ln s + 1"}),
      ROFORMER_KEY(position.rope.low_frequency_factor,
                   {.range = above(0), .help = "llama3: lower edge of its middle band (1)"}),
      ROFORMER_KEY(position.rope.high_frequency_factor,
                   {.range = above(0), .help = "llama3: upper edge of its middle band (4)"}),
      ROFORMER_KEY(position.rope.mixed_exponent,
                   {.range = above(0), .help = "ntk_mixed: exponent b (0.75)"}),
  };
}

std::vector<Key> rotary_relative_keys() {
  return {
      ROFORMER_KEY(position.xpos.base, base()),
      ROFORMER_KEY(position.xpos.gamma, {.range = above(0), .help = "decay (Sun 2022: 0.4)"}),
      ROFORMER_KEY(position.xpos.scale_base,
                   {.unit = "tokens",
                    .range = above(0),
                    .help = "distance over which the decay acts once (torchscale: 512; paper: 1)"}),
      ROFORMER_KEY(position.xpos.centered,
                   {.help = "count from the middle of the sequence, which halves the range of "
                            "the exponents (torchscale); results are the same"}),
      ROFORMER_KEY(position.xpos.block_causal,
                   {.help = "beyond the training length each block sees itself and the one before "
                            "(Sun 2022, 3.3)"}),
      ROFORMER_KEY(position.xpos.original_length,
                   {.unit = "tokens",
                    .range = between(0, kLongest),
                    .help = "training length, two blocks; 0: data.length"}),
      ROFORMER_KEY(position.rerope.layout, rotary_layout("the released code has half")),
      ROFORMER_KEY(position.rerope.base, base()),
      ROFORMER_KEY(position.rerope.window, {.unit = "tokens",
                                            .range = between(1, kLongest),
                                            .help = "distances from here on count as this one (Su, "
                                                    "kexue.fm/archives/9708: 512)"}),
      ROFORMER_KEY(position.rerope.leak,
                   {.range = at_least(0),
                    .help = "leaky form: distances grow at 1/k beyond the window (16); 0: none"}),
  };
}

}  // namespace

std::vector<Key> position_keys() {
  std::vector<Key> keys{
      ROFORMER_KEY(position.scheme, {.help = "how the model knows the order of the tokens; "
                                             "`roformer positions list` explains each",
                                     .words = position_names()}),
  };
  append(keys, absolute_keys());
  append(keys, relative_keys());
  append(keys, bucket_keys());
  append(keys, deberta_keys());
  append(keys, bias_keys());
  append(keys, rope_keys());
  append(keys, rotary_relative_keys());
  return keys;
}

}  // namespace roformer
