// Which family of transformers can hold a model of some settings. Asked before a training, and by
// every export.
#pragma once

#include <string>

#include "config/settings.h"
#include "interop/family.h"

namespace roformer {

// Throws Error (usage) that says in words everything that the nearest family cannot express.
const Family& exported_family(const Settings& settings);
// "BertForMaskedLM": the class that an export is loaded as. Throws as exported_family does.
std::string exported_architecture(const Settings& settings);

// What several families expect of a model. Attention: softmax, the same in all layers, no window.
void expect_plain_attention(const Settings& settings, Wishes& wishes);
// Embedding: of tokens alone, as wide as the layers.
void expect_plain_embedding(const ModelSettings& model, Wishes& wishes);
void expect_plain_heads(const ModelSettings& model, Wishes& wishes);
// The blocks of 2017 to 2020 (BERT, RoFormer, Marian).
void expect_older_blocks(const ModelSettings& model, Wishes& wishes);

}  // namespace roformer
