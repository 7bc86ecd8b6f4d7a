#include "cli/program.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/program_path.h"
#include "base/tuned_environment.h"
#include "base/version.h"
#include "cli/command_list.h"

namespace roformer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTorchProgram = "roformer-torch";

// An installed program finds LibTorch in a folder beside it, or where the system looks for
// libraries. Where it is in neither, the loader's message would not say what to do.
void require_libtorch(const fs::path& installed) {
  const fs::path libraries = installed / "libtorch";
  std::error_code error;
  if (!fs::exists(installed / kTorchProgram, error) || fs::exists(libraries, error)) return;
  if (::dlopen("libtorch_cpu.so", RTLD_LAZY) != nullptr) return;
  throw_failure(libraries.string(), "is missing, in which LibTorch is looked for",
                "make it a link to the folder lib of a LibTorch (of PyTorch's wheel: "
                "torch/lib), or install with -DROFORMER_INSTALL_LIBTORCH=ON");
}

}  // namespace

std::unique_ptr<CLI::App> make_program(const std::map<std::string, AddCommand>& here,
                                       const std::function<void()>& elsewhere) {
  auto program = std::make_unique<CLI::App>(
      "Trains and compares Transformers whose positional scheme is a switch (RoFormer and others).",
      "roformer");
  program->set_version_flag("--version", fmt::format("roformer {} ({})", kVersion, kCommit),
                            "print version and commit");
  // One: a file or folder may be called as a command is, and is then none.
  program->require_subcommand(0, 1);
  std::size_t added = 0;
  for (const ListedCommand& listed : listed_commands()) {
    if (const auto found = here.find(listed.name); found != here.end()) {
      found->second(*program);
      ++added;
      continue;
    }
    CLI::App* command = add_listed_command(*program, listed.name);
    command->set_help_flag();
    command->prefix_command();
    command->callback(elsewhere);
  }
  ROFORMER_ASSERT(added == here.size());  // each is in the list
  return program;
}

void continue_with_torch(char** arguments) {
  tune_environment();
  const fs::path folder = program_path().parent_path();
  const fs::path installed = folder / ROFORMER_LIBEXEC;
  // Without /proc the loader does not find the libraries that lie beside a program by itself.
  std::error_code error;
  const bool loader_knows = fs::exists("/proc/self/exe", error);
  for (const fs::path& path : {folder / kTorchProgram, installed / kTorchProgram}) {
    if (path.parent_path() == installed) require_libtorch(installed);
    if (!loader_knows) ::setenv("LD_ORIGIN_PATH", path.parent_path().c_str(), /*overwrite=*/1);
    ::execv(path.c_str(), arguments);
    if (errno != ENOENT && errno != ENOTDIR) {
      throw_failure(path.string(), "cannot start: " + system_message(errno));
    }
  }
  throw_failure((folder / kTorchProgram).string(), "is not there",
                "it is built and installed together with roformer; copy both");
}

}  // namespace roformer
