// Translations as lines of text, as JSON, or in Marian's n-best format, to standard output or,
// whole or not at all, into a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/file.h"
#include "tasks/translation/text_translator.h"

namespace roformer {

struct TranslationFormat {
  std::string name = "text";  // text, json or marian
  bool alignment = false;     // "||| 0-0 1-2" after the text, or a list in JSON
  std::int64_t n_best = 1;    // lines of text a source; empty ones where fewer were found
};

class TranslationPrinter {
 public:
  // An empty file: standard output.
  TranslationPrinter(TranslationFormat format, const std::string& file);

  // Prints the next line.
  void print(const std::string& source, const TranslatedLine& line);
  // Hands on what was printed. Throws Error (failure) where it cannot be written.
  void flush();
  // The end; without it the file is not there.
  void finish();

 private:
  TranslationFormat format_;
  std::optional<AtomicFile> file_;
  std::string text_;
  std::int64_t number_ = 0;

  void add_json(const std::string& source, const TranslatedLine& line);
  void add_marian(const TranslatedText& text);
};

}  // namespace roformer
