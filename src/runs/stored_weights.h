// The weights of a checkpoint, held against its configuration. Every command that opens a trained
// model asks this before it builds or writes anything: a configuration may claim any size, and only
// what the file of weights holds may cost memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>

#include "config/settings.h"
#include "tasks/task_model.h"
#include "tensor/safetensors.h"

namespace roformer {

// The vocabularies of the tokenizers in the checkpoint; a model of one text has `source` alone.
TranslationVocabularies stored_vocabularies(const Settings& settings,
                                            const std::filesystem::path& checkpoint);

// Throws Error (failure) unless the file holds the parameters of the model that the settings
// describe, by name and shape, no more and no fewer. Reads the file's list of tensors only.
void require_parameters(const Settings& settings, const TranslationVocabularies& vocabularies,
                        const Safetensors& weights);

// Throws Error (failure) for a weight that is NaN or infinite: every answer would be "not a
// number".
void require_finite(const std::filesystem::path& file, const std::string& name,
                    const at::Tensor& value, const std::string& hint);

}  // namespace roformer
