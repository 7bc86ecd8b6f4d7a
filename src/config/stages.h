// The list `stages` as text: `[{steps: 200k, length: 512, batch: 256}, {steps: 12500, length:
// 1536}]`, which a file may spread over lines.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace roformer {

// Throws InvalidValue with what is wrong in which entry. Relative folders are taken from `folder`.
std::vector<StageSettings> parse_stages(std::string_view text, const std::filesystem::path& folder);
// What parse_stages reads back.
std::string print_stages(const std::vector<StageSettings>& stages);

std::int64_t total_steps(const std::vector<StageSettings>& stages);

}  // namespace roformer
