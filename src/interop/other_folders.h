// Folders that look like a model of Hugging Face's and hold none: what is missing in them, and how
// it is got.
#pragma once

#include <filesystem>

namespace roformer {

// Throws Error (failure) for a folder with an adapter of PEFT's (LoRA, say) and no model.
void refuse_adapter_folder(const std::filesystem::path& folder);

// Throws Error (failure) where Git LFS has left a pointer in the place of a vocabulary.
void refuse_vocabulary_pointers(const std::filesystem::path& folder);

}  // namespace roformer
