// A Hugging Face folder as files: which files exist, which folders hold no model, and the tensors
// under their canonical names. It remembers which tensors were taken.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/safetensors.h"

namespace roformer {

inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kTokenizerFile = "tokenizer.json";
inline constexpr const char* kTokenizerConfigFile = "tokenizer_config.json";

// Returns an empty object if the file is missing. Throws Error (failure) if it holds no JSON
// object.
nlohmann::json read_object_if_there(const std::filesystem::path& file);
// The name of a token in tokenizer_config.json, where it is "<s>" or an object with that content.
std::string name_of_token(const nlohmann::json& config, const char* key,
                          const std::string& standard = "");
void write_json(const std::filesystem::path& file, const nlohmann::ordered_json& document);

// Throws Error (failure) for a folder with a PEFT adapter (LoRA, for instance) and no model.
void refuse_adapter_folder(const std::filesystem::path& folder);

class FolderWeights {
 public:
  // Removes `prefix` from the names. Throws Error (failure) if the folder has neither safetensors
  // files nor files of torch.save that can be read.
  FolderWeights(const std::filesystem::path& folder, std::string_view prefix);

  const std::string& location() const { return location_; }  // the file, for messages
  bool contains(const std::string& canonical) const { return names_.contains(canonical); }
  // The first size of a tensor, which must exist.
  std::int64_t rows(const std::string& canonical) const;
  // Returns [shape] float32; a size of -1 allows any. Throws Error (failure) for a tensor that is
  // missing, has another shape or no floating type, or is not finite.
  at::Tensor take(const std::string& canonical, const std::vector<std::int64_t>& shape);
  void ignore(const std::string& canonical) { used_.insert(canonical); }
  // Canonical names of the tensors that were neither taken nor ignored, sorted.
  std::vector<std::string> unused() const;

 private:
  Safetensors file_;
  std::string location_;
  std::map<std::string, std::string> names_;  // canonical name -> name in the file
  std::set<std::string> used_;
};

}  // namespace roformer
