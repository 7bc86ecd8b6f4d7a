// Manual pages, in the language of man(7), from the help of the commands.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace roformer {

// The pages by their files: "roformer.1", and "roformer-train.1" for each command.
std::map<std::string, std::string> manual_pages(const CLI::App& program);

}  // namespace roformer
