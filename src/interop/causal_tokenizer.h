// The tokenizer of a folder with a causal language model, and what comes before and after a text.
// SentencePiece's tokenizer.model or a byte-level tokenizer.json is read; with another tokenizer
// texts are ids. Before a text: what transformers reads from tokenizer.json's template, or from
// tokenizer_config.json where that says otherwise. After it: eos_token_id. The chat template is
// chat_template.jinja, or "chat_template" in tokenizer_config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/settings.h"
#include "interop/import.h"
#include "text/tokenizer.h"

namespace roformer {

// Sets the tokenizer, with its chat template, and decoding.prompt_start and decoding.end_tokens.
// Throws Error (failure) for files that are damaged and for a template that is a link out of the
// folder.
void read_causal_tokenizer(const std::filesystem::path& folder, PretrainedModel& model);

// The token that begins a prompt; -1: none, or the vocabulary has none.
TokenId prompt_token(const Tokenizer& tokenizer, PromptStart start);

// Says all of the above in the folder. Appends to `notes` what cannot be said. `type`: the
// family's.
void write_causal_tokenizer(const Tokenizer& tokenizer, const Settings& settings,
                            std::string_view type, const std::filesystem::path& folder,
                            std::vector<std::string>& notes);

}  // namespace roformer
