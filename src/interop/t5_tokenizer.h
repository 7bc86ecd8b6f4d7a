// T5's tokenizer in a translator's folder: one SentencePiece model (spiece.model), whose pieces are
// followed by the names of gaps in a text, <extra_id_99> to <extra_id_0>, or tokenizer.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "interop/import.h"
#include "interop/translator.h"

namespace roformer {

// Sets both tokenizers of the model. Throws Error (failure) for a file that is missing or whose
// special tokens have other ids than config.json says.
void read_t5_tokenizer(const std::filesystem::path& folder, const FolderConfig& config,
                       PretrainedModel& model);
void write_t5_tokenizer(const TranslatorTokenizers& tokenizers, std::int64_t longest,
                        const std::filesystem::path& folder, std::vector<std::string>& notes);

}  // namespace roformer
