// The UTF-8 text of an XML file in any encoding. A byte order mark decides it, then the form of the
// first characters (UTF-16 and UTF-32 without a mark), then the declaration (`encoding="..."`);
// what is valid UTF-8 all the same is that: programs that convert a file leave the declaration as
// it was.
#pragma once

#include <iconv.h>

#include <string>
#include <string_view>

#include "data/corpus_stream.h"

namespace roformer {

class XmlText {
 public:
  explicit XmlText(CorpusStream& stream) : stream_(stream) {}
  ~XmlText();
  XmlText(const XmlText&) = delete;
  XmlText& operator=(const XmlText&) = delete;

  // After the stream's next_file. Throws Error (failure) for an encoding that is not known.
  void begin_file();
  // The next text, valid until the next call; empty at the end of the file. Throws Error (failure)
  // for bytes that are none of the encoding's, and as CorpusStream.
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

}  // namespace roformer
