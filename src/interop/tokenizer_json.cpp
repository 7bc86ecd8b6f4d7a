#include "interop/tokenizer_json.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/json.h"

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
  for (const std::string* piece : pieces) lines += *piece + "\n";
  return lines;
}

}  // namespace roformer
