// `roformer completion SHELL`: prints a completion script. The build lets it write the scripts and
// the manual pages into the folders of an installation's share/.
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/manual.h"

namespace roformer {
namespace {

struct CompletionOptions {
  std::string shell;
  std::string share;
};

void write_share(CLI::App& program, const std::filesystem::path& share) {
  const auto write = [&](const std::filesystem::path& name, const std::string& text) {
    std::filesystem::create_directories((share / name).parent_path());
    write_file_atomically(share / name, text);
  };
  for (const auto& [name, page] : manual_pages(program)) {
    write(std::filesystem::path("man/man1") / name, page);
  }
  write("bash-completion/completions/roformer", completion_script(program, Shell::bash));
  write("zsh/site-functions/_roformer", completion_script(program, Shell::zsh));
  write("fish/vendor_completions.d/roformer.fish", completion_script(program, Shell::fish));
}

void complete(CLI::App& program, const CompletionOptions& options) {
  if (!options.share.empty()) {
    write_share(program, options.share);
  } else if (options.shell.empty()) {
    throw_usage("completion", "for which shell", "bash, zsh or fish");
  } else {
    const Shell shell = options.shell == "bash"  ? Shell::bash
                        : options.shell == "zsh" ? Shell::zsh
                                                 : Shell::fish;
    std::cout << completion_script(program, shell);
  }
}

}  // namespace

void add_completion_command(CLI::App& program) {
  auto options = std::make_shared<CompletionOptions>();
  CLI::App* command = add_listed_command(
      program, "completion",
      "The script completes commands, flags, keys of the configuration and their\n"
      "values, names of schemes, runs and files. An installation has it already. Else:\n"
      "  bash   roformer completion bash > ~/.local/share/bash-completion/completions/roformer\n"
      "  zsh    roformer completion zsh > FOLDER/_roformer, with FOLDER in $fpath\n"
      "  fish   roformer completion fish > ~/.config/fish/completions/roformer.fish\n");
  command->add_option("shell", options->shell, "bash, zsh or fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->add_option("--share", options->share, "write scripts and manual pages below this folder")
      ->group("");
  command->callback([&program, options] { complete(program, *options); });
}

}  // namespace roformer
