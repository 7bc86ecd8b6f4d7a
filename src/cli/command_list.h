// The list of the subcommands as `roformer --help` shows it: known without what the commands need,
// so that help, and those that read no tensor, do not wait for LibTorch to be loaded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace roformer {

struct ListedCommand {
  std::string name;
  std::string summary;  // one line
  std::string group;    // heading in the list of commands
};
// In the order of the help.
const std::vector<ListedCommand>& listed_commands();

// Adds the subcommand of that name with its summary and heading; `details` stand below the summary
// in its own help.
CLI::App* add_listed_command(CLI::App& program, std::string_view name, std::string details = "");

}  // namespace roformer
