#include "tasks/translation/translation_search.h"

#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "model/encoder_decoder.h"
#include "model/generate.h"
#include "model/step_model.h"
#include "tasks/task_model.h"
#include "tensor/parallel.h"

namespace roformer {
namespace {

// Sources that one search handles together: neighbours in length, up to a limit of tokens.
std::vector<std::vector<std::size_t>> groups_of(const std::vector<std::vector<TokenId>>& sources,
                                                std::int64_t budget) {
  std::vector<std::size_t> order(sources.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    // the longest first, to show early how much memory is needed
    return sources[a].size() > sources[b].size();
  });
  std::vector<std::vector<std::size_t>> groups;
  std::int64_t longest = 0;
  for (const std::size_t index : order) {
    const bool fits = !groups.empty() && longest * (std::ssize(groups.back()) + 1) <= budget;
    if (!fits) {
      groups.emplace_back();
      longest = std::ssize(sources[index]);
    }
    groups.back().push_back(index);
  }
  return groups;
}

// `group` holds the indices of its sentences in the sources.
std::vector<std::vector<Hypothesis>> sampled(StepModel& step, std::vector<BeamSentence>& sentences,
                                             const BeamVocabulary& vocabulary,
                                             const BeamSettings& settings,
                                             const TranslationSampling& sampling,
                                             const std::vector<std::size_t>& group) {
  std::vector<SampledBeginning> beginnings;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    SampledBeginning beginning{.text = std::move(sentences[i])};
    for (std::int64_t k = 0; k < settings.n_best; ++k) {
      beginning.keys.push_back(random_key(
          {sampling.seed, sampling.numbers.at(group[i]), static_cast<std::uint64_t>(k)}));
    }
    beginnings.push_back(std::move(beginning));
  }
  auto found = sample_texts(step, beginnings, vocabulary, {.choice = sampling.choice});
  for (auto& texts : found) {
    for (Hypothesis& text : texts) {
      text.score = length_penalized(text.log_probability, std::ssize(text.token_log_probabilities),
                                    settings);
    }
  }
  return found;
}

// The data that all groups of sources share.
struct Search {
  const std::vector<std::vector<TokenId>>& sources;
  const std::vector<std::vector<TokenId>>& prefixes;  // none, or one a source
  const TranslationTokens& tokens;
  const TranslationOptions& options;
  BeamSettings beam;
  BeamVocabulary vocabulary;

  BeamSentence sentence(std::size_t index,
                        const std::vector<const Translator*>& translators) const {
    const DecodingSettings& decoding = options.decoding;
    BeamSentence result{.begin = {tokens.target.begin}};
    if (!prefixes.empty()) result.prefix.assign(prefixes[index].begin(), prefixes[index].end());
    const double longest = decoding.longest_factor * static_cast<double>(sources[index].size());
    result.longest = std::max<std::int64_t>(std::llround(longest) + decoding.longest_extra,
                                            std::ssize(result.prefix) + 1);
    if (options.ends_with_prefix) result.longest = std::ssize(result.prefix) + 1;
    for (const Translator* translator : translators) {
      if (translator->longest_target() == 0) continue;
      result.longest = std::min(result.longest, translator->longest_target());
    }
    return result;
  }

  std::vector<std::vector<Hypothesis>> of_group(
      const std::vector<std::size_t>& group,
      const std::vector<const Translator*>& translators) const {
    std::vector<std::int64_t> ids, lengths;
    std::vector<BeamSentence> sentences;
    for (const std::size_t index : group) {
      const std::vector<TokenId>& source = sources[index];
      ROFORMER_ASSERT(!source.empty());
      ids.insert(ids.end(), source.begin(), source.end());
      lengths.push_back(std::ssize(source));
      sentences.push_back(sentence(index, translators));
    }
    std::vector<std::unique_ptr<StepModel>> steps;
    for (const Translator* translator : translators) {
      steps.push_back(std::make_unique<TranslationStep>(translator->model(), copy_to(ids, at::kCPU),
                                                        TokenLayout::of_lengths(lengths),
                                                        translator->plan().precision));
    }
    Ensemble step(std::move(steps));
    return options.sampling ? sampled(step, sentences, vocabulary, beam, *options.sampling, group)
                            : beam_search(step, sentences, vocabulary, beam);
  }
};

