#include "text/marian_tokenizer.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "text/sentencepiece_model.h"
#include "text/utf8.h"
#include "text/vocabulary_tokenizer.h"

namespace roformer {
namespace {

// The file is this line, a line of JSON with the vocabulary, and the model.
constexpr std::string_view kFirstLine = "roformer marian 1\n";
constexpr std::pair<const char*, TokenId SpecialTokens::*> kSpecialFields[] = {
    {"padding", &SpecialTokens::padding},
    {"unknown", &SpecialTokens::unknown},
    {"begin", &SpecialTokens::classification},
    {"end", &SpecialTokens::separator}};

// The parts of a file's contents.
struct Parts {
  std::string_view vocabulary, sentencepiece;
};

Parts parts_of(std::string_view contents, const std::string& location) {
  if (!is_marian_model(contents)) throw_failure(location, "is not a Marian tokenizer");
  contents.remove_prefix(kFirstLine.size());
  const std::size_t end = contents.find('\n');
  if (end == std::string_view::npos) throw_failure(location, "ends within its vocabulary");
  return {.vocabulary = contents.substr(0, end), .sentencepiece = contents.substr(end + 1)};
}

MarianVocabulary parse_vocabulary(std::string_view text, const std::string& location) {
  const nlohmann::json json = parse_json(text, location);
  MarianVocabulary vocabulary;
  const auto pieces = json.is_object() ? json.find("pieces") : json.end();
  if (pieces == json.end() || !pieces->is_array()) throw_failure(location, "lacks its pieces");
  for (const nlohmann::json& piece : *pieces) {
    if (!piece.is_string()) throw_failure(location, "has a piece that is no text");
    vocabulary.pieces.push_back(piece.get<std::string>());
  }
  for (const auto& [name, member] : kSpecialFields) {
    const nlohmann::json id = json.value(name, nlohmann::json());
    if (!id.is_number_integer() || id < -1 || id >= vocabulary.pieces.size()) {
      throw_failure(location, fmt::format("\"{}\" is {}, wanted the number of a piece or -1", name,
                                          describe_json(id)));
    }
    vocabulary.special.*member = id.get<TokenId>();
  }
  if (vocabulary.special.unknown < 0) throw_failure(location, "has no unknown token");
  vocabulary.language_codes = json.value("codes", nlohmann::json(true)) != false;
  return vocabulary;
}

std::string without_markers(std::string text) {
  for (std::size_t at = 0; (at = text.find(kSpaceMarker, at)) != std::string::npos; ++at) {
    text.replace(at, kSpaceMarker.size(), " ");
  }
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first);
}

class MarianTokenizer final : public VocabularyTokenizer {
 public:
  MarianTokenizer(std::string contents, const std::string& location)
      : VocabularyTokenizer(TokenizerKind::marian, std::move(contents)) {
    const Parts parts = parts_of(file_contents(), location);
    MarianVocabulary vocabulary = parse_vocabulary(parts.vocabulary, location);
    pieces_ = std::move(vocabulary.pieces);
    special_ = vocabulary.special;
    language_codes_ = vocabulary.language_codes;
    const std::string problem = load_sentencepiece(processor_, parts.sentencepiece);
    if (!problem.empty()) throw_failure(location, "has no SentencePiece model: " + problem);
    for (const std::string& piece : pieces_) {
      const bool is_new = ids_.emplace(piece, static_cast<TokenId>(ids_.size())).second;
      if (!is_new) throw_failure(location, fmt::format("has \"{}\" twice", piece));
    }
  }

  // The library writes runs of ordinary pieces; this function writes the special tokens between
  // them.
  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string text;
    std::vector<std::string> run;
    const auto finish_run = [&] {
      if (run.empty()) return;
      std::string part;
      const auto status = processor_.Decode(run, &part);
      ROFORMER_ASSERT(status.ok());
      if (!text.empty() && run.front().starts_with(kSpaceMarker)) text += ' ';
      text += without_markers(std::move(part));
      run.clear();
    };
    for (const TokenId id : ids) {
      ROFORMER_ASSERT(id >= 0 && id < vocabulary_size());
      if (!is_special(id)) {
        run.push_back(piece(id));
      } else if (with_special || id == special_.unknown) {
        finish_run();
        if (!text.empty()) text += ' ';
        if (with_special) {
          text += piece(id);
        } else {
          append_utf8(text, 0xFFFD);
        }
      }
    }
    finish_run();
    return text;
  }

  bool begins_word(TokenId id) const override { return piece(id).starts_with(kSpaceMarker); }

 private:
  std::unordered_map<std::string, TokenId> ids_;
  bool language_codes_ = true;
  sentencepiece::SentencePieceProcessor processor_;

  void encode_text(std::string_view text, SpecialNames, std::vector<TokenId>& ids) const override {
    if (const std::size_t end = text.find("<<");
        language_codes_ && text.starts_with(">>") && end != std::string_view::npos) {
      ids.push_back(find(text.substr(0, end + 2)));
      text.remove_prefix(end + 2);
    }
    std::vector<std::string> pieces;
    const auto status = processor_.Encode(text, &pieces);
    if (!status.ok()) throw_failure("SentencePiece", status.message());
    for (const std::string& piece : pieces) ids.push_back(find(piece));
  }

  // No text yields a special token.
  TokenId find(std::string_view piece) const {
    const auto found = ids_.find(std::string(piece));
    return found == ids_.end() || is_special(found->second) ? special_.unknown : found->second;
  }
};

}  // namespace

std::string marian_model(const MarianVocabulary& vocabulary, std::string_view sentencepiece) {
  nlohmann::ordered_json json = {{"pieces", vocabulary.pieces}};
  for (const auto& [name, member] : kSpecialFields) json[name] = vocabulary.special.*member;
  if (!vocabulary.language_codes) json["codes"] = false;
  return std::string(kFirstLine) + json.dump() + "\n" + std::string(sentencepiece);
}

bool is_marian_model(std::string_view contents) {
  return contents.starts_with(kFirstLine);
}

std::unique_ptr<Tokenizer> make_marian_tokenizer(std::string contents,
                                                 const std::string& location) {
  return std::make_unique<MarianTokenizer>(std::move(contents), location);
}

std::string_view sentencepiece_of(const Tokenizer& marian) {
  ROFORMER_ASSERT(marian.kind() == TokenizerKind::marian);
  return parts_of(marian.file_contents(), "tokenizer").sentencepiece;
}

}  // namespace roformer
