// Reads and writes folders of Hugging Face's causal language models (LlamaForCausalLM,
// Qwen2ForCausalLM, Qwen3ForCausalLM, GPTNeoXForCausalLM): config.json, model.safetensors or shards
// with an index, and SentencePiece's tokenizer.model or a byte-level tokenizer.json. A folder with
// another tokenizer gives a model whose texts are ids.
#pragma once

#include <filesystem>
#include <string>

#include "interop/hugging_face.h"
#include "interop/hugging_face_export.h"

namespace roformer {

// True for a folder whose config.json has the model_type of one of them.
bool is_causal_folder(const std::filesystem::path& folder);

// As read_hugging_face_folder, with every parameter of task causal_lm.
PretrainedModel read_causal_folder(const std::filesystem::path& folder);
// Its settings alone. Throws the same errors where no weight must be read to find them.
Settings read_causal_settings(const std::filesystem::path& folder);
// "Qwen 2"
std::string causal_model_name(const std::filesystem::path& folder);

// As write_hugging_face_folder. A rotation of neighbouring features is written as one of halves,
// with the rows of queries and keys in its order. Throws Error (usage) that says in words what none
// of the families can express.
ExportSummary write_causal_folder(const ExportedModel& model, const std::filesystem::path& folder);

}  // namespace roformer
