// The tensors of a Hugging Face folder under their canonical names, and which of them have been
// understood.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tensor/safetensors.h"

namespace roformer {

class FolderWeights {
 public:
  // Throws Error (failure) where there is no safetensors file, with the way out for a pickle.
  using CanonicalName = std::function<std::string(const std::string& name)>;
  FolderWeights(const std::filesystem::path& folder, const CanonicalName& canonical_name);

  const std::string& location() const { return location_; }  // the file, for messages
  bool contains(const std::string& canonical) const { return names_.contains(canonical); }
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
