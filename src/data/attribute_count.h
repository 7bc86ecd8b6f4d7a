// Finds the XML tag with more attributes than any real one before the parser does: libxml2 compares
// each attribute of a tag with all before it, so that 100,000 in one tag, a file of a megabyte,
// take it minutes. Declarations of a document type can give attributes to tags, and are counted,
// too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace roformer {

class AttributeCount {
 public:
  static constexpr std::int64_t kMost = 256;           // of a tag
  static constexpr std::int64_t kMostDeclared = 1024;  // words in declarations, of the whole file

  // `file` is its name, in messages.
  explicit AttributeCount(std::string file) : file_(std::move(file)) {}

  // The next bytes, of UTF-8. Throws Error (failure) naming file:line where there are more. Of what
  // is no valid XML it sees what the parser sees before that stops.
  void feed(std::string_view bytes);

 private:
  enum class Place { text, open, declaration, declared_text, skipped, tag, quoted };

  std::string file_;
  Place place_ = Place::text;
  std::string end_;      // of the part that is skipped
  std::string matched_;  // of it, or of the beginning of a declaration
  char quote_ = 0;
  std::int64_t count_ = 0;
  std::int64_t declared_ = 0;
  std::int64_t line_ = 1;

  void take(char c);
  void take_of_declaration(char c);
  void count_word(char c);
  void skip_to(const char* end);
};

}  // namespace roformer
