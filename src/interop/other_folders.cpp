#include "interop/other_folders.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "interop/folder.h"

namespace roformer {
namespace fs = std::filesystem;

void refuse_adapter_folder(const fs::path& folder) {
  const fs::path file = folder / "adapter_config.json";
  const bool model =
      is_there(folder / "model.safetensors") || is_there(folder / "model.safetensors.index.json");
  if (model || !is_there(file)) return;
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

void refuse_vocabulary_pointers(const fs::path& folder) {
  constexpr std::uintmax_t kLongestPointer = 1024;
  for (const char* name : {"vocab.txt", "tokenizer.model", "source.spm", "target.spm"}) {
    const fs::path file = folder / name;
    std::error_code error;
    if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > kLongestPointer) continue;
    if (is_lfs_pointer(read_file(file))) throw_lfs_pointer(file.string());
  }
}

}  // namespace roformer
