// A study in a temporary folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "experiments/declaration/study_settings.h"
#include "temporary_folder.h"

namespace roformer {

struct FakeStudy : TemporaryFolder {
  explicit FakeStudy(const std::string& positions) {
    write_file_atomically(path / "tiny.yaml", "runs: runs\ntraining: {steps: 100}\nmatrix:\n" +
                                                  ("  position: [" + positions + "]\n"));
  }

  StudySettings load(const std::vector<Override>& overrides = {}) const {
    return load_study(path / "tiny.yaml", overrides);
  }
  std::filesystem::path runs() const { return path / "runs" / "tiny"; }
};

}  // namespace roformer
