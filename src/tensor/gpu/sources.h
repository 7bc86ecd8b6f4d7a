// The kernels' sources, as text within the program (CMakeLists.txt makes it from the files).
#pragma once

#include <string_view>
#include <vector>

namespace roformer::gpu {

struct SourceFile {
  std::string_view name;  // as it is included: "tensor/kernels.h"
  std::string_view text;
};

// The sources and all that they include.
const std::vector<SourceFile>& source_files();

}  // namespace roformer::gpu
