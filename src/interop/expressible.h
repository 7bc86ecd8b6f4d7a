// Tells which family of transformers can hold a model with given settings. A training asks this
// before it begins, and every export asks it.
#pragma once

#include <string>

#include "config/settings.h"
#include "interop/family.h"

namespace roformer {

// Throws Error (usage) that lists in words everything that the nearest family cannot express.
const Family& exported_family(const Settings& settings);
// The class that loads the export, such as "BertForMaskedLM". Throws as exported_family does.
std::string exported_architecture(const Settings& settings);

// Expects softmax attention that is the same in all layers and has no window, unless `window`.
void expect_plain_attention(const Settings& settings, Wishes& wishes, bool window = false);
// Expects an embedding of tokens alone, as wide as the layers.
void expect_plain_embedding(const ModelSettings& model, Wishes& wishes);
void expect_plain_heads(const ModelSettings& model, Wishes& wishes);
// Expects the blocks of 2017 to 2020 (BERT, RoFormer, Marian).
void expect_older_blocks(const ModelSettings& model, Wishes& wishes);

}  // namespace roformer
