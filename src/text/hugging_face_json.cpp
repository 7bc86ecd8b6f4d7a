#include "text/hugging_face_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "text/byte_alphabet.h"
#include "text/hugging_face_parts.h"
#include "text/utf8.h"
#include "text/word_tokenizer.h"
#include "text/wordpiece_tokenizer.h"

namespace roformer {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// The special tokens of a vocabulary, and the other added tokens, each with its id.
std::vector<AddedToken> with_special(const Tokenizer& tokenizer, std::vector<AddedToken> added) {
  const SpecialTokens& special = tokenizer.special();
  for (const TokenId id : {special.padding, special.unknown, special.classification,
                           special.separator, special.mask}) {
    const bool listed = std::ranges::find(added, id, &AddedToken::id) != added.end();
    if (id >= 0 && !listed) {
      added.push_back({.content = tokenizer.piece(id), .id = id, .special = true});
    }
  }
  std::ranges::sort(added, {}, &AddedToken::id);
  return added;
}

HuggingFaceParts wordpiece_parts(const Tokenizer& tokenizer, const WordPieceModel& model) {
  const std::vector<std::string> pieces = vocabulary_lines(model.vocabulary);
  std::unordered_map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < pieces.size(); ++i) last[pieces[i]] = i;
  PieceIds vocabulary;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    // An empty line, or a piece that a later line repeats, still takes an id. No text yields this
    // name, because a bracket is a word.
    const bool used = !pieces[i].empty() && last[pieces[i]] == i;
    vocabulary.emplace_back(used ? pieces[i] : fmt::format("[line {}]", i + 1), i);
  }
  return {.normalizer = {{"type", "BertNormalizer"},
                         {"clean_text", true},
                         {"handle_chinese_chars", model.rules.chinese_characters},
                         {"strip_accents", model.rules.strip_accents},
                         {"lowercase", model.rules.lower_case}},
          .pre_tokenizer = {{"type", "BertPreTokenizer"}},
          .model = {{"type", "WordPiece"},
                    {"unk_token", "[UNK]"},
                    {"continuing_subword_prefix", kContinuation},
                    {"max_input_chars_per_word", 100},
                    {"vocab", std::move(vocabulary)}},
          .decoder = {{"type", "WordPiece"}, {"prefix", kContinuation}, {"cleanup", true}},
          .added = with_special(tokenizer, model.added)};
}

HuggingFaceParts words_parts(const Tokenizer& tokenizer) {
  const WordFiles files = word_files(tokenizer);
  if (!files.characters) return {};
  return wordpiece_parts(tokenizer, {.vocabulary = files.vocabulary,
                                     .rules = files.cased ? kCasedBert : kUncasedBert,
                                     .added = {}});
}

// A model of single characters is a byte-pair model without merges.
HuggingFaceParts characters_parts(const Tokenizer& tokenizer) {
  PieceIds vocabulary;
  for (TokenId id = 0; id < tokenizer.vocabulary_size(); ++id) {
    vocabulary.emplace_back(tokenizer.piece(id), id);
  }
  ordered_json model = byte_pair_json(std::move(vocabulary), ordered_json::array());
  model["unk_token"] = tokenizer.piece(tokenizer.special().unknown);
  return {.model = std::move(model),
          .decoder = {{"type", "Fuse"}},
          .added = with_special(tokenizer, {})};
}

HuggingFaceParts bytes_parts(const Tokenizer& tokenizer) {
  PieceIds vocabulary;
  for (TokenId id = 0; id < tokenizer.vocabulary_size(); ++id) {
    std::string piece = tokenizer.piece(id);
    if (!tokenizer.is_special(id)) {
      piece.clear();
      append_utf8(piece, byte_alphabet().character_of(static_cast<unsigned char>(id)));
    }
    vocabulary.emplace_back(piece, id);
  }
  return {.pre_tokenizer = byte_level_json(false),
          .model = byte_pair_json(std::move(vocabulary), ordered_json::array()),
          .decoder = byte_level_json(true),
          .added = with_special(tokenizer, {})};
}

HuggingFaceParts kind_parts(const Tokenizer& tokenizer) {
  switch (tokenizer.kind()) {
    case TokenizerKind::sentencepiece:
      return sentencepiece_parts(tokenizer);
    case TokenizerKind::wordpiece:
      return wordpiece_parts(tokenizer, wordpiece_model(tokenizer));
    case TokenizerKind::words:
      return words_parts(tokenizer);
    case TokenizerKind::characters:
      return characters_parts(tokenizer);
    case TokenizerKind::bytes:
      return bytes_parts(tokenizer);
    default:
      return {};
  }
}

ordered_json token_entry(const std::string& piece, int type) {
  return {{"SpecialToken", {{"id", piece}, {"type_id", type}}}};
}

ordered_json text_entry(const char* name, int type) {
  return {{"Sequence", {{"id", name}, {"type_id", type}}}};
}

