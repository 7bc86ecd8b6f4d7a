#include "tasks/translation/translation_evaluation.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "base/blank.h"
#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/progress.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "tasks/stored_data.h"
#include "tasks/translation/translation_search.h"
#include "tasks/untrained.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

// Sums over the tokens of a batch.
struct TokenSums {
  double loss = 0;
  double smoothed_loss = 0;
  double correct = 0;
  double tokens = 0;
};

// Loss and accuracy over whole sets. No sentence is too long to be counted.
void add_losses(const Translator& translator, const Settings& settings,
                const ParallelDataset& dataset, Split split, Processes& processes,
                TranslationEvaluation& result) {
  const ParallelBatches batches(dataset, split, {.tokens = 4096, .shuffle = false});
  const auto of_batch = [&](std::int64_t n) {
    const TranslationBatch batch = to_device(to_tensors(batches[n]), translator.plan().device);
    const CrossEntropy entropy =
        translator.loss(batch, {.training = false}, settings.translation.label_smoothing);
    return TokenSums{.loss = entropy.losses.sum().item<double>(),
                     .smoothed_loss = entropy.loss_sum.item<double>(),
                     .correct = entropy.correct.sum().item<double>(),
                     .tokens = static_cast<double>(batch.labels.numel())};
  };
  TokenSums all;
  for (const TokenSums& batch :
       of_all_batches<TokenSums>(processes, batches.batches_per_epoch(), of_batch)) {
    all.loss += batch.loss;
    all.smoothed_loss += batch.smoothed_loss;
    all.correct += batch.correct;
    all.tokens += batch.tokens;
  }
  result.tokens = static_cast<std::int64_t>(all.tokens);
  result.loss = all.loss / all.tokens;
  result.smoothed_loss = all.smoothed_loss / all.tokens;
  result.accuracy = all.correct / all.tokens;
}

// Translates the first sentences of a split, as many as `texts` has, and shares them between the
// processes. Blank sentences stay blank.
std::vector<std::string> translations(const Translator& translator, const Settings& settings,
                                      const ParallelDataset& dataset, Split split,
                                      const std::vector<std::string>& texts, Processes& processes,
                                      const WorkProgress& progress) {
  const std::int64_t count = std::ssize(texts);
  std::vector<std::string> own;
  std::vector<std::size_t> numbers;  // in `own`, the sentences that are not blank
  std::vector<std::vector<TokenId>> sources;
  for (std::int64_t i = processes.rank(); i < count; i += processes.count()) {
    own.emplace_back();
    if (is_blank(texts[static_cast<std::size_t>(i)])) continue;
    numbers.push_back(own.size() - 1);
    sources.push_back(dataset.sentence(split, Side::source, i));
  }
  const std::shared_ptr<void> busy = processes.busy();
  const Tokenizer& words = dataset.tokenizer(Side::target);
  InferenceWeights weights;
  translator.add_to(weights);
  const InferenceWeights::Use use(&weights);
  std::int64_t done = 0;
  const auto found = translate({&translator}, sources, translation_tokens(words),
                               {.decoding = settings.decoding,
                                .before_group = [&] { stop_validation_if_asked(processes); },
                                .after_group =
                                    [&](std::int64_t sentences) {
                                      done += sentences;
                                      if (progress) progress(done, std::ssize(sources));
                                    }});
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].empty()) continue;
    const auto& ids = found[i][0].ids;
    own[numbers[i]] = as_one_line(decode_text(words, std::vector<TokenId>(ids.begin(), ids.end())));
  }
  return in_batch_order(processes, own);
}

void add_scores(const Translator& translator, const Settings& settings,
                const ParallelDataset& dataset, Split split, Processes& processes,
                const WorkProgress& progress, TranslationEvaluation& result) {
  std::int64_t count = dataset.sentences(split);
  if (settings.decoding.sentences > 0) count = std::min(count, settings.decoding.sentences);
  result.references = dataset.text(split, Side::target);
  result.sources = dataset.text(split, Side::source);
  result.references.resize(static_cast<std::size_t>(count));
  result.sources.resize(static_cast<std::size_t>(count));
  const std::vector<std::string> texts =
      translations(translator, settings, dataset, split, result.sources, processes, progress);
  CorpusBleu bleu(bleu_for(result.target_language));
  Chrf chrf{ChrfSettings{}};
  std::vector<double> sums(chrf.width());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string& text = texts[i];
    const std::string_view reference = result.references[i];
    bleu.add(text, {reference});
    const std::vector<double> row = chrf.row(text, std::span(&reference, 1));
    for (std::size_t k = 0; k < row.size(); ++k) sums[k] += row[k];
    result.hypotheses.push_back(text);
  }
  const BleuScore score = bleu.score();
  result.bleu = score.score;
  result.bleu_signature = score.signature;
  result.chrf = chrf.describe(sums).score;
}

}  // namespace

