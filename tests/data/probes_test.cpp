// Every answer against its question, worked out another way than it was made.
#include "data/probes.h"

#include <algorithm>
#include <map>

#include "catch.h"
#include "config/words.h"

using namespace roformer;

namespace {

// Of an answer that has more than its targets the rest is given.
std::string answer_to(ProbeKind kind, const std::string& question, const std::string& given) {
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
      std::map<std::string, std::string> values;
      for (std::size_t i = 0; i < question.size(); i += 2) {
        values[question.substr(i, 1)] = question[i + 1];
      }
      CHECK(values.size() == question.size() / 2);  // no key twice
      std::string answer;
      for (std::size_t i = 0; i < given.size(); i += 2) {
        const std::string key = given.substr(i, 1);
        answer += key + values.at(key);
        values.erase(key);  // none is asked twice
      }
      return answer;
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
      REQUIRE(probe.text.back() == '\n');
      const std::size_t begin = probe.text.find('=') + 1;
      const std::string answer = probe.text.substr(begin, probe.text.size() - begin - 1);
      REQUIRE(answer == answer_to(kind, probe.text.substr(0, begin - 1), answer));
      std::vector<std::size_t> targets;
      if (kind == ProbeKind::recall) {
        for (std::size_t i = begin + 1; i < probe.text.size(); i += 2) targets.push_back(i);
      } else {
        for (std::size_t i = begin; i < probe.text.size(); ++i) targets.push_back(i);
      }
      CHECK(probe.targets == targets);
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
  CHECK(largest_probe(ProbeKind::recall) == 244);
}

TEST_CASE("questions of a kind have a fingerprint of their own") {
  std::map<std::uint64_t, int> fingerprints;
  for (std::size_t i = 0; i < Words<ProbeKind>::texts.size(); ++i) {
    ++fingerprints[probe_fingerprint(static_cast<ProbeKind>(i))];
  }
  CHECK(fingerprints.size() == Words<ProbeKind>::texts.size());
  CHECK(probe_fingerprint(ProbeKind::copy) == probe_fingerprint(ProbeKind::copy));
}
