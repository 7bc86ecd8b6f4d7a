#include "metrics/chrf.h"

#include "base/error.h"
#include "metrics/code_points.h"
#include "text/utf8.h"

namespace roformer {
namespace {

constexpr double kEpsilon = 1e-16;

bool is_ascii_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

bool is_one_character(std::string_view word) {
  std::size_t position = 0;
  next_code_point(word, position);
  return position == word.size();
}

// Parts one sign of punctuation from a word: the last one, or else the first.
std::vector<std::string_view> chrf_words(std::string_view line) {
  std::vector<std::string_view> result;
  for (const std::string_view word : split_words(line)) {
    const std::size_t last = word.size() - 1;
    if (is_one_character(word)) {
      result.push_back(word);
    } else if (is_ascii_punctuation(word[last])) {
      result.push_back(word.substr(0, last));
      result.push_back(word.substr(last));
    } else if (is_ascii_punctuation(word[0])) {
      result.push_back(word.substr(0, 1));
      result.push_back(word.substr(1));
    } else {
      result.push_back(word);
    }
  }
  return result;
}

void append_counts(std::vector<double>& row, NgramTrie& ngrams, std::size_t orders,
                   std::u32string_view hypothesis, std::u32string_view reference) {
  ngrams.clear();
  ngrams.add_reference(reference);
  const std::vector<std::int64_t> matches = ngrams.matches(hypothesis);
  for (std::size_t order = 1; order <= orders; ++order) {
    const std::int64_t wanted = ngram_count(reference.size(), order);
    const std::int64_t found = wanted == 0 ? 0 : ngram_count(hypothesis.size(), order);
    for (const std::int64_t count : {found, wanted, matches[order - 1]}) {
      row.push_back(static_cast<double>(count));
    }
  }
}

}  // namespace

Chrf::Chrf(ChrfSettings settings)
    : settings_(settings),
      orders_(static_cast<std::size_t>(settings.character_order + settings.word_order)),
      character_ngrams_(static_cast<std::size_t>(settings.character_order)),
      word_ngrams_(static_cast<std::size_t>(settings.word_order)) {
  ROFORMER_ASSERT(settings.character_order >= 0 && settings.word_order >= 0 && orders_ > 0);
}

std::string Chrf::name() const {
  return "chrF" + std::to_string(settings_.beta) +
         std::string(static_cast<std::size_t>(settings_.word_order), '+');
}

Chrf::Symbols Chrf::symbols(std::string_view line) {
  const std::string lowered = settings_.lowercase ? lower_case(line) : std::string();
  if (settings_.lowercase) line = lowered;
  Symbols result{.characters = to_code_points(line)};
  if (!settings_.whitespace) std::erase_if(result.characters, is_space);
  if (settings_.word_order > 0) result.words = words_.numbers(chrf_words(line));
  return result;
}

std::vector<double> Chrf::row_of(const Symbols& hypothesis, const Symbols& reference) {
  std::vector<double> result;
  result.reserve(width());
  append_counts(result, character_ngrams_, static_cast<std::size_t>(settings_.character_order),
                hypothesis.characters, reference.characters);
  append_counts(result, word_ngrams_, static_cast<std::size_t>(settings_.word_order),
                hypothesis.words, reference.words);
  return result;
}

std::vector<double> Chrf::row(std::string_view hypothesis,
                              std::span<const std::string_view> references) {
  ROFORMER_ASSERT(!references.empty());
  const Symbols found = symbols(hypothesis);
  std::vector<double> best;
  double best_score = -1;
  for (const std::string_view reference : references) {
    std::vector<double> candidate = row_of(found, symbols(reference));
    const double value = score(candidate, SumKind::plain).value;
    if (value > best_score) {
      best_score = value;
      best = std::move(candidate);
    }
  }
  return best;
}

NumpyFloat Chrf::score(std::span<const double> sums, SumKind kind) const {
  const bool single = kind == SumKind::single;
  const auto factor = static_cast<double>(settings_.beta * settings_.beta);
  NumpyFloat smoothed = 0;
  NumpyFloat precisions = 0;
  NumpyFloat recalls = 0;
  double orders = 0;  // that both sides have n-grams of
  for (std::size_t i = 0; i < orders_; ++i) {
    const NumpyFloat hypothesis(sums[3 * i], single);
    const NumpyFloat reference(sums[3 * i + 1], single);
    const NumpyFloat matches(sums[3 * i + 2], single);
    const NumpyFloat precision = hypothesis.value > 0 ? matches / hypothesis : kEpsilon;
    const NumpyFloat recall = reference.value > 0 ? matches / reference : kEpsilon;
    const NumpyFloat denominator = NumpyFloat(factor) * precision + recall;
    smoothed = smoothed + (denominator.value > 0
                               ? NumpyFloat(1 + factor) * precision * recall / denominator
                               : NumpyFloat(kEpsilon));
    if (hypothesis.value > 0 && reference.value > 0) {
      precisions = precisions + precision;
      recalls = recalls + recall;
      ++orders;
    }
  }
  if (settings_.epsilon_smoothing) {
    return NumpyFloat(100) * smoothed / NumpyFloat(static_cast<double>(orders_));
  }
  if (orders == 0) return 0;
  precisions = precisions / orders;
  recalls = recalls / orders;
  if ((precisions + recalls).value == 0) return 0;
  return NumpyFloat(100) * (NumpyFloat(1 + factor) * precisions * recalls /
                            (NumpyFloat(factor) * precisions + recalls));
}

std::vector<std::pair<std::string, std::string>> Chrf::settings() const {
  return {{"case", settings_.lowercase ? "lc" : "mixed"},
          {"eff", settings_.epsilon_smoothing ? "no" : "yes"},
          {"nc", std::to_string(settings_.character_order)},
          {"nw", std::to_string(settings_.word_order)},
          {"space", settings_.whitespace ? "yes" : "no"},
          {"version", kSacrebleuVersion}};
}

}  // namespace roformer
