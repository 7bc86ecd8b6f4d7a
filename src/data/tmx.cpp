#include <fmt/format.h>
#include <libxml/xmlreader.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <memory>
#include <optional>

#include "base/error.h"
#include "data/corpus_stream.h"
#include "data/sentence_pairs.h"
#include "data/xml_text.h"

namespace roformer {
namespace {

constexpr std::uint64_t kProgressUnits = 1024;
// Longer texts are cut; the rules decide about them.
constexpr std::size_t kLongestText = std::size_t{1} << 20;

// Hands the text of a stream to the parser. Its exceptions may not pass through C.
struct Feed {
  CorpusStream stream;
  XmlText text{stream};
  std::optional<AttributeCount> attributes;  // of the file
  std::string_view block;
  std::exception_ptr problem;

  explicit Feed(const std::filesystem::path& path) : stream(path) {}

  void begin_file() {
    text.begin_file();
    attributes.emplace(stream.name());
    block = {};
  }

  int take(char* out, int room) noexcept {
    try {
      if (block.empty()) {
        block = text.read();
        attributes->feed(block);
      }
    } catch (...) {
      problem = std::current_exception();
      return -1;
    }
    const std::size_t size = std::min(block.size(), static_cast<std::size_t>(room));
    block.copy(out, size);
    block.remove_prefix(size);
    return static_cast<int>(size);
  }
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  return result;
}

// How well a unit's language fits the requested one: 2 the same, 1 the same except for the region,
// 0 no match.
int fit(const std::string& found, const std::string& wanted) {
  if (found == wanted) return 2;
  return found.substr(0, found.find('-')) == wanted.substr(0, wanted.find('-')) ? 1 : 0;
}

class TmxReader {
 public:
  TmxReader(const std::filesystem::path& path, const PairLanguages& languages, PairSink& sink)
      : feed_(path), wanted_{lower(languages.source), lower(languages.target)}, sink_(sink) {}

  PairReading read() {
    while (feed_.stream.next_file()) read_file();
    return reading_;
  }

 private:
  // A text of the unit, and how well its language fits each side (0: not at all).
  struct Variant {
    std::string text;
    int fits[2] = {0, 0};
  };

  Feed feed_;
  std::string wanted_[2];
  PairSink& sink_;
  PairReading reading_;
  std::string error_;
  int error_line_ = 0;

  std::vector<Variant> variants_;  // of the unit, those that fit a side
  std::string language_;           // of the variant
  std::string segment_;
  bool in_segment_ = false;
  int codes_ = 0;  // native codes around the text

  static void note_error(void* self, xmlError* error) {
    auto& reader = *static_cast<TmxReader*>(self);
    if (!reader.error_.empty() || error->level < XML_ERR_ERROR) return;
    reader.error_ = error->message == nullptr ? "damaged" : error->message;
    while (reader.error_.ends_with('\n')) reader.error_.pop_back();
    reader.error_line_ = error->line;
  }

  void read_file() {
    feed_.begin_file();
    // Replaces no entity, opens no other file and keeps the parser's limits. The text is already
    // UTF-8, whatever the file declares.
    const std::unique_ptr<xmlTextReader, decltype(&xmlFreeTextReader)> reader(
        xmlReaderForIO([](void* feed, char* out,
                          int room) { return static_cast<Feed*>(feed)->take(out, room); },
                       nullptr, &feed_, feed_.stream.name().c_str(), nullptr,
                       XML_PARSE_NONET | XML_PARSE_IGNORE_ENC),
        &xmlFreeTextReader);
    ROFORMER_ASSERT(reader != nullptr);
    xmlTextReaderSetStructuredErrorHandler(
        reader.get(), reinterpret_cast<xmlStructuredErrorFunc>(&TmxReader::note_error), this);
    int status = 0;
    while ((status = xmlTextReaderRead(reader.get())) == 1) node(*reader);
    if (feed_.problem) std::rethrow_exception(feed_.problem);
    if (status != 0 || !error_.empty()) {
      throw_failure(fmt::format("{}:{}", feed_.stream.name(), error_line_),
                    "is not valid XML: " + error_);
    }
  }

