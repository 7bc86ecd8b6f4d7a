#include "metrics/ter.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "metrics/code_points.h"
#include "metrics/edit_rate.h"

namespace roformer {

std::u32string Ter::words_of(std::string_view tokens) {
  return words_.numbers(split_words(tokens));
}

std::vector<double> Ter::row(std::string_view hypothesis,
                             std::span<const std::string_view> references) {
  ROFORMER_ASSERT(!references.empty());
  const auto tokenized = [this](std::string_view line) {
    return joined_words(tokenize_tercom(without_trailing_spaces(line), settings_));
  };
  const std::u32string found = words_of(tokenized(hypothesis));
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  std::size_t lengths = 0;
  for (const std::string_view reference : references) {
    // sacreBLEU tokenizes references twice, which parts the 's of "Jena's, ...".
    const std::u32string wanted = words_of(tokenized(tokenized(reference)));
    best = std::min(best, count_edits(found, wanted));
    lengths += wanted.size();
  }
  return {static_cast<double>(best),
          static_cast<double>(lengths) / static_cast<double>(references.size())};
}

NumpyFloat Ter::score(std::span<const double> sums, SumKind kind) const {
  const bool single = kind == SumKind::single;
  const NumpyFloat edits(sums[0], single);
  const NumpyFloat length(sums[1], single);
  if (length.value > 0) return NumpyFloat(100) * (edits / length);
  return edits.value > 0 ? 100. : 0.;
}

TranslationScore Ter::describe(std::span<const double> sums) const {
  return {.name = name(), .score = score(sums, SumKind::plain).value, .details = ""};
}

std::vector<std::pair<std::string, std::string>> Ter::settings() const {
  const auto yes_or_no = [](bool value) { return value ? "yes" : "no"; };
  return {{"case", settings_.case_sensitive ? "mixed" : "lc"},
          {"tok", "tercom"},
          {"norm", yes_or_no(settings_.normalized)},
          {"punct", yes_or_no(!settings_.no_punctuation)},
          {"asian", yes_or_no(settings_.asian_support)},
          {"version", kSacrebleuVersion}};
}

}  // namespace roformer