void require_positions(const Translator& translator, const ParallelDataset& dataset, Split split) {
  for (const Side side : {Side::source, Side::target}) {
    const std::int64_t last =
        side == Side::source ? translator.longest_source() : translator.longest_target();
    const auto longest = static_cast<std::int64_t>(dataset.description()[split][side].longest);
    if (last == 0 || longest <= last) continue;
    throw_usage(dataset.folder().string(),
                fmt::format("has a {} of {} tokens in its {} set, and the table of positions ends "
                            "at {}",
                            to_string(side), longest, to_string(split), last),
                "a table of more positions, or a set of shorter sentences");
  }
}

TranslationEvaluation evaluate_translator(const Translator& translator, const Settings& settings,
                                          const ParallelDataset& dataset, Split split,
                                          Processes& processes, const WorkProgress& progress) {
  require_positions(translator, dataset, split);
  const c10::AutoGradMode no_gradient(false);
  TranslationEvaluation result{.target_language = dataset.description().languages.target};
  add_losses(translator, settings, dataset, split, processes, result);
  add_scores(translator, settings, dataset, split, processes, progress, result);
  return result;
}

namespace {

constexpr std::array<std::int64_t, 6> kFirst = {1, 11, 21, 31, 41, 61};  // words of each bucket
constexpr std::int64_t kFewestSentences = 20;  // BLEU of fewer sentences is meaningless

std::int64_t words_of(const std::string& line) {
  std::int64_t words = 0;
  bool inside = false;
  for (const char c : line) {
    const bool space = c == ' ' || c == '\t';
    words += !space && !inside ? 1 : 0;
    inside = !space;
  }
  return words;
}

// The first number of words in each bucket. A bucket with few sentences loses the boundary after it
// and so joins the next shorter one; with none shorter, it joins the next longer one.
std::vector<std::int64_t> bucket_starts(const std::vector<std::int64_t>& words) {
  std::vector<std::int64_t> starts(kFirst.begin(), kFirst.end());
  for (std::size_t i = starts.size(); i-- > 0 && starts.size() > 1;) {
    const std::int64_t low = starts[i];
    const std::int64_t high =
        i + 1 < starts.size() ? starts[i + 1] : std::numeric_limits<std::int64_t>::max();
    const auto sentences = std::ranges::count_if(
        words, [low, high](std::int64_t count) { return count >= low && count < high; });
    if (sentences >= kFewestSentences) continue;
    starts.erase(starts.begin() + static_cast<std::ptrdiff_t>(i == 0 ? 1 : i));
  }
  return starts;
}

}  // namespace

std::vector<SourceLengthBucket> bleu_by_source_length(const std::vector<std::string>& sources,
                                                      const std::vector<std::string>& references,
                                                      const std::vector<std::string>& hypotheses,
                                                      const std::string& target_language) {
  ROFORMER_ASSERT(sources.size() == references.size() && sources.size() == hypotheses.size());
  std::vector<std::int64_t> words;
  for (const std::string& source : sources) {
    words.push_back(std::max<std::int64_t>(1, words_of(source)));
  }
  const std::vector<std::int64_t> starts = bucket_starts(words);
  std::vector<SourceLengthBucket> result;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const bool last = i + 1 == starts.size();
    const std::int64_t low = starts[i];
    const std::int64_t high = last ? std::numeric_limits<std::int64_t>::max() : starts[i + 1];
    CorpusBleu bleu(bleu_for(target_language));
    double all_words = 0;
    for (std::size_t k = 0; k < hypotheses.size(); ++k) {
      if (words[k] < low || words[k] >= high) continue;
      bleu.add(hypotheses[k], {references[k]});
      all_words += static_cast<double>(words[k]);
    }
    if (bleu.sentences() == 0) continue;
    result.push_back(
        {.name = last ? fmt::format("{} and more", low) : fmt::format("{} to {}", low, high - 1),
         .sentences = bleu.sentences(),
         .mean_words = all_words / static_cast<double>(bleu.sentences()),
         .bleu = bleu.score().score});
  }
  return result;
}

