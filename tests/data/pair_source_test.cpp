#include "data/sentence_pairs.h"

#include <fmt/format.h>

#include <algorithm>

#include "catch.h"
#include "data/line_reader.h"
#include "has.h"
#include "packing.h"
#include "pair_fixture.h"
#include "said.h"
#include "temporary_folder.h"
#include "text/utf8.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

const PairLanguages kPairLanguages{.source = "en", .target = "de"};

CollectingPairs read(const PairSource& source, PairReading* reading = nullptr) {
  CollectingPairs sink;
  const PairReading result = read_pairs(source, kPairLanguages, sink);
  if (reading != nullptr) *reading = result;
  return sink;
}

PairSource one_file(const fs::path& path, const std::string& text) {
  write_text(path, text);
  return {.format = guess_pair_format(path), .source = path, .target = {}};
}

}  // namespace

TEST_CASE("Two files are read line by line, whatever ends their lines") {
  const TemporaryFolder folder;
  write_text(folder.path / "a.en", "\xef\xbb\xbfone\r\n\r\nthree\xe2\x80\xa8still three\n");
  write_text(folder.path / "a.de", "eins\nzwei\ndrei");
  const CollectingPairs sink =
      read({.source = folder.path / "a.en", .target = folder.path / "a.de"});
  CHECK(sink.pairs ==
        TextPairs{{"one", "eins"}, {"", "zwei"}, {"three\xe2\x80\xa8still three", "drei"}});
  CHECK(sink.pages == std::vector<std::uint64_t>{0, 1, 2});
}

TEST_CASE("Compressed files are read like plain ones") {
  const fs::path fixtures = FIXTURES;
  const CollectingPairs sink =
      read({.source = fixtures / "compressed.txt.gz", .target = fixtures / "compressed.txt.xz"});
  REQUIRE_FALSE(sink.pairs.empty());
  for (const auto& [source, target] : sink.pairs) CHECK(source == target);
  CHECK(guess_pair_format("x.tmx.gz") == PairFormat::tmx);
  CHECK(guess_pair_format("x.tsv.xz") == PairFormat::tsv);
  CHECK(guess_pair_format("x.jsonl") == PairFormat::jsonl);
  CHECK(guess_pair_format("X.TSV") == PairFormat::tsv);
  CHECK(guess_pair_format("x.tsv.GZ") == PairFormat::tsv);
  CHECK(guess_pair_format("x.TMX.Xz") == PairFormat::tmx);
  CHECK(guess_pair_format("train.en") == PairFormat::aligned);
  CHECK_THROWS_AS(guess_pair_format("pairs.csv.gz"), Error);
  CHECK(guess_pair_format(fixtures) == PairFormat::libreoffice_help);
}

TEST_CASE("Files that do not match in their number of lines are named with the line") {
  const TemporaryFolder folder;
  write_text(folder.path / "a.en", "1\n2\n3\n4\n5\n");
  write_text(folder.path / "a.de", "1\n2\n3\n");
  const std::string shorter = (folder.path / "a.de").string();
  const std::string longer = (folder.path / "a.en").string();
  const PairSource source{.source = longer, .target = shorter};
  CHECK(error_of([&] {
          read(source);
        }).starts_with(shorter + ":4: the file ends after 3 lines, " + longer + " has 5"));
  const PairSource turned{.source = shorter, .target = longer};
  CHECK(error_of([&] { read(turned); }).starts_with(shorter + ":4: "));
  write_text(folder.path / "empty", "");
  CHECK(error_of([&] {
          read({.source = folder.path / "empty", .target = folder.path / "empty"});
        }).find("holds no pair") != std::string::npos);
}

TEST_CASE("A TSV has two columns") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "a.tsv";
  CHECK(read(one_file(path, "one\teins\n\tzwei\n")).pairs ==
        TextPairs{{"one", "eins"}, {"", "zwei"}});
  CHECK(error_of([&] {
          read(one_file(path, "one\teins\ntwo\n"));
        }).starts_with(path.string() + ":2: has 1 column, wanted 2"));
  CHECK(error_of([&] { read(one_file(path, "a\tb\tc\n")); }).find(":1: has 3 columns") !=
        std::string::npos);
}

TEST_CASE("a line that is longer than any sentence is refused and not cut") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "a.tsv";
  CHECK(error_of([&] {
          read(one_file(path, "one\teins\n" + std::string(1 << 21, 'a') + "\tb\n"));
        }).starts_with(path.string() + ":2: is longer than 1048576 bytes"));
}

