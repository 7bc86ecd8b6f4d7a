// A folder of Hugging Face's where a tokenizer is asked for: what to name in its place.
#pragma once

#include <filesystem>

namespace roformer {

// Throws Error (usage) for a folder with a config.json or a tokenizer_config.json, which no folder
// of `tokenizer train` and no checkpoint holds.
void refuse_model_folder(const std::filesystem::path& folder);

}  // namespace roformer