  void node(xmlTextReader& reader) {
    const int type = xmlTextReaderNodeType(&reader);
    if (type == XML_READER_TYPE_TEXT || type == XML_READER_TYPE_CDATA ||
        type == XML_READER_TYPE_SIGNIFICANT_WHITESPACE) {
      if (!in_segment_ || codes_ > 0) return;
      const xmlChar* const value = xmlTextReaderConstValue(&reader);
      if (value == nullptr) return;
      const std::string_view text = reinterpret_cast<const char*>(value);
      segment_ += text.substr(0, kLongestText - std::min(segment_.size(), kLongestText));
      return;
    }
    const xmlChar* const local = xmlTextReaderConstLocalName(&reader);
    const std::string_view name = local == nullptr ? "" : reinterpret_cast<const char*>(local);
    if (type == XML_READER_TYPE_ENTITY_REFERENCE && in_segment_ && codes_ == 0) {
      throw_failure(
          fmt::format("{}:{}", feed_.stream.name(), xmlTextReaderGetParserLineNumber(&reader)),
          fmt::format("has the entity &{};, and entities are not replaced", name),
          "write the text itself");
    }
    if (type == XML_READER_TYPE_ELEMENT) {
      begin(name, reader);
      if (xmlTextReaderIsEmptyElement(&reader) == 1) end(name);
    } else if (type == XML_READER_TYPE_END_ELEMENT) {
      end(name);
    }
  }

  static bool is_code(std::string_view name) {
    return name == "bpt" || name == "ept" || name == "ph" || name == "it" || name == "ut";
  }

  void begin(std::string_view name, xmlTextReader& reader) {
    if (name == "tu") {
      variants_.clear();
    } else if (name == "tuv") {
      language_.clear();
      // TMX before 1.4 wrote lang without its prefix.
      for (const char* const attribute : {"xml:lang", "lang"}) {
        const std::unique_ptr<xmlChar, decltype(xmlFree)> value(
            xmlTextReaderGetAttribute(&reader, reinterpret_cast<const xmlChar*>(attribute)),
            xmlFree);
        if (value != nullptr && language_.empty()) {
          language_ = lower(reinterpret_cast<const char*>(value.get()));
        }
      }
    } else if (name == "seg") {
      in_segment_ = true;
      codes_ = 0;
      segment_.clear();
    } else if (in_segment_ && is_code(name)) {
      ++codes_;
    }
  }

  void end(std::string_view name) {
    if (in_segment_ && is_code(name)) {
      --codes_;
    } else if (name == "seg") {
      in_segment_ = false;
      const Variant variant{.text = segment_,
                            .fits = {fit(language_, wanted_[0]), fit(language_, wanted_[1])}};
      if (variant.fits[0] > 0 || variant.fits[1] > 0) variants_.push_back(variant);
    } else if (name == "tu") {
      end_unit();
    }
  }

  // The two variants that fit best; the earlier of equals wins. A text is never its own
  // translation, even if its region fits both languages.
  void end_unit() {
    const Variant* source = nullptr;
    const Variant* target = nullptr;
    int best = 0;
    for (const Variant& one : variants_) {
      for (const Variant& other : variants_) {
        if (&one == &other || one.fits[0] == 0 || other.fits[1] == 0) continue;
        const int fits = one.fits[0] + other.fits[1];
        if (fits <= best) continue;
        best = fits;
        source = &one;
        target = &other;
      }
    }
    if (source != nullptr) {
      sink_.pair({.source = source->text, .target = target->text, .page = reading_.pairs++});
      if (reading_.pairs % kProgressUnits == 0) sink_.progress(feed_.stream.raw_bytes());
    } else if (!variants_.empty()) {
      ++reading_.unmatched;
    }
  }
};

}  // namespace

PairReading read_tmx(const std::filesystem::path& path, const PairLanguages& languages,
                     PairSink& sink) {
  return TmxReader(path, languages, sink).read();
}

}  // namespace roformer
