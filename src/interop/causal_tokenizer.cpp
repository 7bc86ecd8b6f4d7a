#include "interop/causal_tokenizer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "interop/folder.h"
#include "interop/tokenizer_json.h"
#include "text/byte_level_file.h"
#include "text/chat_template.h"
#include "text/foreign_files.h"
#include "text/plain_tokenizers.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/wordpiece_json.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr const char* kSentencePiece = "tokenizer.model";

// The chat template. The field holds one text or a list of named templates; in a list, "default" is
// the template for conversations.
std::string template_of(const json& config) {
  const json found = config.value("chat_template", json());
  if (found.is_string()) return found.get<std::string>();
  if (!found.is_array()) return "";
  for (const json& entry : found) {
    if (!entry.is_object() || entry.value("name", json()) != "default") continue;
    const json text = entry.value("template", json());
    if (text.is_string()) return text.get<std::string>();
  }
  return "";
}

// Empty if the folder has no template. Parses the template but does not render it; a note names
// syntax that this program cannot read.
ChatFormat read_chat_format(const fs::path& folder, std::vector<std::string>& notes) {
  const fs::path file = folder / kTokenizerConfigFile;
  const json config = read_object_if_there(file);
  std::error_code error;
  const fs::file_status found = fs::symlink_status(folder / kChatTemplateFile, error);
  ChatFormat chat = {.source = fs::exists(found) ? read_template_file(folder, TemplateLink::inside)
                                                 : template_of(config)};
  if (chat.source.empty()) return {};
  // The run would store the template but could not read it again.
  if (chat.source.size() > kLongestChatTemplate) {
    throw_failure(file.string(), "has a chat_template that is larger than 1 MiB");
  }
  chat.begin = name_of_token(config, "bos_token");
  chat.end = name_of_token(config, "eos_token");
  try {
    check_chat(chat);
  } catch (const Error& error) {
    notes.push_back(fmt::format("`roformer generate --chat` cannot compute its chat template: {}",
                                error.what()));
  }
  return chat;
}

// Writes the template beside tokenizer_config.json. `config`, the contents of that file, receives
// its bos_token and eos_token.
void write_chat_format(const ChatFormat& chat, const fs::path& folder,
                       nlohmann::ordered_json& config) {
  if (chat.source.empty()) return;
  write_file_atomically(folder / kChatTemplateFile, chat.source);
  if (!chat.begin.empty() && !config.contains("bos_token")) config["bos_token"] = chat.begin;
  if (!chat.end.empty()) config["eos_token"] = chat.end;
}

TokenId id_of_piece(const Tokenizer& tokenizer, const std::string& piece) {
  const std::int64_t pieces = piece.empty() ? 0 : tokenizer.vocabulary_size();
  for (TokenId id = 0; id < pieces; ++id) {
    if (tokenizer.piece(id) == piece) return id;
  }
  return -1;
}

// The id of the token; -1: none.
TokenId text_start_of(const json& config, const Tokenizer& tokenizer) {
  const auto added = config.find("add_bos_token");
  const bool told = added != config.end() && added->is_boolean();
  // LlamaTokenizer adds the token unless told not to, although its file has no template.
  if (tokenizer.kind() == TokenizerKind::sentencepiece) {
    if (told && !added->get<bool>()) return -1;
    const TokenId named = id_of_piece(tokenizer, name_of_token(config, "bos_token"));
    return named >= 0 ? named : tokenizer.special().classification;
  }
  if (told)
    return added->get<bool>() ? id_of_piece(tokenizer, name_of_token(config, "bos_token")) : -1;
  return tokenizer.text_start();
}

PromptStart prompt_start_of(const fs::path& folder, const Tokenizer& tokenizer,
                            std::vector<std::string>& notes) {
  const TokenId start =
      text_start_of(read_object_if_there(folder / kTokenizerConfigFile), tokenizer);
  const SpecialTokens& special = tokenizer.special();
  if (start < 0) return PromptStart::nothing;
  if (start == special.classification) return PromptStart::classification;
  if (start == special.separator) return PromptStart::separator;
  notes.push_back(
      fmt::format("its tokenizer begins a text with {}; here a prompt begins with nothing",
                  printable(tokenizer.piece(start))));
  return PromptStart::nothing;
}

