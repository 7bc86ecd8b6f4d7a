// Opens models of SentencePiece's library, which answers damage with a status, an exception of its
// own or one of the standard library.
#pragma once

#include <string>
#include <string_view>

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace roformer {

// What is wrong with the contents of a model file; empty when the processor has read them.
std::string load_sentencepiece(sentencepiece::SentencePieceProcessor& processor,
                               std::string_view contents);

}  // namespace roformer
