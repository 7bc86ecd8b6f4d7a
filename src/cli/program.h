// What the two executables share. `roformer` runs at once the subcommands that read no tensor, and
// passes the others on to `roformer-torch`: loading LibTorch takes 0.3 s, longer than most of what
// `roformer config` or `roformer score` do.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace roformer {

using AddCommand = void (*)(CLI::App& program);

// The program with every listed subcommand. Those that `here` lacks accept any arguments and do
// `elsewhere`.
std::unique_ptr<CLI::App> make_program(const std::map<std::string, AddCommand>& here,
                                       const std::function<void()>& elsewhere);

// Replaces this process by `roformer-torch`, which lies beside this executable or, where it is
// installed, in its libexec folder. Throws Error (failure) where it is not there.
[[noreturn]] void continue_with_torch(char** arguments);

}  // namespace roformer
