// What transformers' models can be made to compute, and what only this program can.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"
#include "interop/causal_config.h"
#include "interop/hugging_face_config.h"

namespace roformer {

// The family that can hold a model of these settings: ModernBERT where a pre-norm model has a norm
// behind its embedding. Throws Error (usage) that says in words everything that neither
// transformers' BERT nor its RoFormer, or that its ModernBERT, cannot express.
HuggingFaceFamily family_of(const Settings& settings);
// "BertForMaskedLM", or "BertForSequenceClassification" for a classifier.
std::string encoder_architecture(HuggingFaceFamily family, bool classifies);

// The family that can hold a causal model; throws Error (usage) in the same way.
CausalFamily causal_family_of(const Settings& settings);
// Throws Error (usage) for a translator that MarianMTModel cannot express.
void require_marian(const Settings& settings);

// What a model has that the layers of 2017 to 2020 (BERT, RoFormer, Marian) do not, in words: each
// says what they have in its place, with the key.
std::vector<std::string> newer_blocks(const ModelSettings& model);

}  // namespace roformer
