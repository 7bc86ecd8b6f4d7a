// Compares the weights of a checkpoint with its configuration. Every command that opens a trained
// model does so before it builds or writes anything. A configuration may claim any size, but only
// weights that the file really holds may cost memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>

#include "config/settings.h"
#include "tasks/task_model.h"
#include "tensor/safetensors.h"

namespace roformer {

// The vocabularies of the tokenizers in the checkpoint. A model of one text uses only `source`.
TranslationVocabularies stored_vocabularies(const Settings& settings,
                                            const std::filesystem::path& checkpoint);

// Throws Error (failure) unless the file holds exactly the parameters of the model that the
// settings describe, by name and shape. Reads only the file's list of tensors.
void require_parameters(const Settings& settings, const TranslationVocabularies& vocabularies,
                        const Safetensors& weights);

// Throws Error (failure) for a weight that is NaN or infinite: every answer would be NaN.
void require_finite(const std::filesystem::path& file, const std::string& name,
                    const at::Tensor& value, const std::string& hint);

}  // namespace roformer
