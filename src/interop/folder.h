// A Hugging Face folder as files: what is there, which folders hold no model, and the tensors under
// their canonical names, with those that have been understood.
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

bool is_there(const std::filesystem::path& path);
// An empty object where the file is not there. Throws Error (failure) for one that is no JSON
// object.
nlohmann::json read_object_if_there(const std::filesystem::path& file);

// Throws Error (failure) for a folder with an adapter of PEFT's (LoRA, say) and no model.
void refuse_adapter_folder(const std::filesystem::path& folder);
// Exports go into a new folder: throws Error (usage) where it is there and something is in it.
void require_new_folder(const std::filesystem::path& folder);

class FolderWeights {
 public:
  // `prefix` is taken off their names. Throws Error (failure) where there is no safetensors file,
  // with the way out for a pickle.
  FolderWeights(const std::filesystem::path& folder, std::string_view prefix);

  const std::string& location() const { return location_; }  // the file, for messages
  bool contains(const std::string& canonical) const { return names_.contains(canonical); }
  // The first size of a tensor that is there.
  std::int64_t rows(const std::string& canonical) const;
  // [shape] float32; a size of -1 may be any. Throws Error (failure) for a tensor that is not
  // there, of another shape, not of a floating type, or not finite.
  at::Tensor take(const std::string& canonical, const std::vector<std::int64_t>& shape);
  // Canonical names of what was not taken, sorted.
  std::vector<std::string> unused() const;

 private:
  Safetensors file_;
  std::string location_;
  std::map<std::string, std::string> names_;  // canonical -> in the file
  std::set<std::string> used_;
};

}  // namespace roformer
