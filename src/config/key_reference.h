// The keys of a configuration for readers: as text, and as the page configs/KEYS.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace roformer {

// The keys whose name, allowed words, help or names in other programs contain the word; capitals
// and hyphens do not matter. Keys that have the word in their name, or that another program calls
// so, come first. An empty word is in all keys, which come in the schema's order.
std::vector<const Key*> keys_about(std::string_view word);

// Four lines a key: name; type, unit and default; help; tasks.
std::string text_of_keys(const std::vector<const Key*>& keys);
// A table for each section, in Markdown.
std::string markdown_of_keys(const std::vector<const Key*>& keys);

}  // namespace roformer
