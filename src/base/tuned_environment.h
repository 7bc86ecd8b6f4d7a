// What the runtimes below LibTorch read from the environment when they start, chosen for this
// program where the user has not chosen.
#pragma once

namespace roformer {

// To be called before the program that computes is started.
void tune_environment();

}  // namespace roformer
