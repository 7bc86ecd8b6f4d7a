// The families. Each has one file.
#pragma once

#include "interop/family.h"

namespace roformer {

Family bert_family();
Family roformer_family();
Family modernbert_family();
Family nezha_family();
Family deberta_family();
Family roberta_family();
Family xlm_roberta_family();
Family camembert_family();
Family distilbert_family();
Family electra_family();
Family marian_family();
Family t5_encoder_family();
Family t5_family();
Family llama_family();
Family qwen2_family();
Family qwen3_family();
Family gpt_neox_family();
Family mistral_family();
Family gpt2_family();
Family bloom_family();
Family mpt_family();

}  // namespace roformer
