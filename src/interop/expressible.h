// What transformers' BERT and RoFormer can be made to compute, and what only this program can.
#pragma once

#include "config/settings.h"
#include "interop/hugging_face_config.h"

namespace roformer {

// The family that can hold a model of these settings. Throws Error (usage) that says in words
// everything that neither transformers' BERT nor its RoFormer can express.
HuggingFaceFamily family_of(const Settings& settings);

}  // namespace roformer