// The ids that end a text. generation_config.json takes precedence over config.json, as in
// transformers' `generate`. Empty if they are only the vocabulary's separator, or if neither file
// names any.
std::vector<std::int64_t> end_tokens_of(const fs::path& folder, const Tokenizer& tokenizer) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    const fs::path file = folder / name;
    if (!is_present(file)) continue;
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
      if (id.get<std::int64_t>() >= 0) ids.push_back(id.get<std::int64_t>());  // negative: none
    }
    if (ids == text_ends(tokenizer, {})) ids.clear();
    return ids;
  }
  return {};
}

// The contents of tokenizer_config.json. `longest`: the number of tokens that the model was built
// for.
nlohmann::ordered_json prompt_config(const Tokenizer& tokenizer, const DecodingSettings& decoding,
                                     std::int64_t longest) {
  const SpecialTokens& special = tokenizer.special();
  const TokenId first = prompt_token(tokenizer, decoding.prompt_start);
  const std::vector<std::int64_t> ends = text_ends(tokenizer, decoding.end_tokens);
  const bool named = !ends.empty() && ends.front() < tokenizer.vocabulary_size();
  const TokenId end = named ? static_cast<TokenId>(ends.front()) : -1;
  // LlamaTokenizer would turn the pieces of a SentencePiece model into byte pairs.
  nlohmann::ordered_json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                   {"clean_up_tokenization_spaces", false},
                                   {"model_max_length", longest},
                                   {"model_input_names", {"input_ids", "attention_mask"}},
                                   {"add_bos_token", first >= 0}};
  for (const auto& [name, id] :
       {std::pair("bos_token", first), std::pair("eos_token", end),
        std::pair("unk_token", special.unknown), std::pair("pad_token", special.padding)}) {
    if (id >= 0) config[name] = tokenizer.piece(id);
  }
  return config;
}

void note_prefix_space(const fs::path& folder, std::vector<std::string>& notes) {
  const fs::path config = folder / kTokenizerConfigFile;
  const json flags = is_present(config) ? read_json(config) : json::object();
  if (!flags.is_object() || flags.value("add_prefix_space", json()) != false) return;
  notes.push_back(
      "its tokenizer_config.json has add_prefix_space false, which is not done here: a text begins "
      "as tokenizer.model says");
}

// tokenizer.json, or nothing if the folder has none that is read here. A note gives the reason.
// Throws Error (failure) for a byte-level one that is damaged.
std::unique_ptr<Tokenizer> read_whole_file(const fs::path& file, const std::string& text,
                                           std::vector<std::string>& notes) {
  if (text.empty()) return nullptr;
  const bool word_pieces = is_wordpiece_json(text);
  if (!word_pieces && !is_byte_level_file(text)) {
    notes.push_back("its tokenizer.json is not supported: BPE, unigram and WordPiece models are");
    return nullptr;
  }
  try {
    return open_tokenizer(
        {.kind = word_pieces ? TokenizerKind::wordpiece : TokenizerKind::byte_level, .file = file});
  } catch (const Error& error) {
    if (text.find("\"ByteLevel\"") != std::string::npos) throw;
    notes.push_back(fmt::format("its tokenizer.json is not read here: {}", error.what()));
    return nullptr;
  }
}

