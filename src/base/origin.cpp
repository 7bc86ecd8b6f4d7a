#include "base/origin.h"

#include <fmt/format.h>

#include "base/command_line.h"
#include "base/version.h"

namespace roformer {

std::string Origin::footer() const {
  return fmt::format("`{}` · roformer {} ({})", command, version, commit);
}

Origin this_program() {
  return {.command = command_line(), .version = kVersion, .commit = kCommit};
}

}  // namespace roformer
