#include "text/model_folder.h"

#include <fmt/format.h>

#include <string>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "text/byte_level_file.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

bool exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// The file of the folder that can be opened as a tokenizer by itself; empty where there is none.
std::string tokenizer_file(const fs::path& folder) {
  const fs::path whole = folder / "tokenizer.json";
  if (exists(folder / "vocab.txt")) return (folder / "vocab.txt").string();
  if (exists(folder / "tokenizer.model")) return (folder / "tokenizer.model").string();
  return exists(whole) && is_byte_level_file(read_file(whole)) ? whole.string() : "";
}

}  // namespace

void refuse_model_folder(const fs::path& folder) {
  if (!exists(folder / "config.json") && !exists(folder / "tokenizer_config.json")) return;
  const std::string file = tokenizer_file(folder);
  throw_usage(
      folder.string(), "is a folder of Hugging Face's, not one of `tokenizer train`",
      fmt::format("{}roformer import {} --run NAME, whose checkpoint holds its tokenizer as "
                  "the model has it: runs/NAME/checkpoints/step-00000000",
                  file.empty() ? "" : file + "; or ", folder.string()));
}

}  // namespace roformer
