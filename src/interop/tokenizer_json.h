// Hugging Face's tokenizer.json in a model's folder: beside another file of the same tokenizer, and
// written from a tokenizer of this program.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "text/hugging_face_json.h"
#include "text/tokenizer.h"

namespace roformer {

// Opens the model's own file (tokenizer.model, spiece.model), which comes before tokenizer.json
// (`whole`; empty: there is none that is read here): an export has the same tokenizer in both, and
// the own file is exact. A tokenizer.json with more tokens, which were added to the model, is taken
// in its place, with a note.
std::unique_ptr<Tokenizer> open_model_file(const std::filesystem::path& model,
                                           const std::filesystem::path& whole,
                                           std::vector<std::string>& notes);

// Writes tokenizer.json into the folder, with notes on what differs there. False, without a file,
// for a tokenizer that the format cannot express.
bool write_tokenizer_json(const Tokenizer& tokenizer, const TextFrame& frame,
                          const std::filesystem::path& folder, std::vector<std::string>& notes);

}  // namespace roformer