// The names of the tokens before and after one text; empty: none.
std::pair<std::string, std::string> names_around(const json& processor) {
  std::pair<std::string, std::string> names;
  const auto word = [](const json& value) {
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  const std::string type = processor.is_object() ? word(processor.value("type", json())) : "";
  if (type == "Sequence") {
    for (const json& entry : processor.value("processors", json::array())) {
      const auto inner = names_around(entry);
      if (!inner.first.empty()) names.first = inner.first;
      if (!inner.second.empty()) names.second = inner.second;
    }
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    names = {word(processor["cls"][0]), word(processor["sep"][0])};
  } else if (type == "TemplateProcessing") {
    bool after = false;
    for (const json& entry : processor["single"]) {
      after = after || entry.contains("Sequence");
      if (!entry.contains("SpecialToken")) continue;
      (after ? names.second : names.first) = word(entry["SpecialToken"]["id"]);
    }
  }
  return names;
}

ordered_json template_of(const Tokenizer& tokenizer, const TextFrame& frame) {
  return template_json([&](TokenId id) { return tokenizer.piece(id); }, frame);
}

// The file of a byte-level tokenizer as it is, but for the tokens around a text where they differ.
std::string framed_file(const Tokenizer& tokenizer, const TextFrame& frame) {
  json document = parse_json(tokenizer.file_contents(), tokenizer.file_name());
  const auto name = [&](TokenId id) { return id < 0 ? std::string() : tokenizer.piece(id); };
  json& processor = document["post_processor"];
  if (names_around(processor) == std::pair(name(frame.before), name(frame.after))) {
    return tokenizer.file_contents();
  }
  processor = template_of(tokenizer, frame);
  return document.dump(2) + "\n";
}

}  // namespace

ordered_json replace_pattern(const std::string& regex, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{"Regex", regex}}}, {"content", content}};
}

ordered_json replace_text(const std::string& text, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{"String", text}}}, {"content", content}};
}

ordered_json byte_level_json(bool cuts_words) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", false},
          {"use_regex", cuts_words}};
}

ordered_json byte_pair_json(PieceIds vocabulary, ordered_json merges) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", std::move(vocabulary)},
          {"merges", std::move(merges)}};
}

ordered_json template_json(const std::function<std::string(TokenId)>& piece_of,
                           const TextFrame& frame) {
  if (frame.before < 0 && frame.after < 0) return {};
  ordered_json first = ordered_json::array(), second = ordered_json::array();
  ordered_json tokens = ordered_json::object();
  const auto add = [&](ordered_json& list, TokenId id, int type) {
    if (id < 0) return;
    const std::string piece = piece_of(id);
    list.push_back(token_entry(piece, type));
    tokens[piece] = {{"id", piece}, {"ids", {id}}, {"tokens", {piece}}};
  };
  add(first, frame.before, 0);
  first.push_back(text_entry("A", 0));
  add(first, frame.after, 0);
  if (frame.before_second) add(second, frame.before, 1);
  second.push_back(text_entry("B", 1));
  add(second, frame.after, 1);
  ordered_json pair = first;
  for (ordered_json& entry : second) pair.push_back(std::move(entry));
  return {{"type", "TemplateProcessing"},
          {"single", first},
          {"pair", pair},
          {"special_tokens", tokens}};
}

ordered_json document_json(HuggingFaceParts parts, ordered_json post_processor) {
  ordered_json added = ordered_json::array();
  for (const AddedToken& token : parts.added) added.push_back(added_token_json(token));
  ordered_json document = {{"version", "1.0"},
                           {"truncation", nullptr},
                           {"padding", nullptr},
                           {"added_tokens", std::move(added)},
                           {"normalizer", std::move(parts.normalizer)},
                           {"pre_tokenizer", std::move(parts.pre_tokenizer)},
                           {"post_processor", std::move(post_processor)},
                           {"decoder", std::move(parts.decoder)}};
  document["model"] = std::move(parts.model);
  return document;
}

std::string document_of(HuggingFaceParts parts, ordered_json post_processor) {
  return document_json(std::move(parts), std::move(post_processor))
             .dump(2, ' ', false, json::error_handler_t::replace) +
         "\n";
}

TextFrame encoder_frame(const Tokenizer& tokenizer) {
  return {.before = tokenizer.special().classification, .after = tokenizer.special().separator};
}

HuggingFaceJson hugging_face_json(const Tokenizer& tokenizer, const TextFrame& frame) {
  if (tokenizer.kind() == TokenizerKind::byte_level) {
    return {.contents = framed_file(tokenizer, frame), .notes = {}};
  }
  HuggingFaceParts parts = kind_parts(tokenizer);
  HuggingFaceJson result{.contents = {}, .notes = std::move(parts.notes)};
  if (parts.model.is_null()) return result;
  result.contents = document_of(std::move(parts), template_of(tokenizer, frame));
  return result;
}

void add_special_names(const Tokenizer& tokenizer, ordered_json& config) {
  const SpecialTokens& special = tokenizer.special();
  for (const auto& [name, id] :
       {std::pair("unk_token", special.unknown), std::pair("sep_token", special.separator),
        std::pair("pad_token", special.padding), std::pair("cls_token", special.classification),
        std::pair("mask_token", special.mask)}) {
    if (id >= 0) config[name] = tokenizer.piece(id);
  }
}

std::string hugging_face_config(const Tokenizer& tokenizer) {
  ordered_json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                         {"clean_up_tokenization_spaces", false}};
  add_special_names(tokenizer, config);
  return config.dump(2) + "\n";
}

}  // namespace roformer
