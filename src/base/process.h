// This process: its standard streams, its program's path, the machine's name, and the environment
// of the runtimes that it loads.
#pragma once

#include <filesystem>
#include <string>

namespace roformer {

// Call this first in main. Opens standard streams that are closed, so that no other file takes
// their numbers. Turns a write beyond the file size limit into an error; by default it ends the
// process. Makes Ctrl-C print a line before it ends the process.
void prepare_process();

// Call this at the end of every command. Writes out the buffers of std::cout and stdout. Throws
// Error (failure) if any result was lost (a full disk, a closed file).
void finish_output();

// The file of this program, without links. Throws Error (failure) if the system does not tell.
std::filesystem::path program_path();

// A name that starts this very program, even if its file has been replaced since. Without /proc,
// the file's name.
std::string startable_program();

std::string host_name();

// Sets variables that the runtimes below LibTorch read when they start, unless the user has set
// them. Call it before starting the program that computes.
void tune_environment();

// A shell command that runs with the environment as the user left it.
std::string untuned(const std::string& command);

}  // namespace roformer
