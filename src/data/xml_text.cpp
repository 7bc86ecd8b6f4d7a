#include "data/xml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "text/utf8.h"

namespace roformer {
namespace {

constexpr std::size_t kDeclaration = 1024;  // bytes in which it must be
constexpr std::size_t kEvidence = 1 << 16;  // bytes after the first that is not ASCII
constexpr std::size_t kConverted = 1 << 18;

struct Form {
  std::string_view begin;
  std::string_view encoding;
  bool is_mark;
};
using namespace std::string_view_literals;
// The longer mark comes first, since the mark of UTF-32 begins like that of UTF-16. Without a mark
// the first characters are "<?".
constexpr std::array kForms = {
    Form{"\xff\xfe\0\0"sv, "UTF-32LE", true}, Form{"\0\0\xfe\xff"sv, "UTF-32BE", true},
    Form{"\xff\xfe"sv, "UTF-16LE", true},     Form{"\xfe\xff"sv, "UTF-16BE", true},
    Form{"\xef\xbb\xbf"sv, "UTF-8", true},    Form{"<\0\0\0"sv, "UTF-32LE", false},
    Form{"\0\0\0<"sv, "UTF-32BE", false},     Form{"<\0"sv, "UTF-16LE", false},
    Form{"\0<"sv, "UTF-16BE", false},
};

// The name in `<?xml ... encoding="NAME"`, in capitals; "" if there is none.
std::string declared_encoding(std::string_view begin) {
  if (!begin.starts_with("<?xml")) return "";
  begin = begin.substr(0, begin.find("?>"));
  std::size_t at = begin.find("encoding");
  if (at == std::string_view::npos) return "";
  at = begin.find_first_of("\"'", at);
  if (at == std::string_view::npos) return "";
  const std::size_t end = begin.find(begin[at], at + 1);
  if (end == std::string_view::npos) return "";
  std::string name(begin.substr(at + 1, end - at - 1));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

// Encodings in which such files occur. The system's converters know hundreds more, few of them
// tested with damaged or hostile files.
bool is_known(std::string_view encoding) {
  constexpr std::array kFamilies = {"ISO-8859-"sv,  "ISO8859-"sv, "ISO_8859-"sv,
                                    "WINDOWS-12"sv, "CP12"sv,     "KOI8-"sv};
  constexpr std::array kNames = {"UTF-16LE"sv, "UTF-16BE"sv, "UTF-32LE"sv, "UTF-32BE"sv,
                                 "US-ASCII"sv, "ASCII"sv,    "LATIN1"sv,   "SHIFT_JIS"sv,
                                 "EUC-JP"sv,   "EUC-KR"sv,   "GB2312"sv,   "GBK"sv,
                                 "GB18030"sv,  "BIG5"sv,     "TIS-620"sv,  "MACINTOSH"sv};
  constexpr std::string_view kDigits = "0123456789RU";
  const auto is_of = [&](std::string_view family) {
    return encoding.starts_with(family) && encoding.size() > family.size() &&
           encoding.find_first_not_of(kDigits, family.size()) == std::string_view::npos;
  };
  return std::ranges::any_of(kFamilies, is_of) ||
         std::ranges::find(kNames, encoding) != kNames.end();
}

// Their files do not begin with "<?xml" in ASCII.
bool is_wide(std::string_view encoding) {
  return encoding.starts_with("UTF-16") || encoding.starts_with("UTF-32") ||
         encoding.starts_with("UCS-2") || encoding.starts_with("UCS-4") ||
         encoding.starts_with("ISO-10646-UCS");
}

// The text without a character that the end of a block cuts off.
std::string_view whole_characters(std::string_view text) {
  for (std::size_t cut = 1; cut <= 3 && cut <= text.size(); ++cut) {
    const auto byte = static_cast<unsigned char>(text[text.size() - cut]);
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const std::size_t length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return length > cut ? text.substr(0, text.size() - cut) : text;
  }
  return text;
}

}  // namespace

XmlText::~XmlText() {
  close();
}

void XmlText::close() {
  if (converter_ != kNone) ::iconv_close(converter_);
  converter_ = kNone;
}

void XmlText::open(const std::string& encoding) {
  encoding_ = encoding;
  if (is_known(encoding)) converter_ = ::iconv_open("UTF-8", encoding.c_str());
  if (converter_ != kNone) return;
  throw_failure(
      stream_.name(),
      fmt::format("declares the encoding {}, which is not known here", printable(encoding)),
      "convert it to UTF-8, and the declaration with it");
}

// Reads until it holds this many bytes. Returns false at the end of the file.
bool XmlText::hold(std::size_t bytes) {
  while (held_.size() < bytes) {
    const std::string_view more = stream_.read_bytes();
    if (more.empty()) return false;
    held_ += more;
  }
  return true;
}

void XmlText::begin_file() {
  close();
  encoding_.clear();
  held_.clear();
  converted_ = 0;
  is_declared_ = false;
  hold(kDeclaration);
  for (const Form& form : kForms) {
    if (!held_.starts_with(form.begin)) continue;
    if (form.is_mark) held_.erase(0, form.begin.size());
    if (form.encoding != "UTF-8") open(std::string(form.encoding));
    return;
  }
  const std::string declared = declared_encoding(std::string_view(held_).substr(0, kDeclaration));
  if (declared.empty() || declared == "UTF-8" || declared == "UTF8") return;
  if (is_wide(declared)) {
    log::warn("{} declares the encoding {} and is read as UTF-8, as it begins", stream_.name(),
              declared);
    return;
  }
  open(declared);
  is_declared_ = true;
}

// Whether the text from the first byte beyond ASCII on is UTF-8 instead of the declared encoding.
// Text in another encoding is hardly ever valid UTF-8 by chance.
bool XmlText::is_utf8_after_all() {
  const auto first = std::ranges::find_if(held_, [](char c) { return (c & '\x80') != 0; });
  if (first == held_.end()) return false;
  const auto at = static_cast<std::size_t>(first - held_.begin());
  hold(at + kEvidence);
  is_declared_ = false;
  return is_valid_utf8(whole_characters(std::string_view(held_).substr(at)));
}

std::string_view XmlText::read() {
  text_.clear();
  while (text_.empty()) {
    if (held_.empty() && !hold(1)) return {};
    if (is_declared_ && is_utf8_after_all()) {
      log::warn("{} declares the encoding {}, and its text is UTF-8: it is read as that",
                stream_.name(), encoding_);
      close();
    }
    if (converter_ == kNone) {
      text_ = std::exchange(held_, {});
    } else {
      convert();
    }
  }
  return text_;
}

void XmlText::convert() {
  text_.resize(kConverted);
  char* in = held_.data();
  std::size_t in_left = held_.size();
  char* out = text_.data();
  std::size_t out_left = text_.size();
  const std::size_t status = ::iconv(converter_, &in, &in_left, &out, &out_left);
  const int problem = status == static_cast<std::size_t>(-1) ? errno : 0;
  converted_ += held_.size() - in_left;
  held_.erase(0, held_.size() - in_left);
  text_.resize(text_.size() - out_left);
  // A character that is cut at the end waits for more bytes.
  const bool is_cut = problem == EINVAL && text_.empty() && !hold(held_.size() + 1);
  if (problem != EILSEQ && !is_cut) return;
  if (!text_.empty()) return;  // the next call comes here again
  throw_failure(stream_.name(),
                fmt::format("is no {}: malformed from byte {} on", encoding_, converted_));
}

void AttributeCount::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (place_ == Place::text) {
      const std::size_t next = std::min(bytes.find('<'), bytes.size());
      line_ += std::ranges::count(bytes.substr(0, next), '\n');
      bytes.remove_prefix(next);
      if (bytes.empty()) return;
    }
    if (bytes.front() == '\n') ++line_;
    take(bytes.front());
    bytes.remove_prefix(1);
  }
}

