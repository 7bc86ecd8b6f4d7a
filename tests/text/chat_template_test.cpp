// Chat templates beside transformers; the cases are made by make_chat_fixtures.py.
#include "text/chat_template.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "has.h"
#include "temporary_folder.h"

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

double rendering_seconds(const std::string& source, const std::vector<ChatMessage>& messages) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    written(source, messages);
  } catch (const Error&) {
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string template_refusal(const std::filesystem::path& folder, TemplateLink link) {
  try {
    return "none, but " + read_template_file(folder, link);
  } catch (const Error& error) {
    return error.what();
  }
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
  CHECK(has(chat_refusal(repeated("{% if true %}", 50'000)), "nests too deeply"));
  CHECK(has(chat_refusal("{% set n = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(60) %}"
                         "{% set n.x = n.x + n.x %}{% endfor %}"),
            "more than 1 MiB"));
  CHECK(has(chat_refusal("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}"
                         "{% endfor %}"),
            "too many steps"));
  CHECK(has(chat_refusal("{{ range(1000000000) | length }}"), "a range that is too long"));
  CHECK(
      has(chat_refusal("{% for a in range(9999) %}{{ '" + repeated("a", 9999) + "' }}{% endfor %}"),
          "more than 1 MiB"));
  CHECK(has(chat_refusal(std::string((1 << 20) + 1, 'a')), "is larger than 1 MiB"));
}

TEST_CASE("Short templates that ask for much work are refused or done in a moment") {
  // Leaves a text of half a MiB in n.x.
  const std::string large =
      "{% set n = namespace(x='aaaaaaaa', y=[]) %}{% for i in range(16) %}"
      "{% set n.x = n.x + n.x %}{% endfor %}";
  const std::string turns = "{% for i in range(99999) %}";
  const std::vector<std::string> works = {
      "{{ n.x.strip(n.x) | length }}",
      "{{ n.x.strip(n.x + 'b') | length }}",
      "{{ (n.x + 'b') in (n.x + n.x) }}",
      "{{ n.x[:1000] + 'b' in n.x }}",
      "{{ n.x | replace(n.x[:200000] + 'b', '') | length }}",
      "{{ n.x | replace('a', 'bb') | length }}",
      "{{ n.x | replace('a', n.x) | length }}",
      "{{ n.x.split(n.x[:200000] + 'b') | length }}",
      "{{ n.x.split('b') | length }}",
      "{{ n.x.split('a') | length }}",
      "{{ n.x[0] }}",
      "{{ n.x[-1] }}{{ n.x[::-1] | length }}{{ n.x[5:][7:-9] | length }}",
      "{{ n.x" + repeated(" | upper", 30) + " | length }}",
      "{{ n.x" + repeated(" | capitalize", 30) + " | length }}",
      "{{ [n.x" + repeated(", n.x", 1000) + "] | length }}",
      turns + "{{ n.x[0] }}{% endfor %}",
      turns + "{% set a = n.x %}{% endfor %}",
      turns + "{% set a %}{{ n.x }}{% endset %}{% endfor %}",
      turns + "{% if n.x == n.x %}{% endif %}{% endfor %}",
      turns + "{% if n.x.startswith(n.x) %}{% endif %}{% endfor %}",
      turns + "{% if n.x.strip() %}{% endif %}{% endfor %}",
      turns + "{% if n.x | tojson %}{% endif %}{% endfor %}",
      turns + "{% set n.y = n.y + [i] %}{% endfor %}",
      turns + "{% set n.y = [n.y] %}{% endfor %}{{ n.y | tojson }}",
      turns + "{% for a in range(99999) %}{% endfor %}{% endfor %}",
  };
  std::string names = "{% set m = namespace(";
  for (int i = 0; i < 90'000; ++i) names += "a" + std::to_string(i) + "=1,";
  std::vector<std::string> sources = {
      names + ") %}", "{{ " + repeated("+", 30'000'000), "{{ " + repeated("+", 1'000'000),
      repeated("{{ 1" + repeated("+1", 450) + " }}", 1'100),
      repeated("{% generation %}", 90) + repeated("{{ a }}", 140'000)};
  for (const std::string& work : works) sources.push_back(large + work);
  // They take 0.4 seconds at most, and more under a sanitizer.
  const std::string content(1 << 19, 'a');
  for (const std::string& source : sources) {
    CAPTURE(source.substr(0, 300));
    CHECK(rendering_seconds(source, {{.role = "user", .content = content}}) < 3);
  }
}

TEST_CASE("Items and slices of a text count characters") {
  CHECK(written(
            "{% set a = 'aé€😀' %}{{ a[1] }}{{ a[-1] }}{{ a[4] }}{{ a[-5] }}|{{ a[1:3] }}|"
            "{{ a[::-1] }}|{{ a[-2:] }}|{{ a[:-1] }}|{{ a[2:1] }}|{{ a[9:] }}|{{ a[-9:2] }}|"
            "{{ a[2:0:-1] }}|{{ a[9::-1] }}|{{ a[:1:-1] }}|{{ 'ééaéé'.strip('é') }}|"
            "{{ ''[0] }}{{ ''[::-1] }}|{{ [1, 2, 3][::-1] | join }}|{{ [1, 2, 3][1:] | join }}") ==
        "é😀|é€|😀€é"
        "a|€😀|aé€|||aé|€é|😀€é"
        "a|😀€|a||321|23");
}

TEST_CASE("A chat template that is a link is read only where its file is the folder's own") {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const fs::path snapshot = folder.path / "model" / "snapshots" / "1";
  fs::create_directories(snapshot / "inner");
  fs::create_directories(folder.path / "model" / "blobs");
  std::ofstream(folder.path / "secret") << "secret";
  std::ofstream(folder.path / "model" / "blobs" / "0f") << "of the cache";
  std::ofstream(snapshot / "inner" / "file") << "of the folder";
  const fs::path file = snapshot / kChatTemplateFile;
  const auto linked = [&](const fs::path& target, TemplateLink link) {
    fs::remove(file);
    fs::create_symlink(target, file);
    return template_refusal(snapshot, link);
  };
  for (const fs::path& target : {folder.path / "secret", fs::path("../../../secret")}) {
    CHECK(has(linked(target, TemplateLink::refused),
              "is a link to \"" + target.string().substr(0, 9)));
    CHECK(has(linked(target, TemplateLink::inside), "outside the folder and its cache"));
  }
  CHECK(has(linked("inner/file", TemplateLink::refused), "is a link to \"inner/file\""));
  CHECK(linked("inner/file", TemplateLink::inside) == "none, but of the folder");
  CHECK(has(linked("../../blobs/0f", TemplateLink::refused), "is a link to \"../../blobs/0f\""));
  CHECK(linked("../../blobs/0f", TemplateLink::inside) == "none, but of the cache");
  CHECK(has(linked("nothing", TemplateLink::inside), "leads nowhere"));
  // A link of a link, and a cache that is itself a link.
  fs::create_symlink(folder.path / "secret", snapshot / "inner" / "link");
  CHECK(has(linked("inner/link", TemplateLink::inside), "outside the folder and its cache"));
  fs::remove_all(folder.path / "model" / "blobs");
  fs::create_symlink(folder.path, folder.path / "model" / "blobs");
  CHECK(
      has(linked("../../blobs/secret", TemplateLink::inside), "outside the folder and its cache"));
  fs::remove(file);
  std::ofstream(file) << "plain";
  CHECK(template_refusal(snapshot, TemplateLink::refused) == "none, but plain");
  CHECK(template_refusal(snapshot, TemplateLink::inside) == "none, but plain");
}
