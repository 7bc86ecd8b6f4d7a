// Writes a translator as a folder that Hugging Face's transformers loads as MarianMTModel with its
// MarianTokenizer. CTranslate2's converter takes the last row of a Marian folder for padding and
// begins with zeros, which is neither so here: scripts/peers/ctranslate2_translate.py has a loader
// that converts one.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/settings.h"
#include "text/tokenizer.h"

namespace roformer {

struct ExportedTranslator {
  const Settings& settings;                          // of the run
  const std::map<std::string, at::Tensor>& tensors;  // by the names of this program's parameters
  const Tokenizer& source;
  const Tokenizer& target;          // the same object for a joint tokenizer
  std::vector<std::int64_t> never;  // ids of the target that no translation contains
  std::int64_t begin = 0, end = 0;  // ids around a target
};

// The folder must not exist or be empty. Returns notes, one sentence each. Throws Error: usage for
// a translator that MarianMTModel cannot express, in words, and for a folder with something in it.
std::vector<std::string> write_marian_folder(const ExportedTranslator& translator,
                                             const std::filesystem::path& folder);

}  // namespace roformer
