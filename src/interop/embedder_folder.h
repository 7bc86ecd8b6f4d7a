// The files that sentence-transformers puts beside a Hugging Face folder to make it an embedder:
// modules.json lists the steps from a text to its vector, 1_Pooling/config.json the pooling,
// sentence_bert_config.json the longest text.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/settings.h"

namespace roformer {

// True for a folder with modules.json.
bool is_embedder_folder(const std::filesystem::path& folder);

// Sets embedding.pooling, embedding.normalize and, if the folder limits texts, data.length. Appends
// to `notes` what differs here. Throws Error (failure) for a step that this program does not have
// (another layer after the pooling, a pooling besides the mean and the first token).
void read_embedder_modules(const std::filesystem::path& folder, Settings& settings,
                           std::vector<std::string>& notes);

// Writes these files for settings.embedding, data.length and model.width.
void write_embedder_modules(const Settings& settings, const std::filesystem::path& folder);

}  // namespace roformer
