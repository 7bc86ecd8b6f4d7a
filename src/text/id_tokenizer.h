// Texts that are ids already, "17 4 25", as another program's tokenizer gave them: what a model
// takes whose own tokenizer is not one of this program's. The file says how many ids there are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace roformer {

// The contents of the file of a vocabulary of so many ids.
std::string id_model(std::int64_t vocabulary);

// True when the contents say that they are such a file.
bool is_id_model(std::string_view contents);

// Without special tokens. Throws Error (failure) naming the location for other contents. Its
// encode() throws Error (usage) for a word that is no id.
std::unique_ptr<Tokenizer> make_id_tokenizer(std::string contents, const std::string& location);

}  // namespace roformer
