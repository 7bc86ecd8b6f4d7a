// Writes a conversation as the text on which a chat model was trained, by the template in the
// model's folder (ChatFormat). Renders the templates of Llama, Qwen, SmolLM and similar models
// (text/jinja.h); refuses any other syntax with its line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

inline constexpr const char* kChatTemplateFile = "chat_template.jinja";
inline constexpr std::uint64_t kLongestChatTemplate = std::uint64_t{1} << 20;  // bytes

// The template is copied into runs and exports, so a link in an untrusted folder could copy a file
// of the user.
enum class TemplateLink : std::uint8_t {
  refused,  // in a folder that this program wrote
  inside    // followed to a file in the folder, or in ../../blobs, as Hugging Face's cache has it
};
// The text of chat_template.jinja in the folder, at most 1 MiB. Throws Error (failure) for a link
// that is not followed, and for a file that cannot be read.
std::string read_template_file(const std::filesystem::path& folder, TemplateLink link);

// Parses the template without rendering it. Throws Error (failure) if it is larger than 1 MiB or
// has unsupported syntax.
void check_chat(const ChatFormat& chat);

// The text of the conversation up to the model's answer. Throws Error (failure) for unsupported
// syntax and functions, and if the template refuses the conversation.
std::string render_chat(const ChatFormat& chat, const std::vector<ChatMessage>& messages);

}  // namespace roformer