namespace {

std::vector<SourceLengthBucket> by_length(const TranslationEvaluation& found) {
  return bleu_by_source_length(found.sources, found.references, found.hypotheses,
                               found.target_language);
}

struct TranslatedSet {
  const TrainedTranslator& model;
  const ParallelDataset& dataset;
  Split split;
};

nlohmann::ordered_json to_json(const TranslatedSet& measured, const TranslationEvaluation& found) {
  nlohmann::ordered_json lengths = nlohmann::ordered_json::array();
  for (const SourceLengthBucket& bucket : by_length(found)) {
    lengths.push_back(
        {{"source_words", bucket.name}, {"sentences", bucket.sentences}, {"bleu", bucket.bleu}});
  }
  nlohmann::ordered_json object = {{"model", measured.model.checkpoint.string()},
                                   {"data", measured.dataset.folder().string()},
                                   {"split", to_string(measured.split)},
                                   {"sentences", std::ssize(found.hypotheses)},
                                   {"bleu", found.bleu},
                                   {"bleu_signature", found.bleu_signature},
                                   {"chrf", found.chrf},
                                   {"loss", found.loss},
                                   {"perplexity", std::exp(found.loss)},
                                   {"smoothed_loss", found.smoothed_loss},
                                   {"accuracy", found.accuracy},
                                   {"tokens", found.tokens},
                                   {"by_source_length", lengths}};
  if (const auto changed = overrides_json(measured.model); !changed.empty()) {
    object["overrides"] = changed;
  }
  return object;
}

void print(const TranslatedSet& measured, const TranslationEvaluation& found,
           EvaluationText& text) {
  // decoding.sentences may be a part of the set.
  const std::int64_t all = measured.dataset.sentences(measured.split);
  const auto decoded = std::ssize(found.hypotheses);
  text.line(clean_line(
      fmt::format("{} on the {} set of {}, position {}{}", measured.model.checkpoint.string(),
                  to_string(measured.split), measured.dataset.folder().string(),
                  measured.model.settings.position.scheme, with_overrides(measured.model))));
  text.line("");
  text.line(fmt::format(
      "{} sentences{}, {} target tokens", format_count(all),
      decoded < all ? fmt::format(", of which the first {} are decoded (decoding.sentences)",
                                  format_count(decoded))
                    : "",
      format_count(found.tokens)));
  text.line(fmt::format("BLEU {:.2f}  ({})", found.bleu, found.bleu_signature));
  text.line(fmt::format("chrF {:.2f}", found.chrf));
  text.line(fmt::format("loss {:.4f} nats a token, perplexity {:.2f}, accuracy {:.1f} %",
                        found.loss, std::exp(found.loss), 100 * found.accuracy));
  text.line("");
  text.line("BLEU by words of the source");
  for (const SourceLengthBucket& bucket : by_length(found)) {
    text.line(fmt::format("  {:<12} {:>6.2f}  ({} sentences)", bucket.name, bucket.bleu,
                          format_count(bucket.sentences)));
  }
}

}  // namespace

EvaluationResult evaluate_translation(OpenedRun run, const EvaluationRequest& request) {
  const TrainedTranslator trained(std::move(run));
  const ParallelDataset dataset = open_stored_pairs(request.data, trained);
  dataset.require_sentences(request.split);
  const std::int64_t sentences = dataset.sentences(request.split);
  const std::int64_t most = trained.settings.decoding.sentences;
  ProgressBar bar("translating",
                  static_cast<std::uint64_t>(most > 0 ? std::min(most, sentences) : sentences),
                  "sentences");
  bar.begin();
  const TranslationEvaluation found = evaluate_translator(
      *trained.model, trained.settings, dataset, request.split, *make_single_process(),
      [&](std::int64_t done, std::int64_t) { bar.advance_to(static_cast<std::uint64_t>(done)); });
  bar.clear();
  const TranslatedSet set{.model = trained, .dataset = dataset, .split = request.split};
  if (request.text != nullptr) print(set, found, *request.text);
  EvaluationResult result{.json = to_json(set, found)};
  if (request.output.empty()) return result;
  std::string lines;
  for (const std::string& line : found.hypotheses) lines += line + "\n";
  result.write_files = [file = request.output, lines] {
    write_file_atomically(InnerPath::named(file), lines);
  };
  return result;
}

}  // namespace roformer
