// Words for the enumerations of settings.h. The header of a scheme has the words of its options.
#pragma once

#include "config/settings.h"
#include "config/word_list.h"

namespace roformer {

std::string to_word(TaskKind task);  // the name in the task's facts
ROFORMER_WORDS(DeviceKind, "auto", "cpu", "cuda");
ROFORMER_WORDS(Precision, "auto", "fp32", "bf16");
ROFORMER_WORDS(TokenizerKind, "auto", "sentencepiece", "wordpiece", "characters", "bytes",
               "subwords", "marian", "words", "ids", "byte_level");
ROFORMER_WORDS(GlueTask, "cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte", "wnli");
ROFORMER_WORDS(ClassifierHead, "bert", "roformer", "linear", "modernbert", "roberta", "distilbert",
               "auto");
ROFORMER_WORDS(TargetKind, "single", "multi", "regression");
ROFORMER_WORDS(ClassWeights, "none", "balanced");
ROFORMER_WORDS(ClassificationMetric, "auto", "accuracy", "macro_f1", "micro_f1", "matthews", "auc",
               "pearson", "spearman", "loss");
ROFORMER_WORDS(TagScheme, "auto", "bio", "bioes", "plain");
ROFORMER_WORDS(EmbeddingLoss, "in_batch", "cosine");
ROFORMER_WORDS(MatchingLoss, "pairs", "triplet");
ROFORMER_WORDS(TextPooling, "first", "mean");
ROFORMER_WORDS(TextTruncation, "head", "tail", "head_and_tail");
ROFORMER_WORDS(ProbeKind, "copy", "reverse", "passkey", "addition", "dyck", "recall");
ROFORMER_WORDS(NormPlacement, "post", "pre");
ROFORMER_WORDS(NormKind, "layer_norm", "rms_norm");
ROFORMER_WORDS(LanguageHeadKind, "bert", "linear");
ROFORMER_WORDS(EmbeddingScale, "none", "sqrt_width");
ROFORMER_WORDS(ActivationKind, "gelu", "gelu_tanh", "relu", "swish", "swiglu", "geglu",
               "geglu_tanh");
ROFORMER_WORDS(AttentionKernel, "softmax", "elu", "favor");
ROFORMER_WORDS(LogNScaling, "none", "query", "query_unclipped", "encoder");
ROFORMER_WORDS(LinearRotation, "numerator", "before");
ROFORMER_WORDS(Recomputation, "none", "layer", "attention");
ROFORMER_WORDS(GradientReduction, "fast", "deterministic");
ROFORMER_WORDS(AttentionGradient, "fast", "exact");
ROFORMER_WORDS(WeightsKind, "raw", "ema");
ROFORMER_WORDS(ScheduleKind, "constant", "linear", "cosine", "inverse_square_root", "wsd");
ROFORMER_WORDS(OptimizerKind, "adamw", "muon");
ROFORMER_WORDS(MuonScale, "original", "match_rms_adamw");

}  // namespace roformer
