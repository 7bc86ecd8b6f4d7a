// The decoder of a tokenizer.json: the steps that turn pieces back into text, as Hugging Face's
// tokenizers apply them. Without steps, pieces are joined by spaces.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/fields.h"

namespace roformer {

class PieceDecoder {
 public:
  PieceDecoder() = default;
  // Reads the field "decoder" of the file. Throws Error (failure), which names the path of what is
  // not read here.
  explicit PieceDecoder(const JsonFields& file);

  // Whether the only step is "ByteLevel": the pieces' bytes, end to end.
  bool is_byte_level() const { return byte_level_ && steps_.size() == 1; }
  // The text, which is valid UTF-8, of pieces, which are.
  std::string text_of(std::vector<std::string> pieces) const;

 private:
  using Step = std::function<void(std::vector<std::string>&)>;
  std::vector<Step> steps_;
  bool byte_level_ = false;

  void read_step(const JsonFields& step);
};

}  // namespace roformer
