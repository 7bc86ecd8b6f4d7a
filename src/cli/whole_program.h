// Every subcommand in one program, as `roformer-torch` and the tests have it.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace roformer {

std::unique_ptr<CLI::App> make_whole_program();

}  // namespace roformer
