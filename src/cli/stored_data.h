// The data of a run, where it says they are or where the user does.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"
#include "config/settings.h"

namespace roformer {

// open(folder), with a hint at --data where the run's own folder is not there (any more): runs are
// copied from machine to machine.
template <typename Open>
auto open_stored(const std::filesystem::path& given, const Settings& settings, Open open) {
  if (!given.empty()) return open(given);
  const std::filesystem::path& folder = settings.data.directory;
  std::error_code error;
  if (!folder.empty() && std::filesystem::exists(folder, error)) return open(folder);
  throw_failure(folder.string(), "the data that the run was trained on are not there",
                "say where they are: --data FOLDER");
}

}  // namespace roformer
