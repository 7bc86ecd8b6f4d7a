// The texts of the enumerations of settings.h, in the order of their enumerators. A file, a flag, a
// dump and a table all spell a choice through these lists.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "config/settings.h"

namespace roformer {

template <class Enumeration>
struct Words;

#define ROFORMER_WORDS(type, count, ...)                                     \
  template <>                                                                \
  struct Words<type> {                                                       \
    static constexpr std::array<std::string_view, count> texts{__VA_ARGS__}; \
  }

ROFORMER_WORDS(TaskKind, 3, "mlm", "causal_lm", "glue");
ROFORMER_WORDS(DeviceKind, 3, "auto", "cpu", "cuda");
ROFORMER_WORDS(Precision, 3, "auto", "fp32", "bf16");
ROFORMER_WORDS(TokenizerKind, 6, "auto", "sentencepiece", "wordpiece", "characters", "bytes",
               "subwords");
ROFORMER_WORDS(GlueTask, 9, "cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte", "wnli");
ROFORMER_WORDS(ClassifierHead, 2, "bert", "roformer");
ROFORMER_WORDS(NormPlacement, 2, "post", "pre");
ROFORMER_WORDS(EmbeddingScale, 2, "none", "sqrt_width");
ROFORMER_WORDS(ActivationKind, 3, "gelu", "gelu_tanh", "relu");
ROFORMER_WORDS(AttentionKernel, 3, "softmax", "elu", "favor");
ROFORMER_WORDS(LogNScaling, 4, "none", "query", "query_unclipped", "encoder");
ROFORMER_WORDS(LinearRotation, 2, "numerator", "before");
ROFORMER_WORDS(SinusoidalLayout, 3, "interleaved", "concat", "tensor2tensor");
ROFORMER_WORDS(RotaryLayout, 2, "interleaved", "half");
ROFORMER_WORDS(RopeScaling, 8, "none", "linear", "ntk", "dynamic_ntk", "yarn", "yarn_paper",
               "llama3", "ntk_mixed");
ROFORMER_WORDS(DebertaIndex, 2, "paper", "code");
ROFORMER_WORDS(AlibiVariant, 3, "causal", "symmetric", "asymmetric");
ROFORMER_WORDS(KerpleVariant, 2, "log", "power");
ROFORMER_WORDS(ScoreScale, 2, "none", "sqrt_d");
ROFORMER_WORDS(ScheduleKind, 4, "constant", "linear", "cosine", "inverse_square_root");

#undef ROFORMER_WORDS

// The word that a file writes for the value, for instance "sqrt_width".
template <class Enumeration>
std::string to_word(Enumeration value) {
  return std::string(Words<Enumeration>::texts.at(static_cast<std::size_t>(value)));
}

}  // namespace roformer
