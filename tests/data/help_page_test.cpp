#include "data/help_page.h"

#include <chrono>

#include "base/error.h"
#include "catch.h"
#include "data/corpus.h"
#include "data/help_page.h"
#include "fixture.h"
#include "temporary_folder.h"

using namespace roformer;

// In the form of a page of LibreOffice's help.
constexpr const char* kPage = R"(<!DOCTYPE html><html lang="en-US"><head>
<meta http-equiv="Content-Type" content="text/html; charset=utf-8"><title>Title</title>
<script>var x = "<p id='par_id1'>no</p>";</script></head>
<body><p dir="auto">Menu</p>
<h1 id="hd_id31" dir="auto">
<a name="x"></a>Positioning&nbsp;Objects</h1>
<table><tr><td><p id="par_id32" class="t">Choose <span class="menuitem">Edit   - <b>Find</b></span>,
 then 1 &lt; 2 &amp; &quot;ä&quot; &#8364;.</p></td></tr></table>
<p id="par_id33"> </p><p id="other">no</p><div id="par_id34">no</div>
<p id="par_idN10" class="x">One<br>two)";

TEST_CASE("A help page yields its paragraphs with ids, cleaned") {
  const std::vector<HelpParagraph> paragraphs = parse_help_page(kPage);
  REQUIRE(paragraphs.size() == 3);
  CHECK(paragraphs[0].id == "hd_id31");
  CHECK(paragraphs[0].text == "Positioning Objects");
  CHECK(paragraphs[1].id == "par_id32");
  CHECK(paragraphs[1].text == "Choose Edit - Find, then 1 < 2 & \"ä\" €.");
  CHECK(paragraphs[2].text == "One two");
}

TEST_CASE("Anything else yields nothing, however odd") {
  CHECK(parse_help_page("").empty());
  CHECK(parse_help_page("plain text").empty());
  CHECK(parse_help_page(std::string("\0\xff<p id=\"par_", 12)).empty());
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<div>";
  CHECK(parse_help_page(deep + "<p id=\"par_id1\">deep</p>").size() <= 1);
}

TEST_CASE("Any number of attributes is read at once, and what looks like a tag is one or none") {
  std::string many;
  for (int i = 0; i < 300'000; ++i) many += " a" + std::to_string(i) + "=1";
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<HelpParagraph> read = parse_help_page(
      "<html" + many + "><body" + many + "><p" + many + " id=par_id1" + many + ">text</p>");
  REQUIRE(read.size() == 1);
  CHECK(read[0].text == "text");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));

  const auto reduced = [](std::string_view html) { return with_one_attribute(html, "id"); };
  CHECK(reduced("<P Class='a>b' ID = \"x\" id=y/>1 < 2<br/></P >") ==
        "<P id=\"x\">1 &lt; 2<br/></P>");
  CHECK(reduced("<p id=a\"b z><!-- <p x> --><?p q?><!x><!DOCTYPE html>") ==
        "<p id=\"a&quot;b\"><!-- --><!DOCTYPE html>");
  CHECK(reduced("<script a>if (a <b) '</p>'</SCRIPT><p a=>x</p") == "<script></SCRIPT><p>x</p>");
  CHECK(reduced("<p a\"=\" b id='\"' c") == "");
  CHECK(reduced("<!DOCTYPE a <b c>x</1>y") == "xy");
  for (const char* const cut : {"<script>a", "<script></", "<script></scrip", "<", "</", "<!", "<p",
                                "<p a", "<p a=", "<p a='", "<!--", "<p/"}) {
    CHECK(reduced(cut).find(" a") == std::string::npos);
  }
}

TEST_CASE("Each help page is a document, and pages without paragraphs are none") {
  const TemporaryFolder folder;
  write_text(folder.path / "a.html", kPage);
  write_text(folder.path / "b.html", "<p>nothing</p>");
  write_text(folder.path / "c" / "d.html", "<h2 id='hd_id1'>Other</h2><p id='par_id2'>One two</p>");
  write_text(folder.path / "notes.txt", "not a page");
  const CorpusOptions options{
      .inputs = {folder.path}, .reader = CorpusReader::libreoffice_help, .remove_repeats = true};
  const std::vector<std::string> documents = documents_of(options);
  REQUIRE(documents.size() == 2);
  CHECK(documents[1] == "Other");
  CHECK_THROWS_WITH(
      documents_of({.inputs = {folder.path / "b.html"}, .reader = CorpusReader::libreoffice_help}),
      (folder.path / "b.html").string() + ": holds no paragraph of LibreOffice's help");
}
