// Every answer against its question, worked out another way than it was made.
#include "data/probes.h"

#include <algorithm>
#include <map>

#include "catch.h"
#include "config/words.h"

using namespace roformer;

namespace {

std::string answer_to(ProbeKind kind, const std::string& question) {
  switch (kind) {
    case ProbeKind::copy:
      return question;
    case ProbeKind::reverse:
      return {question.rbegin(), question.rend()};
    case ProbeKind::passkey:
      return question.substr(question.find('#') + 1, 4);
    case ProbeKind::addition: {
      std::string first = question.substr(0, question.find('+'));
      std::string second = question.substr(first.size() + 1);
      const std::size_t digits = first.size() + 1;
      std::reverse(first.begin(), first.end());
      std::reverse(second.begin(), second.end());
      std::string sum = std::to_string(std::stoll(first) + std::stoll(second));
      sum.insert(0, digits - sum.size(), '0');
      return {sum.rbegin(), sum.rend()};
    }
    case ProbeKind::dyck: {
      std::string left = question;  // what is left when all pairs "()" are taken out
      for (std::size_t pair = left.find("()"); pair != std::string::npos; pair = left.find("()")) {
        left.erase(pair, 2);
      }
      return left.empty() ? "y" : "n";
    }
    case ProbeKind::recall: {
      const std::size_t mark = question.find('?');
      std::map<std::string, std::string> values;
      for (std::size_t i = 0; i < mark; i += 3) values[question.substr(i, 2)] = question[i + 2];
      CHECK(values.size() == mark / 3);  // no key twice
      return values.at(question.substr(mark + 1));
    }
  }
  return "";
}

}  // namespace

TEST_CASE("probes have the right answers, the length that is said, and depend on their key alone") {
  for (std::size_t i = 0; i < Words<ProbeKind>::texts.size(); ++i) {
    const auto kind = static_cast<ProbeKind>(i);
    CAPTURE(to_word(kind));
    std::map<std::string, int> answers;
    for (std::uint64_t key = 0; key < 200; ++key) {
      const auto size = static_cast<std::int64_t>(1 + key % 15);
      const ProbeText probe = make_probe(kind, size, key);
      CAPTURE(probe.text);
      REQUIRE(static_cast<std::int64_t>(probe.text.size()) == probe_length(kind, size));
      REQUIRE(probe.text[probe.answer - 1] == '=');
      REQUIRE(probe.text.back() == '\n');
      const std::string answer =
          probe.text.substr(probe.answer, probe.text.size() - probe.answer - 1);
      REQUIRE(answer == answer_to(kind, probe.text.substr(0, probe.answer - 1)));
      ++answers[answer];
      CHECK(make_probe(kind, size, key).text == probe.text);
    }
    CHECK(answers.size() >= 2);
    if (kind == ProbeKind::dyck) CHECK(std::abs(answers["y"] - 100) < 30);
  }
}

TEST_CASE("a length holds the largest probe that fits") {
  for (std::size_t i = 0; i < Words<ProbeKind>::texts.size(); ++i) {
    const auto kind = static_cast<ProbeKind>(i);
    CAPTURE(to_word(kind));
    for (const std::int64_t length : {64, 65, 66, 512}) {
      const std::int64_t size = probe_size(kind, length);
      CHECK(probe_length(kind, size) <= length);
      CHECK(probe_length(kind, size + 1) > length);
    }
    CHECK(probe_size(kind, 3) == 0);
  }
  CHECK(probe_size(ProbeKind::recall, 1 << 20) == 676);
}
