// Shared by the tests of this module: files in a folder of their own, and the message of a refusal.
#pragma once

#include <string>

#include "base/error.h"
#include "base/file.h"
#include "temporary_folder.h"

namespace roformer {

struct ConfigFolder : TemporaryFolder {
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path / name;
    std::filesystem::create_directories(file.parent_path());
    write_file_atomically(file, text);
    return file;
  }
  // The message with this folder's path taken out, so that "a.yaml:3: ..." can be compared.
  std::string local(std::string message) const {
    const std::string prefix = path.string() + "/";
    for (std::size_t at; (at = message.find(prefix)) != std::string::npos;) {
      message.erase(at, prefix.size());
    }
    return message;
  }
};

// The message of the usage error that the call throws; "no error" when it throws none.
template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::usage ? error.what() : "a failure, not a usage error";
  }
  return "no error";
}

}  // namespace roformer
