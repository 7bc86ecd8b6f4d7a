// The chat template of a Hugging Face folder: chat_template.jinja, or "chat_template" in
// tokenizer_config.json, with the names of the tokens that begin and end a text.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

// Empty where the folder has none. The template is parsed and not rendered; appends to `notes` where
// it has syntax that is not read here. Throws Error (failure) for a tokenizer_config.json that is
// no JSON object, and where chat_template.jinja is a link out of the folder (TemplateLink).
ChatFormat read_chat_format(const std::filesystem::path& folder, std::vector<std::string>& notes);

// Writes the template beside tokenizer_config.json, `config`, which gets its names. Nothing where
// there is none.
void write_chat_format(const ChatFormat& chat, const std::filesystem::path& folder,
                       nlohmann::ordered_json& config);

}  // namespace roformer
