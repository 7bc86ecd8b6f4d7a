// What the runtimes below LibTorch read from the environment when they start, chosen for this
// program where the user has not chosen.
#pragma once

#include <string>

namespace roformer {

// To be called before the program that computes is started.
void tune_environment();

// A command for a shell under this program, which is to find the environment as the user left it.
std::string untuned(const std::string& command);

}  // namespace roformer
