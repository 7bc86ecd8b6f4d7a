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

bool is_in_folder(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// The file of the folder that can be opened as a tokenizer by itself; empty where there is none.
std::string tokenizer_file(const fs::path& folder) {
  const fs::path whole = folder / "tokenizer.json";
  if (is_in_folder(folder / "vocab.txt")) return (folder / "vocab.txt").string();
  if (is_in_folder(folder / "tokenizer.model")) return (folder / "tokenizer.model").string();
  return is_in_folder(whole) && is_byte_level_file(read_file(whole, kLargestVocabulary))
             ? whole.string()
             : "";
}

}  // namespace

void refuse_model_folder(const fs::path& folder) {
  if (!is_in_folder(folder / "config.json") && !is_in_folder(folder / "tokenizer_config.json"))
    return;
  const std::string file = tokenizer_file(folder);
  throw_usage(
      folder.string(), "is a folder of Hugging Face's, not one of `tokenizer train`",
      fmt::format("{}roformer import {} --run NAME, whose checkpoint holds its tokenizer as "
                  "the model has it: runs/NAME/checkpoints/step-00000000",
                  file.empty() ? "" : file + "; or ", folder.string()));
}

}  // namespace roformer
