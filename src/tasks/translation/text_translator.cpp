#include "tasks/translation/text_translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/blank.h"
#include "base/error.h"

namespace roformer {
namespace {

TranslatedText text_of(const Hypothesis& hypothesis, const Tokenizer& words) {
  TranslatedText result{.score = hypothesis.score,
                        .log_probability = hypothesis.log_probability,
                        .token_log_probabilities = hypothesis.token_log_probabilities};
  const std::vector<TokenId> ids(hypothesis.ids.begin(), hypothesis.ids.end());
  for (const TokenId id : ids) result.pieces.push_back(words.piece(id));
  result.text = decode_text(words, ids);
  return result;
}

}  // namespace

TextTranslator::TextTranslator(std::vector<TrainedTranslator> runs) : runs_(std::move(runs)) {
  ROFORMER_ASSERT(!runs_.empty());
  const TranslationTokenizers& first = runs_.front().tokenizers;
  for (const TrainedTranslator& run : runs_) {
    const bool same = run.tokenizers.source->fingerprint() == first.source->fingerprint() &&
                      run.tokenizers.target->fingerprint() == first.target->fingerprint();
    if (same) continue;
    throw_usage(run.checkpoint.string(),
                "has another vocabulary than " + runs_.front().checkpoint.string(),
                "an ensemble is of runs with the same tokenizers");
  }
  for (const TrainedTranslator& run : runs_) run.model->add_to(weights_, run.weight_form);
}

std::int64_t TextTranslator::longest_source(const TranslationRequest& request) const {
  std::int64_t longest = request.longest_source;
  for (const TrainedTranslator& run : runs_) {
    const std::int64_t own = run.model->longest_source();
    if (own > 0) longest = std::min(longest, own);
  }
  return longest;
}

std::vector<TranslatedLine> TextTranslator::search(
    const std::vector<std::string>& lines, const std::vector<std::vector<TokenId>>& prefixes,
    const TranslationRequest& request, bool ends_with_prefix) const {
  const Tokenizer& source = *runs_.front().tokenizers.source;
  const Tokenizer& target = *runs_.front().tokenizers.target;
  const TokenId end = sentence_tokens(source).end;
  const std::int64_t longest = longest_source(request);
  std::vector<TranslatedLine> results(lines.size());
  std::vector<std::size_t> numbers;  // of the lines that are not blank
  std::vector<std::vector<TokenId>> sources, begins;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<TokenId> ids = source.encode(lines[i]);
    // An empty source with a given translation also gets a score.
    if (!ends_with_prefix && (ids.empty() || is_blank(lines[i]))) continue;
    if (std::ssize(ids) >= longest) {
      ids.resize(static_cast<std::size_t>(longest - 1));
      results[i].cut = true;
    }
    for (const TokenId id : ids) results[i].pieces.push_back(source.piece(id));
    ids.push_back(end);
    numbers.push_back(i);
    sources.push_back(std::move(ids));
    if (!prefixes.empty()) begins.push_back(prefixes[i]);
  }
  check_beginnings(begins, numbers, request.first_line);
  const TranslationTokens tokens = translation_tokens(target);
  TranslationOptions options{.decoding = settings().decoding,
                             .n_best = request.n_best,
                             .ends_with_prefix = ends_with_prefix};
  if (request.sampling) {
    options.sampling = {.choice = *request.sampling, .seed = request.seed};
    for (const std::size_t number : numbers) {
      options.sampling->numbers.push_back(request.first_line + number);
    }
  }
  const InferenceWeights::Use use(&weights_);
  const auto found = roformer::translate(translators(), sources, tokens, options, begins);
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const Hypothesis& hypothesis : found[i]) {
      results[numbers[i]].translations.push_back(text_of(hypothesis, target));
    }
  }
  if (request.alignment) add_alignments(sources, found, numbers, results);
  return results;
}

// A given beginning must leave room for the end token in the table of positions.
void TextTranslator::check_beginnings(const std::vector<std::vector<TokenId>>& begins,
                                      const std::vector<std::size_t>& numbers,
                                      std::uint64_t first_line) const {
  for (const TrainedTranslator& run : runs_) {
    const std::int64_t longest = run.model->longest_target();
    for (std::size_t i = 0; longest > 0 && i < begins.size(); ++i) {
      if (std::ssize(begins[i]) < longest) continue;
      throw_failure(
          fmt::format("line {}", first_line + numbers[i] + 1),
          fmt::format(
              "the given text has {} tokens and its end, but {} has a table of {} positions",
              begins[i].size(), run.checkpoint.string(), longest));
    }
  }
}

std::vector<const Translator*> TextTranslator::translators() const {
  std::vector<const Translator*> result;
  for (const TrainedTranslator& run : runs_) result.push_back(run.model.get());
  return result;
}

void TextTranslator::add_alignments(const std::vector<std::vector<TokenId>>& sources,
                                    const std::vector<std::vector<Hypothesis>>& found,
                                    const std::vector<std::size_t>& numbers,
                                    std::vector<TranslatedLine>& results) const {
  std::vector<AlignedPair> pairs;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const Hypothesis& hypothesis : found[i]) pairs.push_back({sources[i], hypothesis.ids});
  }
  const DecodingSettings& decoding = settings().decoding;
  std::vector<Alignment> alignments =
      align(translators(), pairs, translation_tokens(*runs_.front().tokenizers.target),
            decoding.alignment_layer, decoding.batch_tokens);
  auto next = alignments.begin();
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (TranslatedText& text : results[numbers[i]].translations) {
      text.alignment = std::move(*next++);
    }
  }
}

std::vector<TranslatedLine> TextTranslator::translate(const std::vector<std::string>& lines,
                                                      const TranslationRequest& request) const {
  std::vector<std::vector<TokenId>> prefixes;
  if (!request.prefix.empty()) {
    prefixes.assign(lines.size(), runs_.front().tokenizers.target->encode(request.prefix));
  }
  return search(lines, prefixes, request, false);
}

std::vector<TranslatedLine> TextTranslator::score(const std::vector<std::string>& lines,
                                                  const std::vector<std::string>& translations,
                                                  const TranslationRequest& request) const {
  ROFORMER_ASSERT(lines.size() == translations.size());
  std::vector<std::vector<TokenId>> forced;
  for (const std::string& text : translations) {
    forced.push_back(runs_.front().tokenizers.target->encode(text));
  }
  return search(lines, forced, request, true);
}

}  // namespace roformer
