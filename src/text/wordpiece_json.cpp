#include "text/wordpiece_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "text/added_tokens.h"

namespace roformer {

std::string vocabulary_of_tokenizer_json(std::string_view text, const std::string& file) {
  const nlohmann::json document = parse_json(text, file);
  const auto refuse = [&](const std::string& message) {
    throw_failure(file, message, "save the tokenizer with its vocab.txt");
  };
  if (!document.is_object()) refuse("is not a JSON object");
  const auto model = document.find("model");
  if (model == document.end() || !model->is_object() ||
      model->value("type", nlohmann::json()) != "WordPiece" || !model->contains("vocab") ||
      !(*model)["vocab"].is_object()) {
    refuse("is not a WordPiece tokenizer");
  }
  std::vector<const std::string*> pieces;
  const nlohmann::json& vocabulary = (*model)["vocab"];
  pieces.resize(vocabulary.size());
  for (const auto& [piece, id] : vocabulary.items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= pieces.size() ||
        pieces[id.get<std::size_t>()] != nullptr) {
      refuse("numbers its pieces otherwise than 0, 1, 2, ...");
    }
    if (piece.find_first_of("\r\n") != std::string::npos) refuse("has a piece with a line break");
    pieces[id.get<std::size_t>()] = &piece;
  }
  std::string lines;
  for (const std::string* piece : pieces) {
    // A vocabulary file drops white space at the end of a line. A piece that ends in white space,
    // which no text yields, must not take the place of another piece.
    const bool white = vocabulary_lines(*piece) != std::vector<std::string>{*piece};
    lines += (white ? std::string() : *piece) + "\n";
  }
  return lines;
}

void require_bert_wordpiece(std::string_view text, const std::string& file) {
  const nlohmann::json document = parse_json(text, file);
  if (!document.is_object() || !document.contains("model")) return;
  const nlohmann::json& model = document["model"];
  if (!model.is_object() || model.value("type", nlohmann::json()) != "WordPiece") return;
  const auto require = [&](const nlohmann::json& object, const std::string& path,
                           const std::string& name, const nlohmann::json& wanted) {
    const auto found = object.find(name);
    if (found == object.end() || *found == wanted) return;
    throw_failure(file,
                  fmt::format("{}{} is {}, wanted {}", path, name, found->dump(), wanted.dump()),
                  "only BERT's own way to cut text is computed here");
  };
  require(model, "model.", "continuing_subword_prefix", "##");
  require(model, "model.", "max_input_chars_per_word", 100);
  require(model, "model.", "unk_token", "[UNK]");
  for (const auto& [part, type] : {std::pair("normalizer", "BertNormalizer"),
                                   std::pair("pre_tokenizer", "BertPreTokenizer")}) {
    const auto found = document.find(part);
    if (found == document.end()) continue;
    if (!found->is_object()) require(document, "", part, nlohmann::json{{"type", type}});
    require(*found, std::string(part) + ".", "type", type);
    require(*found, std::string(part) + ".", "clean_text", true);
  }
}

bool is_plain_bert_token(const AddedToken& token) {
  static constexpr std::array<std::string_view, 5> kBertTokens = {"[PAD]", "[UNK]", "[CLS]",
                                                                  "[SEP]", "[MASK]"};
  const bool named = std::ranges::find(kBertTokens, token.content) != kBertTokens.end();
  return named && !token.single_word && !token.takes_before && !token.takes_after;
}

bool is_wordpiece_json(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] == '{' &&
         text.find("\"WordPiece\"") != std::string_view::npos &&
         text.find("\"vocab\"") != std::string_view::npos;
}

WordPieceModel wordpiece_of_tokenizer_json(std::string_view text, const std::string& file) {
  require_bert_wordpiece(text, file);
  WordPieceModel model = {.vocabulary = vocabulary_of_tokenizer_json(text, file)};
  const nlohmann::json document = parse_json(text, file);
  const nlohmann::json normalizer = json_or_null(document, "normalizer");
  model.rules.lower_case = json_flag(normalizer, "lowercase", true, file);
  model.rules.strip_accents = json_flag(normalizer, "strip_accents", model.rules.lower_case, file);
  model.rules.chinese_characters = json_flag(normalizer, "handle_chinese_chars", true, file);
  const nlohmann::json list = json_or_null(document, "added_tokens");
  for (const nlohmann::json& entry : list.is_array() ? list : nlohmann::json::array()) {
    AddedToken token = parse_added_token(entry, file);
    const nlohmann::json id = json_or_null(entry, "id");
    constexpr std::uint64_t kMost = 100'000'000;
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > kMost) {
      throw_failure(file, fmt::format("the id of an added token is {}, not a number from 0 to {}",
                                      describe_json(id), kMost));
    }
    token.id = id.get<TokenId>();
    if (!is_plain_bert_token(token)) model.added.push_back(std::move(token));
  }
  std::ranges::sort(model.added, {}, &AddedToken::id);
  return model;
}

}  // namespace roformer
