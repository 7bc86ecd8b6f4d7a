// Chat templates beside transformers; the cases are made by make_chat_fixtures.py.
#include "text/chat_template.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "has.h"

using namespace roformer;

namespace {

std::string written(const std::string& source, const std::vector<ChatMessage>& messages = {
                                                   {.role = "user", .content = "Hello"}}) {
  return render_chat({.source = source, .begin = "<s>", .end = "</s>"}, messages);
}

std::string chat_refusal(const std::string& source) {
  try {
    return "none, but " + written(source);
  } catch (const Error& error) {
    return error.what();
  }
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace

TEST_CASE("Conversations are written as transformers writes them") {
  const auto cases =
      nlohmann::json::parse(read_file(std::filesystem::path(FIXTURES) / "chat_cases.json"));
  REQUIRE(cases.size() > 90);
  for (const auto& one : cases) {
    std::vector<ChatMessage> messages;
    for (const auto& message : one["messages"]) {
      messages.push_back({.role = message["role"], .content = message["content"]});
    }
    const std::string source = one["source"];
    CAPTURE(one["name"].get<std::string>(), source);
    if (one.contains("text")) {
      CHECK(written(source, messages) == one["text"].get<std::string>());
    } else {
      CHECK_THROWS_WITH(written(source, messages),
                        Catch::Contains(one["error"].get<std::string>()));
    }
  }
}

TEST_CASE("What a template has beyond the part that is computed is refused with its line") {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"a\nb{% macro f() %}{% endmacro %}", "chat template:2: has the statement \"macro\""},
      {"{% include 'x' %}", "statement \"include\""},
      {"{{ messages | map('upper') }}", "the filter \"map\" of a list"},
      {"\n\n{{ 'a' | wordwrap }}", "chat template:3: has the filter \"wordwrap\""},
      {"{{ 'a' is lower }}", "the test \"lower\""},
      {"{{ 'a'.encode() }}", "calls \"encode\" of a text"},
      {"{{ open('x') }}", "the function \"open\""},
      {"{{ ''.__class__ }}{{ ''.__class__.x }}", "looks into an undefined value"},
      {"{{ {'a': 1} }}", "a mapping {...}"},
      {"{{ (1, 2) }}", "a tuple"},
      {"{{ 1.5 }}", "a number with a point"},
      {"{{ messages }}", "writes a list as text"},
      {"{{ 'a' + 1 }}", "computes a text + a number"},
      {"{{ nothing + 'a' }}", "computes an undefined value + a text"},
      {"{{ nothing.x }}", "looks into an undefined value"},
      {"{{ 1 < 'a' }}", "compares a number and a text"},
      {"{{ 1 // 0 }}", "divides by"},
      {"{{ 9223372036854775807 + 1 }}", "too large"},
      {"{{ 99999999999999999999 }}", "has \"99999999999999999999\""},
      {"{{ 1 < 2 < 3 }}", "three values at once"},
      {"{{ 'a' ", "a tag has no end \"}}\""},
      {"{{ 'a }}", "quotes has no end"},
      {"{# a", "a comment has no end"},
      {"{% if true %}", "\"if\" has no \"endif\""},
      {"{% endif %}", "ends nothing"},
      {"{{ ! }}", "has \"!\" in an expression"},
      {"{{ 'a' 1 }}", "where \"}}\" is wanted"},
      {"{{ messages[0 }}", "a tag has no end"},
      {"{{ messages[0 1] }}", "where \"]\" is wanted"},
      {"{% set a, b = [1, 2] %}", "where \"%}\" is wanted"},
      {"{% for a, b in [1] %}{% endfor %}", "takes a number apart"},
      {"{% for a in 3 %}{% endfor %}", "goes through a number"},
      {"{% set messages.x = 1 %}", "no namespace"},
      {"{{ 'a' | tojson(indent=4) }}", "arguments of tojson"},
  };
  for (const auto& [source, words] : refused) {
    CAPTURE(source, words);
    const std::string message = chat_refusal(source);
    CHECK(has(message, words));
    CHECK(has(message, "chat template:"));
  }
  CHECK_NOTHROW(check_chat({.source = "{{ 'a' | wordwrap }}"}));
  CHECK_THROWS_AS(check_chat({.source = "{% macro f() %}{% endmacro %}"}), Error);
}

TEST_CASE("Bytes that are no UTF-8 are refused in a template and replaced in a message") {
  CHECK(has(chat_refusal("\xff{{ 1 }}"), "is not valid UTF-8"));
  CHECK(written("{{ messages[0].content | tojson }}", {{.role = "user", .content = "a\xff"}}) ==
        "\"a\uFFFD\"");
}

TEST_CASE("A template of a stranger can neither hang nor fill the memory") {
  CHECK(has(chat_refusal("{{ " + repeated("(", 100'000) + "1" + repeated(")", 100'000) + " }}"),
            "nests too deeply"));
  CHECK(has(chat_refusal("{{ 1" + repeated(" + 1", 100'000) + " }}"), "nests too deeply"));
  CHECK(has(chat_refusal("{{ 'a'" + repeated(" | trim", 100'000) + " }}"), "nests too deeply"));
  CHECK(has(chat_refusal("{{ " + repeated("not ", 100'000) + "1 }}"), "nests too deeply"));
  CHECK(has(chat_refusal("{{ " + repeated("-", 100'000) + "1 }}"), "nests too deeply"));
  CHECK(has(chat_refusal(repeated("{% if true %}", 100'000)), "nests too deeply"));
  CHECK(has(chat_refusal("{% set n = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(60) %}"
                         "{% set n.x = n.x + n.x %}{% endfor %}"),
            "more than 16 MiB"));
  CHECK(has(chat_refusal("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}"
                         "{% endfor %}"),
            "too many steps"));
  CHECK(has(chat_refusal("{{ range(1000000000) | length }}"), "a range that is too long"));
  CHECK(
      has(chat_refusal("{% for a in range(9999) %}{{ '" + repeated("a", 9999) + "' }}{% endfor %}"),
          "more than 16 MiB"));
}
