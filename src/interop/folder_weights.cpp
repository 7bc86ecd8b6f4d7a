#include "interop/folder_weights.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "interop/folder.h"
#include "interop/other_folders.h"
#include "tensor/safetensors.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

Safetensors open_weights(const fs::path& folder) {
  refuse_adapter_folder(folder);
  refuse_vocabulary_pointers(folder);
  if (is_there(folder / "model.safetensors") || is_there(folder / "model.safetensors.index.json")) {
    return Safetensors(folder);
  }
  for (const char* pickle : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (!is_there(folder / pickle)) continue;
    throw_failure(
        (folder / pickle).string(),
        "is a pickle, which can run any code when it is opened and is not read here",
        "convert it where you trust it, X the architecture in config.json: python -c "
        "\"from transformers import AutoTokenizer, X; "
        "[C.from_pretrained('DIR').save_pretrained('NEW') for C in (X, AutoTokenizer)]\"");
  }
  for (const char* other : {"tf_model.h5", "flax_model.msgpack"}) {
    if (!is_there(folder / other)) continue;
    throw_failure((folder / other).string(), "is not a format that is read here",
                  "only model.safetensors is: load it with transformers and save it again");
  }
  return Safetensors(folder);  // says what is missing
}

// What this program exported tells whether it is still what was written.
void check_manifest(const fs::path& folder) {
  const std::optional<Manifest> manifest = Manifest::read(folder);
  if (!manifest) return;
  for (const std::string& name : manifest->names()) {
    if (const std::optional<Damage> damage = manifest->check(name)) {
      throw_failure(damage->file.string(), describe_damage(*damage),
                    "export it again; if it was changed on purpose, remove manifest.json");
    }
  }
}

}  // namespace

FolderWeights::FolderWeights(const fs::path& folder, const CanonicalName& canonical_name)
    : file_(open_weights(folder)), location_(file_.path().string()) {
  check_manifest(folder);
  for (const std::string& name : file_.names()) {
    const std::string canonical = canonical_name(name);
    if (!names_.try_emplace(canonical, name).second) {
      throw_failure(location_, fmt::format("holds {} and {}, which are the same weight",
                                           printable(names_[canonical]), printable(name)));
    }
  }
}

at::Tensor FolderWeights::take(const std::string& canonical,
                               const std::vector<std::int64_t>& shape) {
  const auto found = names_.find(canonical);
  if (found == names_.end()) {
    throw_failure(location_, fmt::format("has no tensor \"{}\"", canonical),
                  "the file and config.json must be of one model");
  }
  const std::string& name = found->second;
  const SafetensorsEntry& entry = file_.entry(name);
  const bool same = std::equal(entry.shape.begin(), entry.shape.end(), shape.begin(), shape.end(),
                               [](std::int64_t a, std::int64_t b) { return a == b || b == -1; });
  if (!same) {
    const std::string wanted = fmt::format("{}", fmt::join(shape, ", "));
    throw_failure(location_, fmt::format("\"{}\" has the shape [{}], config.json makes it [{}]",
                                         name, fmt::join(entry.shape, ", "),
                                         shape[0] == -1 ? "any" + wanted.substr(2) : wanted));
  }
  const at::Tensor stored = file_.tensor(name);
  if (!stored.is_floating_point()) {
    throw_failure(location_, fmt::format("\"{}\" has the type {}, wanted F32, F16, BF16 or F64",
                                         name, safetensors_name(entry.type)));
  }
  at::Tensor value = stored.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  const std::int64_t finite = at::isfinite(value).sum().item<std::int64_t>();
  if (finite != value.numel()) {
    throw_failure(location_,
                  fmt::format("{} of the {} values of \"{}\" are NaN or infinite",
                              value.numel() - finite, value.numel(), name),
                  "the weights are damaged, or their training had diverged");
  }
  used_.insert(canonical);
  return value;
}

std::vector<std::string> FolderWeights::unused() const {
  std::vector<std::string> names;
  for (const auto& [canonical, name] : names_) {
    if (!used_.contains(canonical)) names.push_back(canonical);
  }
  return names;
}

}  // namespace roformer
