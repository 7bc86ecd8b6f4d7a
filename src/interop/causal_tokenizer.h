// The tokenizer of a folder with a causal language model, and the tokens before and after a text.
// Reads SentencePiece's tokenizer.model, a tokenizer.json with a BPE or unigram model, vocab.json
// with merges.txt, or tiktoken's ranks; with any other tokenizer, texts are ids. The tokens before
// a text come from tokenizer.json's template, or from tokenizer_config.json where it overrides the
// template, as in transformers. The token after a text is eos_token_id. The chat template is
// chat_template.jinja or "chat_template" in tokenizer_config.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/settings.h"
#include "interop/import.h"
#include "text/tokenizer.h"

namespace roformer {

// Sets the tokenizer with its chat template, decoding.prompt_start and decoding.end_tokens. Throws
// Error (failure) for damaged files and for a template that is a link out of the folder.
void read_causal_tokenizer(const std::filesystem::path& folder, PretrainedModel& model);

// The token that begins a prompt; -1: none, or the vocabulary lacks it.
TokenId prompt_token(const Tokenizer& tokenizer, PromptStart start);

// Writes the tokenizer, the tokens before and after a text and the chat template into the folder.
// Appends to `notes` whatever the folder cannot express. `type`: the family's name.
void write_causal_tokenizer(const Tokenizer& tokenizer, const Settings& settings,
                            std::string_view type, const std::filesystem::path& folder,
                            std::vector<std::string>& notes);

}  // namespace roformer
