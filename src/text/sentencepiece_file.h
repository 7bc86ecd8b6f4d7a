// The contents of a SentencePiece model file, for writers of other formats. SentencePiece's library
// gives access to a small part of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// As numbered in sentencepiece_model.proto.
enum class PieceType { normal = 1, unknown, control, user_defined, unused, byte };
enum class PieceModel { unigram = 1, bpe, word, character };

struct SentencePieceFile {
  struct Piece {
    std::string text;
    float score = 0;
    PieceType type = PieceType::normal;
  };
  std::vector<Piece> pieces;  // by id
  PieceModel model = PieceModel::unigram;
  bool byte_fallback = false;    // a character without a piece is written as bytes
  bool space_is_suffix = false;  // the space marker ends a word, where it usually begins one
  std::string rules;             // of normalisation (normalization_map.h); may be empty
  bool adds_prefix = true;       // puts a space before a text
  bool removes_extra_spaces = true;
  bool marks_spaces = true;  // writes U+2581 for a space
};

// Reads the contents of a file that the library has loaded. Fields that it does not know are left
// out.
SentencePieceFile parse_sentencepiece_file(std::string_view contents);

}  // namespace roformer
