#include "interop/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "tensor/aten.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kPickles[] = {"pytorch_model.bin", "pytorch_model.bin.index.json"};

bool has_safetensors(const fs::path& folder) {
  return is_present(folder / "model.safetensors") ||
         is_present(folder / "model.safetensors.index.json");
}

// Throws if a vocabulary is only a pointer that Git LFS left.
void refuse_vocabulary_pointers(const fs::path& folder) {
  constexpr std::uintmax_t kLongestPointer = 1024;
  for (const char* name : {"vocab.txt", "tokenizer.model", "source.spm", "target.spm"}) {
    const fs::path file = folder / name;
    std::error_code error;
    if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > kLongestPointer) continue;
    if (is_lfs_pointer(read_file(file))) throw_lfs_pointer(file.string());
  }
}

Safetensors open_weights(const fs::path& folder) {
  refuse_adapter_folder(folder);
  refuse_vocabulary_pointers(folder);
  if (has_safetensors(folder)) return Safetensors(folder);
  for (const char* pickle : kPickles) {
    if (is_present(folder / pickle)) return Safetensors(folder / pickle);
  }
  for (const char* other : {"tf_model.h5", "flax_model.msgpack"}) {
    if (!is_present(folder / other)) continue;
    throw_failure((folder / other).string(), "is not a format that is read here",
                  "only model.safetensors and pytorch_model.bin are: load it with transformers and "
                  "save it again");
  }
  return Safetensors(folder);  // throws an Error that says what is missing
}

// Removes the prefix and replaces the names of BERT's first releases (gamma and beta of LayerNorm)
// by today's.
std::string canonical_name(const std::string& name, std::string_view prefix) {
  std::string result = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  constexpr std::pair<std::string_view, std::string_view> kOldEndings[] = {
      {"LayerNorm.gamma", "LayerNorm.weight"}, {"LayerNorm.beta", "LayerNorm.bias"}};
  for (const auto& [old, present] : kOldEndings) {
    if (result.ends_with(old)) result.replace(result.size() - old.size(), old.size(), present);
  }
  return result;
}

// If this program exported the folder, checks that its files are unchanged.
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

nlohmann::json read_object_if_there(const fs::path& file) {
  if (!is_present(file)) return nlohmann::json::object();
  nlohmann::json document = read_json(file);
  if (!document.is_object()) throw_failure(file.string(), "is not a JSON object");
  return document;
}

std::string name_of_token(const nlohmann::json& config, const char* key,
                          const std::string& standard) {
  nlohmann::json value = config.value(key, nlohmann::json());
  if (value.is_object()) value = value.value("content", nlohmann::json());
  return value.is_string() ? value.get<std::string>() : standard;
}

void write_json(const fs::path& file, const nlohmann::ordered_json& document) {
  write_file_atomically(file, document.dump(2) + "\n");
}

void refuse_adapter_folder(const fs::path& folder) {
  const fs::path file = folder / "adapter_config.json";
  const bool pickled =
      std::ranges::any_of(kPickles, [&](const char* name) { return is_present(folder / name); });
  if (has_safetensors(folder) || pickled || !is_present(file)) return;
  const auto config = try_parse_json(read_file(file, kLargestDescription));
  const auto text = [&](const char* name) {
    if (!config || !config->is_object()) return std::string();
    const nlohmann::json value = config->value(name, nlohmann::json());
    return value.is_string() ? printable(value.get<std::string>()) : std::string();
  };
  const std::string base = text("base_model_name_or_path"), kind = text("peft_type");
  throw_failure(
      folder.string(),
      fmt::format("holds an adapter of PEFT{}{}, not a model", kind.empty() ? "" : ", " + kind,
                  base.empty() ? "" : ", for " + base),
      "merge it into its model where you trust both: python -c \"from peft import "
      "AutoPeftModelForCausalLM as M; "
      "M.from_pretrained('DIR').merge_and_unload().save_pretrained('NEW')\", and put the model's "
      "tokenizer into NEW");
}

FolderWeights::FolderWeights(const fs::path& folder, std::string_view prefix)
    : file_(open_weights(folder)), location_(file_.path().string()) {
  check_manifest(folder);
  for (const std::string& name : file_.names()) {
    const std::string canonical = canonical_name(name, prefix);
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

std::int64_t FolderWeights::rows(const std::string& canonical) const {
  const std::vector<std::int64_t>& shape = file_.entry(names_.at(canonical)).shape;
  return shape.empty() ? 1 : shape[0];
}

std::vector<std::string> FolderWeights::unused() const {
  std::vector<std::string> names;
  for (const auto& [canonical, name] : names_) {
    if (!used_.contains(canonical)) names.push_back(canonical);
  }
  return names;
}

}  // namespace roformer
