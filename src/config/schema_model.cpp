// Keys of the encoder and its attention.
#include "config/schema_row.h"
#include "config/words.h"

namespace roformer {
namespace {

// All tasks except translation, whose models have two stacks.
std::vector<TaskKind> tasks_of_one_stack() {
  return {TaskKind::mlm,         TaskKind::causal_lm, TaskKind::glue,     TaskKind::classification,
          TaskKind::tagging,     TaskKind::embedding, TaskKind::matching, TaskKind::probe,
          TaskKind::masked_probe};
}

}  // namespace

std::vector<Key> model_keys() {
  return {
      ROFORMER_KEY(model.layers, {.unit = "layers",
                                  .range = between(1, 1000),
                                  .help = "Transformer blocks (BERT base: 12)"}),
      ROFORMER_KEY(model.width, {.unit = "features",
                                 .range = between(1, 65536),
                                 .help = "features of a token (BERT base: 768)"}),
      ROFORMER_KEY(model.heads, {.unit = "heads",
                                 .range = between(1, 1024),
                                 .help = "attention heads; the width is divided among them"}),
      ROFORMER_KEY(model.head_width,
                   {.unit = "features",
                    .range = between(0, 65536),
                    .help = "features of a head, where all heads together are not the width (Qwen "
                            "3: 128); 0: the width divided by the heads"}),
      ROFORMER_KEY(
          model.key_value_heads,
          {.unit = "heads",
           .range = between(0, 1024),
           .help = "heads of keys and values, each shared by the same number of query heads "
                   "(grouped-query attention, Ainslie 2023; Llama 3: 8 for 32); 0: model.heads",
           .tasks = tasks_of_one_stack()}),
      ROFORMER_KEY(model.feed_forward, {.unit = "features",
                                        .range = between(1, 1 << 20),
                                        .help = "inner width of the feed-forward part, usually 4 "
                                                "times the width (with a gate: 8/3)"}),
      ROFORMER_KEY(model.embedding_width,
                   {.unit = "features",
                    .range = between(0, 65536),
                    .help = "width of the embedding, then projected to model.width (RoFormer's "
                            "embedding_size); 0: the width, no projection"}),
      ROFORMER_KEY(model.vocabulary,
                   {.unit = "tokens", .range = between(0, 1 << 24), .help = "0: the tokenizer's"}),
      ROFORMER_KEY(model.token_types, {.unit = "types",
                                       .range = between(0, 64),
                                       .help = "segment embeddings (BERT: 2); 0: none"}),
      ROFORMER_KEY(model.norm, {.help = "LayerNorm after each residual sum (post, BERT) or before "
                                        "each sublayer (pre, Xiong 2020; trains without warm-up)"}),
      ROFORMER_KEY(model.norm_kind,
                   {.help = "layer_norm; rms_norm: divided by the root mean square, without mean "
                            "and bias (Zhang 2019; Llama)"}),
      ROFORMER_KEY(model.embedding_norm,
                   {.help = "with model.norm pre: the embedding has a norm, too (ModernBERT); with "
                            "post it always has",
                    .tasks = tasks_of_one_stack()}),
      ROFORMER_KEY(model.first_norm,
                   {.help = "false, with model.norm pre: the first layer's attention reads the "
                            "embedding without a norm before it (ModernBERT)",
                    .tasks = tasks_of_one_stack()}),
      ROFORMER_KEY(model.query_key_norm,
                   {.help = "RMSNorm of each head's queries and keys, before any rotation (Qwen "
                            "3)",
                    .tasks = tasks_of_one_stack()}),
      ROFORMER_KEY(model.parallel_residual,
                   {.help = "attention and feed-forward part of a layer read the same sum, each "
                            "after its own norm, and are added together (GPT-NeoX)",
                    .tasks = tasks_of_one_stack()}),
      ROFORMER_KEY(model.bias,
                   {.help = "linear layers and norms have biases; false: none (Llama)"}),
      ROFORMER_KEY(model.query_key_value_bias,
                   {.help = "with model.bias false: queries, keys and values have one (Qwen 2)",
                    .tasks = tasks_of_one_stack()}),
      ROFORMER_KEY(model.attention_output_bias,
                   {.help = "the attention's output has a bias even where model.bias is false "
                            "(attention_bias of Llama and Qwen 3)",
                    .tasks = tasks_of_one_stack()}),
      ROFORMER_KEY(model.feed_forward_bias,
                   {.help = "the feed-forward layers have biases even where model.bias is false "
                            "(mlp_bias of Llama)",
                    .tasks = tasks_of_one_stack()}),
      ROFORMER_KEY(
          model.activation,
          {.help = "gelu: by erf (BERT's definition); gelu_tanh: its approximation; swish: x "
                   "sigmoid(x), also called SiLU (Marian); swiglu, geglu, geglu_tanh: swish, gelu "
                   "or gelu_tanh of one half times the other, from two inner layers (Shazeer "
                   "2020)"}),
      ROFORMER_KEY(model.norm_epsilon,
                   {.range = above(0),
                    .help = "added to the variance or mean square in norms (BERT: 1e-12; Llama: "
                            "1e-5)"}),
      ROFORMER_KEY(model.dropout,
                   {.unit = "probability",
                    .range = below_one(),
                    .help = "dropout after the embedding and each sublayer (BERT: 0.1)"}),
      ROFORMER_KEY(model.embedding_scale,
                   {.help = "sqrt_width: the token embedding times the square root of the width "
                            "before a position is added (Vaswani 2017, 3.4)"}),
      ROFORMER_KEY(model.head,
                   {.help = "language head: bert, a dense layer, activation and norm before the "
                            "projection to the vocabulary, which has a bias; linear, that "
                            "projection alone, without one (Llama)",
                    .tasks = tasks_of_one_stack()}),
      ROFORMER_KEY(model.tie_output,
                   {.help = "the language head's projection is the token table (Press 2017)",
                    .tasks = tasks_of_one_stack()}),
      ROFORMER_KEY(
          model.initialization,
          {.unit = "standard deviation",
           .range = above(0),
           .help = "initial weights: normal, truncated at two standard deviations (BERT: 0.02)"}),
      ROFORMER_KEY(model.family,
                   {.help = "family of Hugging Face models (model_type of config.json) that an "
                            "export takes if it can express the model, as distilbert; empty: the "
                            "first that can. An imported model's is its folder's",
                    .decides = Decides::nothing}),
      ROFORMER_KEY(model.from,
                   {.help = "start from the weights of a run, a checkpoint or a Hugging Face "
                            "folder; shape, scheme and tokenizer are taken from it unless given"}),
      ROFORMER_KEY(model.from_weights,
                   {.help = "false: take only the shape, scheme and tokenizer of model.from and "
                            "start with new weights, as the baseline of a comparison"}),
      ROFORMER_KEY(model.freeze_embeddings,
                   {.help = "do not train the embeddings and what all layers share: tables and "
                            "biases of positions"}),
      ROFORMER_KEY(model.freeze_layers, {.unit = "layers",
                                         .range = between(0, 1000),
                                         .help = "do not train the lowest N layers"}),

      ROFORMER_KEY(attention.kernel,
                   {.help = "softmax; linear attention with elu+1 features (Katharopoulos 2020) or "
                            "favor, the random features of Performer (Choromanski 2021)"}),
      ROFORMER_KEY(attention.dropout,
                   {.unit = "probability",
                    .range = below_one(),
                    .help = "dropout of the attention probabilities (BERT: 0.1). The CPU's tiled "
                            "kernel needs 0; any other value takes the slower one"}),
      ROFORMER_KEY(attention.window,
                   {.unit = "tokens",
                    .range = between(0, 1 << 20),
                    .help = "tokens that each token sees, for lengths beyond the training length "
                            "(Su, kexue.fm/archives/9431); 0: all"}),
      ROFORMER_KEY(attention.log_n,
                   {.help = "scores grow with the logarithm of the length (Su): query: max(1, "
                            "ln(i+1)/ln N) per query (causal), query_unclipped: without the max; "
                            "encoder: ln n/ln N (kexue.fm/archives/8823)"}),
      ROFORMER_KEY(attention.log_n_length, {.unit = "tokens",
                                            .range = between(2, 1 << 20),
                                            .help = "N of log_n: the training length"}),
      ROFORMER_KEY(
          attention.features,
          {.unit = "features",
           .range = between(0, 65536),
           .help = "random features of favor; 0: D ln D rounded to even, D the width of a head"}),
      ROFORMER_KEY(attention.redraw,
                   {.unit = "steps",
                    .range = at_least(0),
                    .help = "favor draws a new random matrix every so many steps (0: never)"}),
      ROFORMER_KEY(attention.favor_stabilize,
                   {.help = "favor subtracts the maximum before the exponential"}),
      ROFORMER_KEY(attention.favor_epsilon, {.range = at_least(0),
                                             .help = "favor adds it to each feature "
                                                     "(google-research: 1e-4)"}),
      ROFORMER_KEY(
          attention.linear_rotation,
          {.help = "rope in linear attention: numerator rotates the features and leaves the "
                   "denominator (RoFormer eq. 19); before rotates q and k before the "
                   "feature map (performer-pytorch)"}),
      ROFORMER_KEY(attention.layers,
                   {.help = "what some layers (from 0) have otherwise: {0-1: {window: 128}, "
                            "3-last/4: {window: 0}}; of kernel, window, log_n, log_n_length, "
                            "features, linear_rotation and dropout"}),
  };
}

}  // namespace roformer
