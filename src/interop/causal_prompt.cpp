#include "interop/causal_prompt.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "interop/folder.h"
#include "text/tokenizer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

json tokenizer_config(const fs::path& folder) {
  const fs::path file = folder / "tokenizer_config.json";
  if (!is_there(file)) return json::object();
  json config = read_json(file);
  if (!config.is_object()) throw_failure(file.string(), "is not a JSON object");
  return config;
}

// "<s>", or an object with its content; empty: none.
std::string begin_of_text(const json& config) {
  const auto found = config.find("bos_token");
  if (found == config.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  const json content = found->is_object() ? found->value("content", json()) : json();
  return content.is_string() ? content.get<std::string>() : "";
}

TokenId id_of_piece(const Tokenizer& tokenizer, const std::string& piece) {
  const std::int64_t pieces = piece.empty() ? 0 : tokenizer.vocabulary_size();
  for (TokenId id = 0; id < pieces; ++id) {
    if (tokenizer.piece(id) == piece) return id;
  }
  return -1;
}

// The id; -1: none.
TokenId text_start_of(const json& config, const Tokenizer& tokenizer) {
  const auto added = config.find("add_bos_token");
  const bool told = added != config.end() && added->is_boolean();
  // LlamaTokenizer, whose file has no template, puts it there unless told not to.
  if (tokenizer.kind() == TokenizerKind::sentencepiece) {
    if (told && !added->get<bool>()) return -1;
    const TokenId named = id_of_piece(tokenizer, begin_of_text(config));
    return named >= 0 ? named : tokenizer.special().classification;
  }
  if (told) return added->get<bool>() ? id_of_piece(tokenizer, begin_of_text(config)) : -1;
  return tokenizer.text_start();
}

}  // namespace

TokenId prompt_token(const Tokenizer& tokenizer, PromptStart start) {
  const SpecialTokens& special = tokenizer.special();
  return start == PromptStart::separator        ? special.separator
         : start == PromptStart::classification ? special.classification
                                                : -1;
}

PromptStart prompt_start_of(const fs::path& folder, const Tokenizer& tokenizer,
                            std::vector<std::string>& notes) {
  const TokenId start = text_start_of(tokenizer_config(folder), tokenizer);
  const SpecialTokens& special = tokenizer.special();
  if (start < 0) return PromptStart::nothing;
  if (start == special.classification) return PromptStart::classification;
  if (start != special.separator) {
    notes.push_back(fmt::format("its tokenizer begins a text with {}; here a prompt begins with {}",
                                printable(tokenizer.piece(start)),
                                special.separator < 0
                                    ? std::string("nothing")
                                    : printable(tokenizer.piece(special.separator))));
  }
  return PromptStart::separator;
}

std::vector<std::int64_t> end_tokens_of(const fs::path& folder, const Tokenizer& tokenizer) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    const fs::path file = folder / name;
    if (!is_there(file)) continue;
    const json document = read_json(file);
    const auto found = document.find("eos_token_id");
    if (!document.is_object() || found == document.end() || found->is_null()) continue;
    std::vector<std::int64_t> ids;
    const json list = found->is_array() ? *found : json::array({*found});
    for (const json& id : list) {
      if (!id.is_number_integer()) {
        throw_failure(file.string(),
                      fmt::format("\"eos_token_id\" is {}, wanted an id or a list of ids",
                                  printable(found->dump())));
      }
      if (id.get<std::int64_t>() >= 0) ids.push_back(id.get<std::int64_t>());  // -1: none
    }
    if (ids == text_ends(tokenizer, {})) ids.clear();
    return ids;
  }
  return {};
}

nlohmann::ordered_json prompt_config(const Tokenizer& tokenizer, const DecodingSettings& decoding,
                                     std::int64_t longest) {
  const SpecialTokens& special = tokenizer.special();
  const TokenId first = prompt_token(tokenizer, decoding.prompt_start);
  const std::vector<std::int64_t> ends = text_ends(tokenizer, decoding.end_tokens);
  const bool named = !ends.empty() && ends.front() < tokenizer.vocabulary_size();
  const TokenId end = named ? static_cast<TokenId>(ends.front()) : -1;
  // This class reads tokenizer.model as it is; LlamaTokenizer would make byte pairs of its pieces.
  nlohmann::ordered_json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                   {"model_max_length", longest},
                                   {"add_bos_token", first >= 0}};
  for (const auto& [name, id] :
       {std::pair("bos_token", first), std::pair("eos_token", end),
        std::pair("unk_token", special.unknown), std::pair("pad_token", special.padding)}) {
    if (id >= 0) config[name] = tokenizer.piece(id);
  }
  return config;
}

}  // namespace roformer
