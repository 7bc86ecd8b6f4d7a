#include "data/probes.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace roformer {
namespace {

constexpr std::int64_t kPasskeyDigits = 4;
constexpr std::int64_t kRecallKeys = 26 * 26;  // of two letters, none twice

char random_letter(Random& random) {
  return static_cast<char>('a' + random.below(26));
}

char random_digit(Random& random) {
  return static_cast<char>('0' + random.below(10));
}

std::string letters(std::int64_t count, Random& random) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) text += random_letter(random);
  return text;
}

ProbeText answered(const std::string& question, const std::string& answer) {
  return {.text = question + "=" + answer + "\n", .answer = question.size() + 1};
}

ProbeText copy(std::int64_t size, Random& random, bool reverse) {
  const std::string question = letters(size, random);
  return answered(question, reverse ? std::string(question.rbegin(), question.rend()) : question);
}

// The key stands behind "#" somewhere among the letters.
ProbeText passkey(std::int64_t size, Random& random) {
  std::string key;
  for (std::int64_t i = 0; i < kPasskeyDigits; ++i) key += random_digit(random);
  std::string question = letters(size, random);
  question.insert(random.below(static_cast<std::uint64_t>(size) + 1), "#" + key);
  return answered(question, key);
}

// Lowest digits first, so that a carry goes the way the text does. The sum has a digit more.
ProbeText addition(std::int64_t size, Random& random) {
  std::string first, second, sum;
  int carry = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    first += random_digit(random);
    second += random_digit(random);
    const int digits = (first.back() - '0') + (second.back() - '0') + carry;
    sum += static_cast<char>('0' + digits % 10);
    carry = digits / 10;
  }
  sum += static_cast<char>('0' + carry);
  return answered(first + "+" + second, sum);
}

bool is_balanced(const std::string& brackets) {
  std::int64_t depth = 0;
  for (const char c : brackets) {
    depth += c == '(' ? 1 : -1;
    if (depth < 0) return false;
  }
  return depth == 0;
}

// A shuffled word is balanced from behind its lowest place on (the cycle lemma).
std::string balanced(std::int64_t pairs, Random& random) {
  std::string word = std::string(static_cast<std::size_t>(pairs), '(') +
                     std::string(static_cast<std::size_t>(pairs), ')');
  for (std::size_t i = word.size() - 1; i > 0; --i) std::swap(word[i], word[random.below(i + 1)]);
  std::int64_t depth = 0, lowest = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    depth += word[i] == '(' ? 1 : -1;
    if (depth >= lowest) continue;
    lowest = depth;
    begin = i + 1;
  }
  std::rotate(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(begin), word.end());
  return word;
}

// Half of them are balanced; in the others two brackets of a balanced word have changed places, so
// that counting alone tells nothing.
ProbeText dyck(std::int64_t size, Random& random) {
  std::string word = balanced(size, random);
  const bool right = random.below(2) == 0;
  while (!right && is_balanced(word)) {
    const std::uint64_t i = random.below(word.size()), j = random.below(word.size());
    std::swap(word[i], word[j]);
  }
  return answered(word, right ? "y" : "n");
}

// Keys of two letters with a digit each; one of the keys is asked for.
ProbeText recall(std::int64_t size, Random& random) {
  std::vector<std::int64_t> keys(static_cast<std::size_t>(kRecallKeys));
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i);
  const auto name = [](std::int64_t key) {
    return std::string{static_cast<char>('a' + key / 26), static_cast<char>('a' + key % 26)};
  };
  const std::uint64_t wanted = random.below(static_cast<std::uint64_t>(size));
  std::string question, asked;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(size); ++i) {
    std::swap(keys[i], keys[i + random.below(keys.size() - i)]);
    const std::string pair = name(keys[i]) + random_digit(random);
    question += pair;
    if (i == wanted) asked = pair;
  }
  return answered(question + "?" + asked.substr(0, 2), asked.substr(2));
}

}  // namespace

std::int64_t probe_length(ProbeKind kind, std::int64_t size) {
  switch (kind) {
    case ProbeKind::copy:
    case ProbeKind::reverse:
      return 2 * size + 2;
    case ProbeKind::passkey:
      return size + 1 + 2 * kPasskeyDigits + 2;
    case ProbeKind::addition:
      return 3 * size + 4;
    case ProbeKind::dyck:
      return 2 * size + 3;
    case ProbeKind::recall:
      return 3 * size + 6;
  }
  ROFORMER_ASSERT(false);
  return 0;
}

std::int64_t probe_size(ProbeKind kind, std::int64_t length) {
  const std::int64_t none = probe_length(kind, 0), step = probe_length(kind, 1) - none;
  const std::int64_t size = std::max<std::int64_t>(0, (length - none) / step);
  return kind == ProbeKind::recall ? std::min(size, kRecallKeys) : size;
}

ProbeText make_probe(ProbeKind kind, std::int64_t size, std::uint64_t key) {
  ROFORMER_ASSERT(size >= 1);
  Random random(key);
  switch (kind) {
    case ProbeKind::copy:
      return copy(size, random, /*reverse=*/false);
    case ProbeKind::reverse:
      return copy(size, random, /*reverse=*/true);
    case ProbeKind::passkey:
      return passkey(size, random);
    case ProbeKind::addition:
      return addition(size, random);
    case ProbeKind::dyck:
      return dyck(size, random);
    case ProbeKind::recall:
      return recall(size, random);
  }
  ROFORMER_ASSERT(false);
  return {};
}

}  // namespace roformer
