#include "metrics/ter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "metrics/code_points.h"

namespace roformer {
namespace {

// Tercom's limits, the last one sacreBLEU's.
constexpr std::int64_t kMaxShiftWords = 10;
constexpr std::int64_t kMaxShiftDistance = 50;
constexpr std::int64_t kBeamWidth = 25;
constexpr std::int64_t kMaxShiftCandidates = 1000;

constexpr std::int32_t kInfinite = 1 << 29;

enum class Edit : char { keep, substitute, insert, erase, unknown };

// Matrix of distances between the beginnings of a hypothesis and of the reference. Orders of one
// hypothesis share its rows up to the first word that differs.
class EditMatrix {
 public:
  EditMatrix(std::size_t hypothesis_length, std::u32string_view reference)
      : length_(static_cast<std::int64_t>(hypothesis_length)),
        reference_(reference),
        columns_(reference.size() + 1),
        ratio_(hypothesis_length == 0 ? 1
                                      : static_cast<double>(reference.size()) / hypothesis_length),
        beam_(kBeamWidth < ratio_ / 2
                  ? static_cast<std::int64_t>(std::ceil(ratio_ / 2 + kBeamWidth))
                  : kBeamWidth),
        distances_((hypothesis_length + 1) * columns_),
        edits_((hypothesis_length + 1) * columns_),
        previous_(columns_),
        current_(columns_) {
    for (std::size_t j = 0; j < columns_; ++j) {
      distances_[j] = static_cast<std::int32_t>(j);
      edits_[j] = Edit::insert;
    }
  }

  std::int32_t set_hypothesis(std::u32string_view words) {
    for (std::int64_t i = 1; i <= length_; ++i) {
      const std::size_t row = i * columns_;
      fill_row(i, words[i - 1], &distances_[row - columns_], &distances_[row], &edits_[row]);
    }
    return distances_.back();
  }

  // Distance of another order of the words, equal before position `first`.
  std::int32_t distance_of(std::u32string_view words, std::size_t first) {
    std::copy_n(distances_.begin() + first * columns_, columns_, previous_.begin());
    for (std::int64_t i = static_cast<std::int64_t>(first) + 1; i <= length_; ++i) {
      fill_row(i, words[i - 1], previous_.data(), current_.data(), nullptr);
      previous_.swap(current_);
    }
    return previous_.back();
  }

  // Edits of the hypothesis that was set, from the first word to the last.
  std::vector<Edit> trace() const {
    std::vector<Edit> result;
    std::size_t i = length_;
    std::size_t j = columns_ - 1;
    while (i > 0 || j > 0) {
      const Edit edit = edits_[i * columns_ + j];
      result.push_back(edit);
      if (edit != Edit::insert) --i;
      if (edit != Edit::erase) --j;
    }
    std::ranges::reverse(result);
    return result;
  }

 private:
  std::int64_t length_;
  std::u32string_view reference_;
  std::size_t columns_;
  double ratio_;
  std::int64_t beam_;
  std::vector<std::int32_t> distances_;  // [length + 1, columns]
  std::vector<Edit> edits_;
  std::vector<std::int32_t> previous_;
  std::vector<std::int32_t> current_;

  void fill_row(std::int64_t i, char32_t word, const std::int32_t* above, std::int32_t* row,
                Edit* edits) const {
    const auto columns = static_cast<std::int64_t>(columns_);
    const auto diagonal = static_cast<std::int64_t>(std::floor(static_cast<double>(i) * ratio_));
    const std::int64_t first = std::max<std::int64_t>(0, diagonal - beam_);
    const std::int64_t end = i == length_ ? columns : std::min(columns, diagonal + beam_);
    std::fill_n(row, columns, kInfinite);
    if (edits != nullptr) std::fill_n(edits, columns, Edit::unknown);
    for (std::int64_t j = first; j < end; ++j) {
      std::int32_t best = kInfinite;
      Edit edit = Edit::unknown;
      const auto offer = [&best, &edit](std::int32_t cost, Edit kind) {
        if (cost >= best) return;
        best = cost;
        edit = kind;
      };
      if (j > 0) {
        const bool same = word == reference_[j - 1];
        offer(above[j - 1] + (same ? 0 : 1), same ? Edit::keep : Edit::substitute);
      }
      offer(above[j] + 1, Edit::erase);
      if (j > 0) offer(row[j - 1] + 1, Edit::insert);
      row[j] = best;
      if (edits != nullptr) edits[j] = edit;
    }
  }
};

struct Alignment {
  std::vector<std::int64_t> of_reference;  // the hypothesis word beside each, or the one before
  std::vector<bool> reference_errors;
  std::vector<bool> hypothesis_errors;
};

// sacreBLEU reads the trace the other way round, from reference to hypothesis.
Alignment align(const std::vector<Edit>& trace) {
  Alignment result;
  std::int64_t position = -1;
  for (const Edit edit : trace) {
    const bool error = edit != Edit::keep;
    if (edit != Edit::insert) {
      ++position;
      result.hypothesis_errors.push_back(error);
    }
    if (edit != Edit::erase) {
      result.of_reference.push_back(position);
      result.reference_errors.push_back(error);
    }
  }
  return result;
}

std::u32string shifted(std::u32string_view words, std::int64_t start, std::int64_t length,
                       std::int64_t target) {
  std::u32string rest(words.substr(0, start));
  rest += words.substr(start + length);
  // Within and just after the words themselves, the target counts the other words only.
  const std::int64_t position = target > start + length ? target - length : target;
  return rest.insert(std::min<std::size_t>(position, rest.size()), words.substr(start, length));
}

struct Shift {
  // Better shifts are greater: the gain, then longer, then from and to earlier positions.
  std::tuple<std::int32_t, std::int64_t, std::int64_t, std::int64_t> rank;
  std::u32string words;
};

class ShiftSearch {
 public:
  ShiftSearch(std::u32string_view hypothesis, std::u32string_view reference)
      : words_(hypothesis), reference_(reference), matrix_(hypothesis.size(), reference) {}