// tiktoken's lists of pieces have the same name as SentencePiece's model.
std::unique_ptr<Tokenizer> read_tokenizer_of(const fs::path& folder,
                                             std::vector<std::string>& notes) {
  const fs::path model = folder / kSentencePiece, file = folder / kTokenizerFile;
  const std::string text = is_present(file) ? read_file(file, kLargestVocabulary) : "";
  const bool has_model = is_present(model);
  if (has_model && is_sentencepiece_model(read_file(model, kLargestVocabulary))) {
    std::unique_ptr<Tokenizer> tokenizer =
        open_model_file(model, is_byte_level_file(text) ? file : "", notes);
    if (tokenizer->kind() == TokenizerKind::sentencepiece) note_prefix_space(folder, notes);
    return tokenizer;
  }
  std::unique_ptr<Tokenizer> whole = read_whole_file(file, text, notes);
  if (has_model && whole != nullptr) {
    notes.push_back(
        "its tokenizer.model is no SentencePiece model: its tokenizer.json is read, as "
        "transformers does");
  }
  if (whole != nullptr) return whole;
  if (has_model) return open_tokenizer({.kind = TokenizerKind::byte_level, .file = model});
  if (!has_vocabulary_and_merges(folder)) return nullptr;
  return open_tokenizer({.kind = TokenizerKind::byte_level, .file = folder / "vocab.json"});
}

std::shared_ptr<const Tokenizer> make_ids(const fs::path& folder, PretrainedModel& model) {
  model.notes.push_back(
      fmt::format("{}: its texts are ids, \"17 4 25\", as its own tokenizer gives them",
                  is_present(folder / kTokenizerFile) ? "its tokenizer is not read"
                                                      : "it has no tokenizer.model"));
  return make_id_tokenizer(id_model(model.settings.model.vocabulary), folder.string());
}

}  // namespace

void read_causal_tokenizer(const fs::path& folder, PretrainedModel& model) {
  DecodingSettings& decoding = model.settings.decoding;
  std::unique_ptr<Tokenizer> tokenizer = read_tokenizer_of(folder, model.notes);
  if (tokenizer == nullptr) {
    model.tokenizer = make_ids(folder, model);
  } else {
    tokenizer->set_chat(read_chat_format(folder, model.notes));
    decoding.prompt_start = prompt_start_of(folder, *tokenizer, model.notes);
    model.tokenizer = std::move(tokenizer);
  }
  decoding.end_tokens = end_tokens_of(folder, *model.tokenizer);
}

TokenId prompt_token(const Tokenizer& tokenizer, PromptStart start) {
  const SpecialTokens& special = tokenizer.special();
  return start == PromptStart::separator        ? special.separator
         : start == PromptStart::classification ? special.classification
                                                : -1;
}

void write_causal_tokenizer(const Tokenizer& tokenizer, const Settings& settings,
                            std::string_view type, const fs::path& folder,
                            std::vector<std::string>& notes) {
  if (tokenizer.kind() == TokenizerKind::ids) {
    notes.push_back(
        "its texts are ids: put the tokenizer of the model that it came from into the folder");
    return;
  }
  const bool pieces = tokenizer.kind() == TokenizerKind::sentencepiece;
  const std::string name = pieces ? kSentencePiece : tokenizer.file_name();
  if (!name.empty() && tokenizer.kind() != TokenizerKind::byte_level) {
    write_file_atomically(folder / name, tokenizer.file_contents());
  }
  const TokenId first = prompt_token(tokenizer, settings.decoding.prompt_start);
  const bool written = write_tokenizer_json(
      tokenizer, {.before = first, .after = -1, .before_second = true}, folder, notes);
  if (!written) {
    notes.push_back(fmt::format("{} is written as it is: the text must be encoded with it{}", name,
                                first < 0 ? "" : fmt::format(", after the id {}", first)));
  }
  // transformers can read tokenizer.model without tokenizer.json.
  if (!written && !pieces) return;
  auto config = prompt_config(tokenizer, settings.decoding, settings.data.length);
  write_chat_format(tokenizer.chat(), folder, config);
  write_json(folder / kTokenizerConfigFile, config);
  if (type == "qwen2") {
    notes.push_back(
        "for qwen2 transformers' AutoTokenizer cuts text as Qwen 2 does, whatever tokenizer.json "
        "says: PreTrainedTokenizerFast(tokenizer_file=\"tokenizer.json\") cuts it as this model "
        "was "
        "trained");
  }
}

}  // namespace roformer
