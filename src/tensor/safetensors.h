// Tensors in files of the safetensors format, written atomically and read through a memory map:
// checkpoints, and weights from and for Hugging Face. Files of torch.save (pytorch_model.bin) are
// read too.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/checksums.h"
#include "base/inner_path.h"
#include "tensor/safetensors_header.h"

namespace roformer {

struct NamedTensor {
  std::string name;
  at::Tensor value;  // any device, any strides
};

// Writes the file completely or not at all. Throws Error (failure) as AtomicFile does.
void write_safetensors(const InnerPath& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

// The tensors of one file, or of the files that an index (*.index.json) names. A file *.bin is one
// of torch.save (pickled_tensors.h), any other one of safetensors.
class Safetensors {
 public:
  // `path` is a .safetensors or .bin file, an index, or a folder with model.safetensors or
  // model.safetensors.index.json. Throws Error (failure) for every fault.
  explicit Safetensors(const std::filesystem::path& path);

  std::vector<std::string> names() const;  // sorted
  bool contains(const std::string& name) const { return entries_.contains(name); }
  // Type, shape and location of a tensor; the name must be there.
  const SafetensorsEntry& entry(const std::string& name) const;
  // A read-only view of the mapped file, which it keeps alive; a copy if the file does not align
  // it. Writing into it is a segmentation fault. Throws Error (failure) for a missing name.
  at::Tensor tensor(const std::string& name) const;
  // Gives the memory of a tensor's pages back to the system: a model that is read does not hold its
  // file too. Whoever reads the tensor again reads the file.
  void release(const std::string& name) const;
  // Metadata of the file, or of the first file that has some.
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

// The damage's message. For a bad block of a safetensors file whose header can still be read, ",
// part of NAME, NAME and 3 more" follows.
std::string describe_damage(const Damage& damage);

}  // namespace roformer
