// The normalizer of a tokenizer.json: the steps that rewrite a text before it is cut, as Hugging
// Face's tokenizers apply them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/fields.h"

namespace roformer {

// A text between its steps.
struct NormalText {
  std::string text;
  // Whether it begins where the user's text begins. Some files mark only that place.
  bool from_start = true;
};

class TextNormalization {
 public:
  TextNormalization() = default;  // changes nothing
  // Reads the field "normalizer" of the file. Throws Error (failure), which names the path of what
  // is not read here.
  explicit TextNormalization(const JsonFields& file);

  bool changes_nothing() const { return steps_.empty(); }
  // The text is valid UTF-8. Throws Error (failure) if the steps make it far longer.
  NormalText apply(NormalText text) const;

 private:
  using Step = std::function<void(NormalText&)>;
  std::vector<Step> steps_;

  void read_step(const JsonFields& step);
};

}  // namespace roformer