TEST_CASE("JSON lines have a translation object, or are one") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "a.jsonl";
  CHECK(read(one_file(path,
                      "{\"id\": 1, \"translation\": {\"de\": \"eins\\n\", \"en\": \"one\"}}\n"
                      "{\"en\": \"two\", \"de\": \"zwei\", \"fr\": 2}\n"))
            .pairs == TextPairs{{"one", "eins\n"}, {"two", "zwei"}});
  CHECK(error_of([&] {
          read(one_file(path, "{\"translation\": {\"en\": \"one\"}}\n"));
        }).starts_with(path.string() + ":1: has no text \"de\""));
  CHECK(error_of([&] {
          read(one_file(path, "{\"en\": \"a\", \"de\": \"b\"}\n[1]\n"));
        }).starts_with(path.string() + ":2: is a list of 1, wanted an object"));
}

TEST_CASE("pairs are read from JSON lines as other programs write them") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "a.jsonl";
  const std::string lines =
      "{\"en\": \"one\", \"de\": \"eins\", \"score\": NaN}\n"
      "{\"en\": \"caf\xe9\", \"de\": \"\\ud83d\"}\n\n";
  struct Replaced : PairSink {
    std::vector<std::uint64_t> counts;
    void pair(const SentencePair& pair) override { counts.push_back(pair.replaced); }
  } replaced;
  read_pairs(one_file(path, lines), kPairLanguages, replaced);
  CHECK(replaced.counts == std::vector<std::uint64_t>{0, 2});
  CHECK(read(one_file(path, lines)).pairs ==
        TextPairs{{"one", "eins"}, {"caf\xef\xbf\xbd", "\xef\xbf\xbd"}});
  PairSource broken = one_file(path, lines + "{\"en\": \"a\", \"en\": \"b\", \"de\": \"c\"}\n");
  CHECK(error_of([&] { read(broken); }).starts_with(path.string() + ":4: names \"en\" twice"));
  broken.skip_broken = true;
  CHECK(read(broken).pairs.size() == 2);
  CHECK(error_of([&] {
          read(one_file(path, "{\"en\": NaN, \"de\": \"b\"}\n"));
        }).starts_with(path.string() + ":1: has no text \"en\": it is null"));
}

TEST_CASE("empty lines end a TSV, and before other lines are no pairs") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "a.tsv";
  CHECK(read(one_file(path, "one\teins\n\n\n")).pairs.size() == 1);
  CHECK(error_of([&] {
          read(one_file(path, "one\teins\n\n\ntwo\tzwei\n"));
        }).starts_with(path.string() + ":2: has 1 column, wanted 2"));
}

TEST_CASE("A translation memory is read unit by unit") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "a.tmx";
  const std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<!DOCTYPE tmx SYSTEM \"tmx14.dtd\">\n"
      "<tmx version=\"1.4\"><header srclang=\"en\"/><body>\n"
      "<tu><tuv xml:lang=\"EN-us\"><seg>Press &lt;OK&gt; <bpt i=\"1\">{b}</bpt>now"
      "<ept i=\"1\">{/b}</ept> &amp; <hi>here</hi></seg></tuv>\n"
      "<tuv xml:lang=\"de_DE\"><note>no text</note><seg>Jetzt <![CDATA[<hier>]]></seg></tuv></tu>\n"
      "<tu><tuv xml:lang=\"de\"><seg>nur deutsch</seg></tuv>"
      "<tuv xml:lang=\"fr\"><seg>fr</seg></tuv></tu>\n"
      "<tu><tuv lang=\"en-GB\"><seg>British</seg></tuv><tuv lang=\"en\"><seg>plain</seg></tuv>"
      "<tuv lang=\"de\"><seg/></tuv></tu>\n"
      "<tu><tuv xml:lang=\"fr\"><seg>rien</seg></tuv></tu>\n"
      "</body></tmx>\n";
  PairReading reading;
  const CollectingPairs sink = read(one_file(path, text), &reading);
  CHECK(sink.pairs == TextPairs{{"Press <OK> now & here", "Jetzt <hier>"}, {"plain", ""}});
  CHECK(reading.pairs == 2);
  CHECK(reading.unmatched == 1);

  CHECK(error_of([&] {
          read(one_file(path, text.substr(0, 400)));
        }).starts_with(path.string() + ":6: is not valid XML: "));
  CHECK(error_of([&] {
          read(one_file(path, "<tmx><body>\n</tu>"));
        }).starts_with(path.string() + ":2: is not valid XML: "));
  const std::string french = "<tmx><tu><tuv xml:lang=\"en\"><seg>a</seg></tuv></tu></tmx>";
  CHECK(error_of([&] {
          read(one_file(path, french));
        }).find("it has 1 texts in one of these languages only") != std::string::npos);
  // A text of one region fits its language's other regions, and is never its own translation.
  const auto regions = [&](const char* first, const char* second) {
    const PairSource source =
        one_file(path, fmt::format("<tmx><tu><tuv xml:lang=\"{}\"><seg>a</seg></tuv><tuv "
                                   "xml:lang=\"{}\"><seg>b</seg></tuv></tu>"
                                   "<tu><tuv xml:lang=\"pt-PT\"><seg>c</seg></tuv><tuv "
                                   "xml:lang=\"pt-BR\"><seg>d</seg></tuv></tu></tmx>",
                                   first, second));
    CollectingPairs sink;
    read_pairs(source, {.source = "pt-BR", .target = "pt-PT"}, sink);
    return sink.pairs;
  };
  CHECK(regions("pt-BR", "en") == TextPairs{{"d", "c"}});
  CHECK(regions("pt-BR", "pt") == TextPairs{{"a", "b"}, {"d", "c"}});
  // Entities of the file's own are not expanded, so they cannot grow; nor do they vanish.
  const std::string bomb =
      "<!DOCTYPE tmx [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>"
      "<tmx><tu><tuv xml:lang=\"en\"><seg>x&b;</seg></tuv>"
      "<tuv xml:lang=\"de\"><seg>y</seg></tuv></tu></tmx>";
  CHECK(error_of([&] {
          read(one_file(path, bomb));
        }).starts_with(path.string() + ":1: has the entity &b;"));
}