// The translators of each thread: the given ones for the first, and as many copies for each further
// thread. Only one set if the work is not shared.
class TranslatorsOfThreads {
 public:
  TranslatorsOfThreads(const std::vector<const Translator*>& given, std::size_t groups)
      : sets_{given} {
    const auto threads = static_cast<std::size_t>(at::get_num_threads());
    const bool on_cpu = std::ranges::all_of(
        given, [](const Translator* translator) { return translator->plan().device.is_cpu(); });
    if (!on_cpu || groups < threads) return;
    while (sets_.size() < threads) {
      std::vector<const Translator*>& set = sets_.emplace_back();
      for (const Translator* translator : given) {
        set.push_back(borrowed_.emplace_back(translator->borrowing()).get());
      }
    }
  }

  std::size_t size() const { return sets_.size(); }
  const std::vector<const Translator*>& of_thread(int number) const {
    return sets_.at(static_cast<std::size_t>(number));
  }

 private:
  std::vector<std::unique_ptr<Translator>> borrowed_;
  std::vector<std::vector<const Translator*>> sets_;
};

}  // namespace

TranslationTokens translation_tokens(const Tokenizer& target) {
  TranslationTokens result{.target = sentence_tokens(target),
                           .unknown = target.special().unknown,
                           .vocabulary = target.vocabulary_size()};
  const SpecialTokens& special = target.special();
  for (const TokenId id :
       {special.padding, special.classification, special.mask, result.target.begin}) {
    const bool is_new = std::ranges::find(result.excluded, id) == result.excluded.end();
    if (id >= 0 && id != result.target.end && is_new) result.excluded.push_back(id);
  }
  return result;
}

std::vector<std::vector<Hypothesis>> translate(const std::vector<const Translator*>& translators,
                                               const std::vector<std::vector<TokenId>>& sources,
                                               const TranslationTokens& tokens,
                                               const TranslationOptions& options,
                                               const std::vector<std::vector<TokenId>>& prefixes) {
  ROFORMER_ASSERT(prefixes.empty() || prefixes.size() == sources.size());
  const DecodingSettings& decoding = options.decoding;
  Search search{.sources = sources,
                .prefixes = prefixes,
                .tokens = tokens,
                .options = options,
                .beam = {.beam = decoding.beam,
                         .n_best = options.n_best,
                         .length_penalty = decoding.length_penalty,
                         .alpha = decoding.alpha,
                         .stopping = decoding.stopping},
                .vocabulary = {.end = tokens.target.end,
                               .excluded = tokens.excluded,
                               .size = tokens.vocabulary,
                               .renormalize = decoding.renormalize}};
  if (!decoding.unknown) search.vocabulary.excluded.push_back(tokens.unknown);
  // The probability of a given text is the one that the model assigns to it.
  if (!options.ends_with_prefix) {
    if (decoding.first_token >= tokens.vocabulary) {
      throw_usage("decoding.first_token",
                  fmt::format("got {}, the target's vocabulary has {} pieces", decoding.first_token,
                              tokens.vocabulary),
                  "-1: none");
    }
    search.vocabulary.rules = {.repetition_penalty = decoding.repetition_penalty,
                               .no_repeat_ngram = decoding.no_repeat_ngram};
    search.vocabulary.first = decoding.first_token;
    search.vocabulary.free_end = decoding.free_end;
  }
  const std::int64_t rows = options.sampling ? options.n_best : decoding.beam;
  const auto groups = groups_of(sources, decoding.batch_tokens / rows);
  std::vector<std::vector<Hypothesis>> results(sources.size());
  std::mutex telling;
  const auto work = [&](std::size_t number, const std::vector<const Translator*>& set) {
    if (options.before_group) options.before_group();
    const std::vector<std::size_t>& group = groups[number];
    auto found = search.of_group(group, set);
    for (std::size_t i = 0; i < group.size(); ++i) results[group[i]] = std::move(found[i]);
    if (!options.after_group) return;
    const std::lock_guard lock(telling);
    options.after_group(std::ssize(group));
  };
  const TranslatorsOfThreads sets(translators, groups.size());
  if (sets.size() == 1) {
    for (std::size_t number = 0; number < groups.size(); ++number) work(number, translators);
    return results;
  }
  // The other threads get the caller's gradient mode and inference weights.
  const bool gradients = c10::GradMode::is_enabled();
  const InferenceWeights* const weights = InferenceWeights::in_use();
  for_each_in_turn(
      std::ssize(groups),
      [&](std::int64_t number) {
        const c10::AutoGradMode as_the_caller(gradients);
        const InferenceWeights::Use use(weights);
        work(static_cast<std::size_t>(number), sets.of_thread(at::get_thread_num()));
      },
      [] {});
  return results;
}

}  // namespace roformer
