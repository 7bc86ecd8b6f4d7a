// The families. Each has one file.
#pragma once

#include "interop/family.h"

namespace roformer {

Family bert_family();
Family roformer_family();
Family modernbert_family();
Family nezha_family();
Family roberta_family();
Family xlm_roberta_family();
Family camembert_family();
Family distilbert_family();
Family electra_family();
Family marian_family();
Family llama_family();
Family qwen2_family();
Family qwen3_family();
Family gpt_neox_family();

}  // namespace roformer
