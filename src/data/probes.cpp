#include "data/probes.h"

#include <xxhash.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/random.h"

namespace roformer {
namespace {

constexpr std::int64_t kPasskeyDigits = 4;

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
  ProbeText probe{.text = question + "=" + answer + "\n"};
  for (std::size_t i = question.size() + 1; i < probe.text.size(); ++i) probe.targets.push_back(i);
  return probe;
}

ProbeText copy(std::int64_t size, Random& random) {
  const std::string question = letters(size, random);
  return answered(question, question);
}

ProbeText reverse(std::int64_t size, Random& random) {
  const std::string question = letters(size, random);
  return answered(question, {question.rbegin(), question.rend()});
}

// The key occurs after "#" at some place among the letters.
ProbeText passkey(std::int64_t size, Random& random) {
  std::string key;
  for (std::int64_t i = 0; i < kPasskeyDigits; ++i) key += random_digit(random);
  std::string question = letters(size, random);
  question.insert(random.below(static_cast<std::uint64_t>(size) + 1), "#" + key);
  return answered(question, key);
}

// Lowest digits first, so that carries move in reading direction. The sum has one more digit.
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

// A shuffled word is balanced if it begins after its lowest place (the cycle lemma).
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

// Half of the words are balanced. In the others two brackets of a balanced word are swapped, so
// that counting brackets does not help.
ProbeText dyck(std::int64_t size, Random& random) {
  std::string word = balanced(size, random);
  const bool right = random.below(2) == 0;
  while (!right && is_balanced(word)) {
    const std::uint64_t i = random.below(word.size()), j = random.below(word.size());
    std::swap(word[i], word[j]);
  }
  return answered(word, right ? "y" : "n");
}

// Every byte but a digit, "=" and the line end.
const std::string& recall_keys() {
  static const std::string all = [] {
    std::string keys;
    for (int byte = 0; byte < 256; ++byte) {
      const auto key = static_cast<char>(byte);
      if (key != '=' && key != '\n' && (key < '0' || key > '9')) keys += key;
    }
    return keys;
  }();
  return all;
}

// Writes different keys with a digit each, then all of them in another order. One question per text
// would teach too little in a step, and a small model hardly ever finds keys of two letters.
ProbeText recall(std::int64_t size, Random& random) {
  std::string keys = recall_keys();
  std::vector<std::string> pairs;
  ProbeText probe;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(size); ++i) {
    std::swap(keys[i], keys[i + random.below(keys.size() - i)]);
    pairs.push_back({keys[i], random_digit(random)});
    probe.text += pairs.back();
  }
  probe.text += '=';
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    std::swap(pairs[i], pairs[i + random.below(pairs.size() - i)]);
    probe.text += pairs[i];
    probe.targets.push_back(probe.text.size() - 1);
  }
  probe.text += '\n';
  return probe;
}

// The texts of a kind have per_size * size + rest characters.
struct ProbeForm {
  ProbeKind kind;
  ProbeText (*make)(std::int64_t size, Random& random);
  std::int64_t per_size, rest;
};
constexpr ProbeForm kProbeForms[] = {{ProbeKind::copy, copy, 2, 2},
                                     {ProbeKind::reverse, reverse, 2, 2},
                                     {ProbeKind::passkey, passkey, 1, 2 * kPasskeyDigits + 3},
                                     {ProbeKind::addition, addition, 3, 4},
                                     {ProbeKind::dyck, dyck, 2, 3},
                                     {ProbeKind::recall, recall, 4, 2}};

const ProbeForm& form_of(ProbeKind kind) {
  const auto* const found = std::ranges::find(kProbeForms, kind, &ProbeForm::kind);
  ROFORMER_ASSERT(found != std::end(kProbeForms));
  return *found;
}

}  // namespace

std::int64_t probe_length(ProbeKind kind, std::int64_t size) {
  return form_of(kind).per_size * size + form_of(kind).rest;
}

std::int64_t probe_size(ProbeKind kind, std::int64_t length) {
  const ProbeForm& form = form_of(kind);
  return std::max<std::int64_t>(0, (length - form.rest) / form.per_size);
}

std::int64_t largest_probe(ProbeKind kind) {
  if (kind != ProbeKind::recall) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(recall_keys().size());
}

std::optional<std::int64_t> longest_probe(ProbeKind kind) {
  const std::int64_t size = largest_probe(kind);
  if (size == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return probe_length(kind, size);
}

ProbeText make_probe(ProbeKind kind, std::int64_t size, std::uint64_t key) {
  ROFORMER_ASSERT(size >= 1 && size <= largest_probe(kind));
  Random random(key);
  return form_of(kind).make(size, random);
}

std::uint64_t probe_fingerprint(ProbeKind kind) {
  std::string all;
  for (std::uint64_t key = 0; key < 16; ++key) {
    const ProbeText probe = make_probe(kind, static_cast<std::int64_t>(1 + key), key);
    all += probe.text;
    for (const std::size_t target : probe.targets) all += std::to_string(target) + ' ';
  }
  return XXH3_64bits(all.data(), all.size());
}

}  // namespace roformer