TEST_CASE("A translation memory is read in the encoding that its bytes have") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "a.tmx";
  const auto tmx = [](const std::string& declaration, const std::string& letters) {
    std::string text = declaration + "<tmx><body>\n";
    for (int i = 0; i < 2000; ++i) {
      text += fmt::format(
          "<tu><tuv xml:lang=\"en\"><seg>green {}</seg></tuv>"
          "<tuv xml:lang=\"de\"><seg>{} {}</seg></tuv></tu>\n",
          i, i < 5 ? "gr" : letters, i);  // ASCII at the beginning
    }
    return text + "</body></tmx>";
  };
  // Into UTF-16 or UTF-32.
  const auto wide = [](std::string_view text, int size, bool big, bool mark) {
    std::u32string all(mark ? U"\ufeff" : U"");
    for (std::size_t at = 0; at < text.size();) all += next_code_point(text, at);
    std::string bytes;
    for (const char32_t c : all) {
      for (int i = 0; i < size; ++i) {
        bytes += static_cast<char>(c >> (8 * (big ? size - 1 - i : i)) & 0xff);
      }
    }
    return bytes;
  };
  const auto declares = [](const char* encoding) {
    return fmt::format("<?xml version=\"1.0\" encoding='{}'?>", encoding);
  };
  const auto has_all = [&](const std::string& text, const std::string& letters) {
    const CollectingPairs sink = read(one_file(path, text));
    REQUIRE(sink.pairs.size() == 2000);
    CHECK(sink.pairs[0].second == "gr 0");
    CHECK(sink.pairs[1999].second == letters + " 1999");
  };
  const std::string green = "grün";
  const std::string latin = "gr\xfcn";
  for (const char* const name : {"UTF-16", "utf-16le", "UTF-8", "ISO-8859-1"}) {
    CAPTURE(name);
    const std::string text = tmx(declares(name), green);
    for (const bool big : {false, true}) {
      has_all(wide(text, 2, big, true), green);
      has_all(wide(text, 2, big, false), green);
      has_all(wide(text, 4, big, true), green);
    }
    // What was converted and declares what it was before.
    const std::string words = said([&] { has_all(text, green); });
    CHECK(has(words, "read as") == (std::string_view(name) != "UTF-8"));
    has_all("\xef\xbb\xbf" + text, green);
  }
  has_all(tmx("", green), green);
  has_all(tmx(declares("ISO-8859-1"), latin), green);
  has_all(tmx(declares("windows-1252"), latin), green);
  has_all(tmx(declares("KOI8-R"), "\xc7\xd2"), "гр");
  const std::string packed = gzipped(wide(tmx(declares("UTF-16"), green), 2, false, true));
  CHECK(read(one_file(folder.path / "b.tmx.gz", packed)).pairs.size() == 2000);

  const auto complaint = [&](const std::string& text) {
    return error_of([&] { read(one_file(path, text)); });
  };
  CHECK(complaint(tmx(declares("nothing-8"), green)) ==
        path.string() +
            ": declares the encoding \"NOTHING-8\", which is not known here (hint: convert "
            "it to UTF-8, and the declaration with it)");
  for (const char* const name : {"UTF-8//IGNORE", "ISO-2022-CN-EXT", "UTF-7", "../x"}) {
    CHECK(has(complaint(tmx(declares(name), green)), "which is not known here"));
  }
  CHECK(has(complaint(tmx(declares("UTF-8"), latin)), "is not valid XML: "));
  const std::string little = wide(tmx(declares("UTF-16"), green), 2, false, true);
  CHECK(has(complaint(little.substr(0, little.size() - 1)), "is no UTF-16LE: malformed"));
  CHECK(has(complaint(std::string(little).replace(1000, 2, "\x01\xdc")), "malformed"));
}

