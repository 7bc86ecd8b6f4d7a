// The UTF-8 text of an XML file in any encoding. A byte order mark decides the encoding, then the
// form of the first characters (UTF-16 and UTF-32 without a mark), then the declaration
// (`encoding="..."`). Valid UTF-8 overrides the declaration, since programs that convert a file
// leave the old declaration in it.
#pragma once

#include <iconv.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "data/corpus_stream.h"

namespace roformer {

class XmlText {
 public:
  explicit XmlText(CorpusStream& stream) : stream_(stream) {}
  ~XmlText();
  XmlText(const XmlText&) = delete;
  XmlText& operator=(const XmlText&) = delete;

  // Call it after the stream's next_file. Throws Error (failure) for an unknown encoding.
  void begin_file();
  // The next text, valid until the next call; empty at the end of the file. Throws Error (failure)
  // for bytes that are invalid in the encoding, and as CorpusStream does.
  std::string_view read();

 private:
  CorpusStream& stream_;
  std::string encoding_;  // to convert from, "" for UTF-8
  iconv_t converter_ = kNone;
  bool is_declared_ = false;  // only, so that UTF-8 shows
  std::string held_;          // bytes that are not converted yet
  std::string text_;
  std::uint64_t converted_ = 0;  // bytes of the file

  static inline const iconv_t kNone = reinterpret_cast<iconv_t>(-1);

  bool hold(std::size_t bytes);
  void open(const std::string& encoding);
  void close();
  void convert();
  bool is_utf8_after_all();
};

// Finds an XML tag with more attributes than any real one before the parser reads it. libxml2
// compares each attribute of a tag with all earlier ones, so a tag with 100,000 attributes (one
// megabyte) takes minutes. Document type declarations can add attributes to tags; they are counted,
// too.
class AttributeCount {
 public:
  static constexpr std::int64_t kMost = 256;           // of a tag
  static constexpr std::int64_t kMostDeclared = 1024;  // words in declarations, of the whole file

  // `file` is the name for messages.
  explicit AttributeCount(std::string file) : file_(std::move(file)) {}

  // Checks the next bytes of UTF-8. Throws Error (failure) naming file:line if a tag has too many
  // attributes. In invalid XML it finds everything that the parser reads before it stops.
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
