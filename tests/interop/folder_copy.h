// A copy of a fixture's folder, to be spoiled: reading it must say what is wrong.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "interop/fixtures.h"
#include "temporary_folder.h"
#include "tensor/safetensors.h"

namespace roformer {

struct FolderCopy {
  explicit FolderCopy(const std::string& model) {
    namespace fs = std::filesystem;
    fs::copy(model_folder(model), folder.path, fs::copy_options::recursive);
    fs::remove(folder.path / "expected.safetensors");
  }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(folder.path / file) << text;
  }
  void set(const std::string& key, const nlohmann::json& value) const {
    nlohmann::json config = nlohmann::json::parse(read_file(folder.path / "config.json"));
    config[key] = value;
    write("config.json", config.dump());
  }
  // Rewrites model.safetensors.
  void change(const std::function<void(std::map<std::string, at::Tensor>&)>& edit) const {
    std::map<std::string, at::Tensor> tensors;
    {
      const Safetensors file(folder.path);
      for (const std::string& name : file.names()) tensors[name] = file.tensor(name).clone();
    }
    edit(tensors);
    std::vector<NamedTensor> list;
    for (const auto& [name, value] : tensors) list.push_back({.name = name, .value = value});
    write_safetensors(folder.path / "model.safetensors", list);
  }

  TemporaryFolder folder;
};

}  // namespace roformer
