// Writes a conversation as the text that a chat model was trained on, by the template that its
// folder has (ChatFormat). The part of Jinja that is computed is that of the templates of Llama,
// Qwen, SmolLM and their kind (text/jinja_syntax.h); what goes beyond it is refused with its line.
#pragma once

#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

// Throws Error (failure) where the template cannot be read.
void check_chat(const ChatFormat& chat);

// Up to where the model answers. Throws Error (failure) for what is not computed here, and where
// the template refuses the conversation.
std::string render_chat(const ChatFormat& chat, const std::vector<ChatMessage>& messages);

}  // namespace roformer
