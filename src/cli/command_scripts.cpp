// `roformer quickstart` and `roformer gpu-check`: scripts that come with the program and call it.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/process.h"
#include "base/shipped.h"
#include "cli/command.h"

namespace roformer {
namespace {

// Replaces this process by scripts/NAME, which finds the program in ROFORMER_PROGRAM.
[[noreturn]] void run_script(const std::string& name, std::vector<std::string> arguments) {
  const std::string script = (shipped_folder() / "scripts" / name).string();
  constexpr const char* kPlace =
      "it is installed together with roformer, in share/roformer/scripts";
  // A script of the working directory may be anybody's.
  if (shipped_folder().empty()) throw_failure(script, "does not come with this program", kPlace);
  ::setenv("ROFORMER_PROGRAM", program_path().c_str(), /*overwrite=*/1);
  std::vector<char*> words{const_cast<char*>(script.c_str())};
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  ::execv(words.front(), words.data());
  throw_failure(script, "cannot start: " + system_message(errno), kPlace);
}

void add_script_command(CLI::App& program, const std::string& name) {
  CLI::App* const command = add_listed_command(program, name);
  command->set_help_flag();  // the script has a help text
  command->prefix_command();
  command->callback([command, name] { run_script(name, command->remaining()); });
}

}  // namespace

void add_gpu_check_command(CLI::App& program) {
  add_script_command(program, "gpu-check");
}

void add_quickstart_command(CLI::App& program) {
  add_script_command(program, "quickstart");
}

}  // namespace roformer
