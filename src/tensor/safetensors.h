// Tensors in files: the safetensors format, written atomically and read through a memory map.
// Checkpoints, and weights that come from or go to Hugging Face, are such files.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/inner_path.h"
#include "base/manifest.h"
#include "tensor/safetensors_header.h"

namespace roformer {

struct NamedTensor {
  std::string name;
  at::Tensor value;  // any device, any strides
};

// Writes the file whole or not at all (AtomicFile). Throws Error (failure) as that does.
void write_safetensors(const InnerPath& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

// The tensors of one file, or of several that an index (*.safetensors.index.json) names.
class Safetensors {
 public:
  // `path` is a .safetensors file, an index, or a folder with model.safetensors or
  // model.safetensors.index.json. Throws Error (failure) with one line for whatever is wrong.
  explicit Safetensors(const std::filesystem::path& path);

  std::vector<std::string> names() const;  // sorted
  bool contains(const std::string& name) const { return entries_.contains(name); }
  // Type, shape and location of a tensor; the name must be there.
  const SafetensorsEntry& entry(const std::string& name) const;
  // A read-only view of the mapped file that keeps the map alive (a copy where the file does not
  // align it); writing into it is a segmentation fault. Throws Error (failure) for a missing name.
  at::Tensor tensor(const std::string& name) const;
  // Metadata of the file, or of the first of several.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  struct File;
  struct Location {
    std::shared_ptr<const File> file;
    SafetensorsEntry entry;
  };
  std::filesystem::path path_;
  std::map<std::string, Location> entries_;
  std::map<std::string, std::string> metadata_;

  void add_file(const std::filesystem::path& path);
  void add_index(const std::filesystem::path& path);
  const Location& location_of(const std::string& name) const;
};

at::ScalarType scalar_type(SafetensorsType type);
SafetensorsType safetensors_type(at::ScalarType type);

// Says of a damaged file of weights which tensors lie where the damage is.

// The damage's message; of a safetensors file with ", part of NAME, NAME and 3 more" where a block
// is bad and the header can still be read.
std::string describe_damage(const Damage& damage);

}  // namespace roformer