void AttributeCount::skip_to(const char* end) {
  place_ = Place::skipped;
  end_ = end;
  matched_.clear();
}

// The number of words in declarations is at most the number of spaces before them.
void AttributeCount::count_word(char c) {
  if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
  if (++declared_ <= kMostDeclared) return;
  throw_failure(fmt::format("{}:{}", file_, line_),
                fmt::format("has more than {} words in declarations (<!...>)", kMostDeclared),
                "leave them out: nothing is read of them");
}

void AttributeCount::take_of_declaration(char c) {
  if (!matched_.empty() || c == '-' || c == '[') {
    matched_ += c;
    if (matched_ == "--") return skip_to("-->");
    if (matched_ == "[CDATA[") return skip_to("]]>");
    if (matched_ == "-" || std::string_view("[CDATA[").starts_with(matched_)) return;
    matched_.clear();
  }
  count_word(c);
  if (c == '"' || c == '\'') {
    quote_ = c;
    place_ = Place::declared_text;
  } else if (c == '<') {  // a declaration inside of one
    place_ = Place::open;
  } else if (c == '>') {
    place_ = Place::text;
  }
}

void AttributeCount::take(char c) {
  switch (place_) {
    case Place::text:
      place_ = Place::open;
      return;
    case Place::open:
      matched_.clear();
      count_ = 0;
      if (c == '?') return skip_to("?>");
      place_ = c == '!' ? Place::declaration : Place::tag;
      return;
    case Place::declaration:
      return take_of_declaration(c);
    case Place::declared_text:
      count_word(c);
      if (c == quote_) place_ = Place::declaration;
      return;
    case Place::skipped:
      matched_ += c;
      while (!std::string_view(end_).starts_with(matched_)) matched_.erase(0, 1);
      if (matched_ == end_) place_ = Place::text;
      return;
    case Place::tag:
      if (c == '>') place_ = Place::text;
      if (c != '"' && c != '\'') return;
      // Each attribute has a value in quotes.
      quote_ = c;
      place_ = Place::quoted;
      if (++count_ <= kMost) return;
      throw_failure(fmt::format("{}:{}", file_, line_),
                    fmt::format("has a tag with more than {} attributes", kMost),
                    "no translation memory has: is it one?");
    case Place::quoted:
      if (c == quote_) place_ = Place::tag;
      return;
  }
}

}  // namespace roformer
