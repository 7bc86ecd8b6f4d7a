// The flag --split of the commands that measure a trained model.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "data/split.h"

namespace roformer {

inline void add_split_option(CLI::App& command, Split& split) {
  command
      .add_option_function<std::string>(
          "--split", [&split](const std::string& name) { split = measured_split(name); },
          "split of the data: validation or test")
      ->check(CLI::IsMember({"validation", "test"}))
      ->default_str(std::string(to_string(split)));
}

}  // namespace roformer
