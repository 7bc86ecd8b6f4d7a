#include "data/missing_data.h"

#include <fmt/format.h>

namespace roformer {
namespace fs = std::filesystem;

std::string how_to_prepare(const fs::path& folder, const std::string& source) {
  const fs::path set = (folder / "").lexically_normal().parent_path();  // without a slash behind it
  const fs::path recipe = set.parent_path().parent_path() / (set.filename().string() + ".yaml");
  std::error_code error;
  const bool known =
      set.parent_path().filename() == "prepared" && fs::is_regular_file(recipe, error);
  return fmt::format("make {}: roformer data prepare {} --output {}", known ? "it" : "one",
                     known ? recipe.string() : source, folder.string());
}

}  // namespace roformer
