// The text of one sample, as its tokens come: whole characters only, and cut before a stop text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

class GeneratedText {
 public:
  // `shown` are the tokens before the sample that belong to its text; stop texts are not looked for
  // in them. The tokenizer and the stop texts (none of them empty) must outlive this.
  GeneratedText(const Tokenizer& tokenizer, std::vector<std::int64_t> shown,
                const std::vector<std::string>& stops);

  // These return the text that is new, which may be none: what may begin a stop text, and a
  // character whose last bytes have not come, are held back. Together they return the text of all
  // tokens, or its part before the stop text that ends first.
  std::string begin();               // the text of `shown`
  std::string add(std::int64_t id);  // not after the text has stopped
  std::string end();                 // what was held back
  // Whether the sample has reached a stop text.
  bool has_stopped() const { return stopped_; }

 private:
  const Tokenizer& tokenizer_;
  const std::vector<std::string>& stops_;
  std::vector<std::int64_t> ids_;
  // Tokens before `taken_` are in the text. Decoding begins at `context_`, some tokens earlier,
  // because a token at the beginning of a text is written differently.
  std::size_t context_ = 0;
  std::size_t taken_ = 0;
  std::string held_;
  bool stopped_ = false;

  std::string text_of(std::size_t begin, std::size_t end) const;
  std::string added() const;
  void take_added();
  bool cut_at_stop(const std::string& text);
  std::size_t possible_stop() const;
};

}  // namespace roformer