  std::int64_t count() {
    std::int64_t shifts = 0;
    for (;;) {
      distance_ = matrix_.set_hypothesis(words_);
      const std::optional<Shift> best = best_shift();
      if (candidates_ >= kMaxShiftCandidates || !best || std::get<0>(best->rank) <= 0) break;
      ++shifts;
      words_ = best->words;
    }
    return shifts + distance_;
  }

 private:
  std::u32string words_;
  std::u32string_view reference_;
  EditMatrix matrix_;
  std::int32_t distance_ = 0;
  std::int64_t candidates_ = 0;

  std::optional<Shift> best_shift() {
    const Alignment alignment = align(matrix_.trace());
    const auto words = static_cast<std::int64_t>(words_.size());
    const auto wanted = static_cast<std::int64_t>(reference_.size());
    std::optional<Shift> best;
    for (std::int64_t start = 0; start < words; ++start) {
      const std::int64_t first = std::max<std::int64_t>(0, start - kMaxShiftDistance);
      const std::int64_t last = std::min(wanted - 1, start + kMaxShiftDistance);
      for (std::int64_t target = first; target <= last; ++target) {
        for (std::int64_t length = 1; length <= kMaxShiftWords; ++length) {
          if (start + length > words || target + length > wanted ||
              words_[start + length - 1] != reference_[target + length - 1]) {
            break;
          }
          if (is_sensible(alignment, start, target, length)) {
            offer_shifts(alignment, start, target, length, best);
          }
          if (candidates_ >= kMaxShiftCandidates) return best;
        }
      }
    }
    return best;
  }

  // True where both sides have errors and the words would leave their place.
  static bool is_sensible(const Alignment& alignment, std::int64_t start, std::int64_t target,
                          std::int64_t length) {
    const auto any_error = [length](const std::vector<bool>& errors, std::int64_t from) {
      return std::find(errors.begin() + from, errors.begin() + from + length, true) !=
             errors.begin() + from + length;
    };
    const std::int64_t beside = alignment.of_reference[target];
    return any_error(alignment.hypothesis_errors, start) &&
           any_error(alignment.reference_errors, target) &&
           !(start <= beside && beside < start + length);
  }

  void offer_shifts(const Alignment& alignment, std::int64_t start, std::int64_t target,
                    std::int64_t length, std::optional<Shift>& best) {
    std::int64_t previous = -1;
    for (std::int64_t offset = -1; offset < length; ++offset) {
      const std::int64_t word = target + offset;
      const std::int64_t to = word < 0 ? 0 : alignment.of_reference[word] + 1;
      if (to == previous) continue;
      previous = to;
      std::u32string words = shifted(words_, start, length, to);
      const std::int32_t gain = distance_ - matrix_.distance_of(words, std::min(start, to));
      ++candidates_;
      const std::tuple rank(gain, length, -start, -to);
      if (!best || rank > best->rank) best = {.rank = rank, .words = std::move(words)};
    }
  }
};

}  // namespace

std::int64_t count_edits(std::u32string_view hypothesis, std::u32string_view reference) {
  if (reference.empty()) return static_cast<std::int64_t>(hypothesis.size());
  return ShiftSearch(hypothesis, reference).count();
}

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
