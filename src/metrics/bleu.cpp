#include "metrics/bleu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "metrics/code_points.h"

namespace roformer {
namespace {

constexpr std::size_t kOrders = BleuScore::kOrders;
constexpr double kFloorDefault = 0.1;  // Chen and Cherry (2014), as is add-k's
constexpr double kAddDefault = 1;
constexpr double kLogOfZero = -9999999999;

double smoothing_value(const BleuSettings& settings) {
  if (settings.smoothing_value) return *settings.smoothing_value;
  return settings.smoothing == BleuSmoothing::floor ? kFloorDefault : kAddDefault;
}

struct NamedTokenizer {
  const char* name;  // in signatures
  std::string (*tokenize)(std::string_view line);
};

const NamedTokenizer& tokenizer_of(const BleuSettings& settings) {
  static constexpr NamedTokenizer kTokenizers[] = {
      {"13a", tokenize_13a},
      {"intl", tokenize_international},
      {"char", tokenize_characters},
      {"none", [](std::string_view line) { return std::string(line); }},
      {"zh", tokenize_chinese},
      {"moses-de+compound-split",
       [](std::string_view line) {
         return split_compounds(moses_tokenize(line, MosesLanguage::german));
       }},
      {"moses-en+compound-split", [](std::string_view line) {
         return split_compounds(moses_tokenize(line, MosesLanguage::english));
       }}};
  const bool english = settings.tokenizer == BleuTokenizer::moses_compound &&
                       settings.language == MosesLanguage::english;
  return kTokenizers[static_cast<std::size_t>(settings.tokenizer) + (english ? 1 : 0)];
}

std::string smoothing_name(const BleuSettings& settings) {
  switch (settings.smoothing) {
    case BleuSmoothing::exponential:
      return "exp";
    case BleuSmoothing::floor:
      return fmt::format("floor[{:.2f}]", smoothing_value(settings));
    case BleuSmoothing::add_k:
      return fmt::format("add-k[{:.2f}]", smoothing_value(settings));
    case BleuSmoothing::none:
      return "none";
  }
  ROFORMER_ASSERT(false);
  return {};
}

// multi-bleu.perl -lc lowers bytes, so ASCII only.
std::string lower_ascii(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

std::int64_t closest_length(std::size_t length, std::span<const std::u32string> references) {
  const auto key = [length](const std::u32string& reference) {
    const std::size_t other = reference.size();
    return std::pair(other > length ? other - length : length - other, other);
  };
  return static_cast<std::int64_t>(std::ranges::min_element(references, {}, key)->size());
}

// An int64 array drops the fraction of a number that is written into it.
NumpyFloat add(NumpyFloat count, double value, SumKind kind) {
  const NumpyFloat sum = count + value;
  return kind == SumKind::integers ? NumpyFloat(std::trunc(sum.value)) : sum;
}

}  // namespace

struct Bleu::Parts {
  double score = 0;
  std::array<NumpyFloat, kOrders> precisions{};
  double brevity_penalty = 1;
};

std::string BleuScore::details() const {
  const double ratio =
      reference_length == 0 ? 0 : static_cast<double>(hypothesis_length) / reference_length;
  return fmt::format(
      "{:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} "
      "ref_len = {})",
      precisions[0], precisions[1], precisions[2], precisions[3], brevity_penalty, ratio,
      hypothesis_length, reference_length);
}

Bleu::Bleu(BleuSettings settings) : settings_(settings), ngrams_(kOrders) {
  if (settings_.tokenizer == BleuTokenizer::moses_compound) {
    settings_.smoothing = BleuSmoothing::none;
  }
}

std::string Bleu::name() const {
  return settings_.tokenizer == BleuTokenizer::moses_compound ? "tokenized BLEU (compounds split)"
                                                              : "BLEU";
}

std::u32string Bleu::tokens(std::string_view line) {
  const auto tokenize = tokenizer_of(settings_).tokenize;
  if (settings_.tokenizer == BleuTokenizer::moses_compound) {
    std::string text = tokenize(line);
    if (settings_.lowercase) text = lower_ascii(std::move(text));
    return words_.numbers(split_words(text));
  }
  const std::string lowered = settings_.lowercase ? lower_case(line) : std::string();
  if (settings_.lowercase) line = lowered;
  return words_.numbers(split_words(tokenize(without_trailing_spaces(line))));
}

std::vector<double> Bleu::row(std::string_view hypothesis,
                              std::span<const std::string_view> references) {
  ROFORMER_ASSERT(!references.empty());
  std::vector<std::u32string> wanted;
  for (const std::string_view reference : references) wanted.push_back(tokens(reference));
  const std::u32string found = tokens(hypothesis);
  ngrams_.clear();
  for (const std::u32string& reference : wanted) ngrams_.add_reference(reference);
  const std::vector<std::int64_t> matches = ngrams_.matches(found);
  std::vector<double> result = {static_cast<double>(found.size()),
                                static_cast<double>(closest_length(found.size(), wanted))};
  for (const std::int64_t count : matches) result.push_back(static_cast<double>(count));
  for (std::size_t order = 1; order <= kOrders; ++order) {
    result.push_back(static_cast<double>(ngram_count(found.size(), order)));
  }
  return result;
}

Bleu::Parts Bleu::parts(std::span<const double> sums, SumKind kind) const {
  const bool single = kind == SumKind::single;
  const double hypothesis_length = sums[0];
  const double reference_length = sums[1];
  Parts result;
  if (hypothesis_length < reference_length) {
    result.brevity_penalty =
        hypothesis_length > 0 ? std::exp(1 - reference_length / hypothesis_length) : 0;
  }
  const auto matches = sums.subspan(2, kOrders);
  if (std::ranges::none_of(matches, [](double count) { return count != 0; })) return result;
  const double value = smoothing_value(settings_);
  double halving = 1;
  std::size_t orders = kOrders;
  for (std::size_t i = 0; i < kOrders; ++i) {
    NumpyFloat correct(matches[i], single);
    NumpyFloat total(sums[2 + kOrders + i], single);
    if (settings_.smoothing == BleuSmoothing::add_k && i > 0) {
      correct = add(correct, value, kind);
      total = add(total, value, kind);
    }
    if (total.value == 0) break;
    if (settings_.effective_order) orders = i + 1;
    if (correct.value != 0) {
      result.precisions[i] = NumpyFloat(100) * correct / total;
    } else if (settings_.smoothing == BleuSmoothing::exponential) {
      halving *= 2;
      result.precisions[i] = NumpyFloat(100) / (NumpyFloat(halving) * total);
    } else if (settings_.smoothing == BleuSmoothing::floor) {
      result.precisions[i] = NumpyFloat(100. * value) / total;
    }
  }
  double logarithms = 0;
  for (std::size_t i = 0; i < orders; ++i) {
    const double precision = result.precisions[i].value;
    logarithms += precision == 0 ? kLogOfZero : std::log(precision);
  }
  result.score = result.brevity_penalty * std::exp(logarithms / static_cast<double>(orders));
  return result;
}

NumpyFloat Bleu::score(std::span<const double> sums, SumKind kind) const {
  return parts(sums, kind).score;
}

BleuScore Bleu::full_score(std::span<const double> sums) const {
  const Parts found = parts(sums, SumKind::plain);
  BleuScore result{.score = found.score,
                   .brevity_penalty = found.brevity_penalty,
                   .hypothesis_length = static_cast<std::int64_t>(sums[0]),
                   .reference_length = static_cast<std::int64_t>(sums[1])};
  for (std::size_t i = 0; i < kOrders; ++i) result.precisions[i] = found.precisions[i].value;
  return result;
}

BleuSettings bleu_for(std::string_view language) {
  const std::string_view code = language.substr(0, language.find_first_of("-_"));
  if (code == "zh") return {.tokenizer = BleuTokenizer::chinese};
  if (code == "ja") return {.tokenizer = BleuTokenizer::characters};
  return {};
}

TranslationScore Bleu::describe(std::span<const double> sums) const {
  const BleuScore result = full_score(sums);
  return {.name = name(), .score = result.score, .details = result.details()};
}

std::vector<std::pair<std::string, std::string>> Bleu::settings() const {
  const bool older = settings_.tokenizer == BleuTokenizer::moses_compound;
  return {{"case", settings_.lowercase ? "lc" : "mixed"},
          {"eff", settings_.effective_order ? "yes" : "no"},
          {"tok", tokenizer_of(settings_).name},
          {"smooth", smoothing_name(settings_)},
          older ? std::pair<std::string, std::string>("like", "multi-bleu.perl")
                : std::pair<std::string, std::string>("version", kSacrebleuVersion)};
}

void CorpusBleu::add(std::string_view hypothesis,
                     std::initializer_list<std::string_view> references) {
  add(hypothesis, std::span(references.begin(), references.size()));
}

void CorpusBleu::add(std::string_view hypothesis, std::span<const std::string_view> references) {
  ROFORMER_ASSERT(sentences_ == 0 || references.size() == references_);
  references_ = references.size();
  const std::vector<double> row = metric_.row(hypothesis, references);
  std::ranges::transform(sums_, row, sums_.begin(), std::plus<>());
  ++sentences_;
}

BleuScore CorpusBleu::score() const {
  BleuScore result = metric_.full_score(sums_);
  result.signature = metric_.signature({.references = references_});
  return result;
}

}  // namespace roformer