TEST_CASE("A tag with more attributes than any has is refused before it takes long") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "a.tmx";
  const auto attributes = [](int count, const char* quote) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format(" a{0}={1}<{0}>{1}", i, quote);
    std::ranges::replace(text, '<', '(');
    return text;
  };
  const auto unit = [](const std::string& more) {
    return "<tmx>\n<body><!-- it's <a> --><tu" + more +
           "><tuv xml:lang=\"en\"><seg><![CDATA[a'b <i>]]></seg></tuv>"
           "<tuv xml:lang='de'><seg>b</seg></tuv></tu></body></tmx>";
  };
  const auto complaint = [&](const std::string& text) {
    return error_of([&] { read(one_file(path, text)); });
  };
  const std::string begin = path.string();
  CHECK(complaint(unit(attributes(256, "'"))) == "none");
  CHECK(complaint(unit(attributes(257, "'"))) ==
        begin +
            ":2: has a tag with more than 256 attributes (hint: no translation memory has: is "
            "it one?)");
  CHECK(has(complaint(unit(attributes(200'000, "\""))), "more than 256 attributes"));
  // By way of the document type.
  const std::string entity = attributes(2000, "'");
  CHECK(has(complaint("<!DOCTYPE tmx [<!ENTITY e \"> &#60;tu" + entity + "/>\">]>" + unit("")),
            "more than 1024 words in declarations"));
  std::string lists;
  for (int i = 0; i < 400; ++i) lists += fmt::format("<!ATTLIST tu a{} CDATA 'x'>\n", i);
  CHECK(has(complaint("<!DOCTYPE tmx [" + lists + "]>" + unit("")), "words in declarations"));
}

TEST_CASE("Help pages that links out of a folder lead to are left out, on either side") {
  const TemporaryFolder folder;
  const fs::path en = folder.path / "en", de = folder.path / "de";
  write_text(folder.path / "secret.html", "<p id=\"par_id1\">a key</p>");
  write_text(en / "a.html", "<p id=\"par_id1\">one</p>");
  write_text(en / "b.html", "<p id=\"par_id1\">two</p>");
  write_text(de / "a.html", "<p id=\"par_id1\">eins</p>");
  write_text(de / "c.html", "<p id=\"par_id1\">drei</p>");
  fs::create_symlink("../secret.html", de / "b.html");
  fs::create_symlink("../secret.html", en / "c.html");
  PairSource source{.format = PairFormat::libreoffice_help, .source = en, .target = de};
  CHECK(read(source).pairs == TextPairs{{"one", "eins"}});
  source.follow_links = true;
  CHECK(read(source).pairs == TextPairs{{"one", "eins"}, {"two", "a key"}, {"a key", "drei"}});
}

TEST_CASE("The help of two languages is matched by file and paragraph") {
  const TemporaryFolder folder;
  const fs::path en = folder.path / "en" / "text";
  const fs::path de = folder.path / "de" / "text";
  write_text(en / "a" / "1.html",
             "<p id=\"par_id1\">First text</p><p id=\"par_id2\">Only here</p>"
             "<h1 id=\"hd_id3\">Title</h1><p id=\"par_id1\">Again</p>");
  write_text(de / "a" / "1.html",
             "<h1 id=\"hd_id3\">Titel</h1><p id=\"par_id1\">Erster Text</p>"
             "<p id=\"par_id9\">Nur hier</p>");
  write_text(en / "b.html", "<p id=\"par_id1\">No page there</p>");
  write_text(en / "c.html", "<p id=\"par_id1\">Third</p>");
  write_text(de / "c.html", "<p id=\"par_id1\">Dritter</p>");
  PairReading reading;
  const CollectingPairs sink =
      read({.format = PairFormat::libreoffice_help, .source = en, .target = de}, &reading);
  CHECK(sink.pairs ==
        TextPairs{{"First text", "Erster Text"}, {"Title", "Titel"}, {"Third", "Dritter"}});
  CHECK(sink.pages == std::vector<std::uint64_t>{0, 0, 2});
  CHECK(reading.unmatched == 4);  // "Only here", "Again", "Nur hier", "No page there"
}
