// What an action logs, as one text.
#pragma once

#include <string>

#include "base/file.h"
#include "base/log.h"
#include "temporary_folder.h"

namespace roformer {

template <typename Action>
std::string said(Action action) {
  const TemporaryFolder folder;
  {
    const log::FileSink sink(folder.path / "log");
    action();
  }
  return read_file(folder.path / "log");
}

}  // namespace roformer
