// This process: its standard streams, where its program is, the machine's name, and the environment
// of the runtimes that it loads.
#pragma once

#include <filesystem>
#include <string>

namespace roformer {

// To be called first in main. Opens standard streams that are closed, so that no other file takes
// their numbers. A write beyond the file size limit becomes an error instead of ending the process.
void prepare_process();

// To be called at the end of every command: writes out what std::cout and stdout still hold. Throws
// Error (failure) where any result was lost (a full disk, a closed file).
void finish_output();

// The file of this program, without links. Throws Error (failure) where the system does not tell.
std::filesystem::path program_path();

// A name that starts this very program, even when its file has been replaced since. Without /proc,
// the file's name.
std::string startable_program();

std::string host_name();

// Sets variables that the runtimes below LibTorch read when they start, where the user has not. To
// be called before the program that computes is started.
void tune_environment();

// The shell command, to be run with the environment as the user left it.
std::string untuned(const std::string& command);

}  // namespace roformer
