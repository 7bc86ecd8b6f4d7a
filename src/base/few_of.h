// Shortens a list of names so that a message stays one line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace roformer {

// "a, b, c and 4 more", with at most `most` of the texts.
std::string few_of(const std::vector<std::string>& texts, std::size_t most = 5);

}  // namespace roformer
