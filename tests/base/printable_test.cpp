#include "base/printable.h"

#include <cstdio>
#include <string>

#include "base/log.h"
#include "base/progress.h"
#include "catch.h"
#include "has.h"
#include "in_terminal.h"
#include "said.h"

using namespace roformer;

namespace {

// ESC, BEL, a C1 control, a bidi override, an isolate, a line separator and a lone byte of C1.
const std::string kForeign =
    "a\x1b]0;b\x07 \xc2\x9b"
    "31m\xe2\x80\xae"
    "c\xe2\x81\xa6\xe2\x80\xa8\x9b";

bool is_clean(const std::string& text) {
  for (const char* bad :
       {"\x1b", "\x07", "\xc2\x9b", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x80\xa8"}) {
    if (has(text, bad)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("what a terminal obeys is a question mark, and everything else is as it was") {
  CHECK(clean_text(kForeign) == "a?]0;b? ?31m?c???");
  CHECK(clean_text("a\n\tb\r\x7f") == "a\n\tb??");
  CHECK(clean_line("a\n\tb") == "a??b");
  for (const std::string text :
       {"", "plain ~", "äöü 中文 Ελλ עברית", "e\xcc\x81", "👩‍👧", "\xc2\xa0"}) {
    CHECK(clean_text(text) == text);
  }
  // Overlong forms, halves of pairs, cut characters, bytes of no character.
  CHECK(clean_text("\xc0\x9b") == "??");
  CHECK(clean_text("\xe0\x82\x9b") == "???");
  CHECK(clean_text("\xed\xa0\x80") == "???");
  CHECK(clean_text("\xf4\x90\x80\x80") == "????");
  CHECK(clean_text("a\xe4\xb8") == "a??");
}

TEST_CASE("a name in a message is cut at a character, not inside it") {
  CHECK(printable("a\x1b[31mb") == "\"a?[31mb\"");
  std::string text;
  for (int i = 0; i < 81; ++i) text += "中";
  CHECK(printable(text) == '"' + text.substr(0, 240) + "...\"");
  CHECK(printable(text.substr(0, 240)) == '"' + text.substr(0, 240) + '"');
}

TEST_CASE("for YAML controls have names, and are read back") {
  CHECK(escaped_controls(kForeign.substr(0, kForeign.size() - 1)) ==
        "a\\u001b]0;b\\u0007 \\u009b31m\\u202ec\\u2066\\u2028");
  CHECK(escaped_controls("a\n\t\xff ä") == "a\\n\\t\xff ä");
}

TEST_CASE("what is logged reaches no terminal and no log file with commands in it") {
  const std::string logged = said([] { log::warn("{} and\nmore", kForeign); });
  CHECK(is_clean(logged));
  CHECK(has(logged, "a?]0;b? ?31m?c??? and\nmore"));
  if (!terminals_exist()) return;
  const std::string shown = in_terminal(80, [] {
    log::initialize();
    log::warn("{}", kForeign);
    StatusLine line;
    line.show(kForeign);
    line.clear();
    ProgressBar(kForeign, 2, "B").finish(2);
  });
  CHECK_FALSE(has(shown, "\x1b]0;"));
  CHECK_FALSE(has(shown, "\xc2\x9b"));
  CHECK_FALSE(has(shown, "\xe2\x80\xae"));
  CHECK(has(shown, "a?]0;b? ?31m?c"));
}

TEST_CASE("line breaks of a text become spaces") {
  CHECK(as_one_line("a\nb\r\nc") == "a b  c");
}
