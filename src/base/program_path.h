// Where this program is, to start itself or what lies beside it.
#pragma once

#include <filesystem>
#include <string>

namespace roformer {

// The file, without links. Throws Error (failure) where the system does not tell.
std::filesystem::path program_path();

// A name that starts this very program, even when its file has been replaced meanwhile; the file's
// where the system has no /proc.
std::string startable_program();

}  // namespace roformer
