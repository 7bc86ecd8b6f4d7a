#include "cli/evaluate_translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "cli/stored_data.h"
#include "metrics/bleu.h"
#include "report/table.h"
#include "tasks/translation_task.h"

namespace roformer {
namespace {

// Words of the source, separated by white space: buckets of the table and chart by length.
constexpr std::array<std::int64_t, 6> kBuckets = {1, 11, 21, 31, 41, 61};

struct Bucket {
  std::string name;
  std::int64_t sentences = 0;
  double bleu = 0;
};

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

std::vector<Bucket> by_length(const TranslationEvaluation& found) {
  std::vector<Bucket> result;
  for (std::size_t i = 0; i < kBuckets.size(); ++i) {
    const bool last = i + 1 == kBuckets.size();
    const std::int64_t low = kBuckets[i];
    const std::int64_t high = last ? std::numeric_limits<std::int64_t>::max() : kBuckets[i + 1];
    CorpusBleu bleu;
    for (std::size_t k = 0; k < found.hypotheses.size(); ++k) {
      const std::int64_t words = std::max<std::int64_t>(1, words_of(found.sources[k]));
      if (words >= low && words < high) bleu.add(found.hypotheses[k], {found.references[k]});
    }
    if (bleu.sentences() == 0) continue;
    result.push_back(
        {.name = last ? fmt::format("{} and more", low) : fmt::format("{} to {}", low, high - 1),
         .sentences = bleu.sentences(),
         .bleu = bleu.score().score});
  }
  return result;
}

ParallelSplit split_of(const std::string& name) {
  if (name == "validation") return ParallelSplit::validation;
  if (name == "test") return ParallelSplit::test;
  throw_usage("--split", fmt::format("is \"{}\"", name), "validation or test");
}

void print_json(const std::string& split, const TranslationEvaluation& found) {
  nlohmann::ordered_json lengths = nlohmann::ordered_json::array();
  for (const Bucket& bucket : by_length(found)) {
    lengths.push_back(
        {{"source_words", bucket.name}, {"sentences", bucket.sentences}, {"bleu", bucket.bleu}});
  }
  const nlohmann::ordered_json object = {{"split", split},
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
  std::cout << object.dump(2) << '\n';
}

void print_text(const std::string& split, const TranslationEvaluation& found) {
  fmt::print("{}: {} sentences, {} target tokens\n", split,
             format_count(std::ssize(found.hypotheses)), format_count(found.tokens));
  fmt::print("BLEU {:.2f}  ({})\nchrF {:.2f}\n", found.bleu, found.bleu_signature, found.chrf);
  fmt::print("loss {:.4f} nats a token, perplexity {:.2f}, accuracy {:.1f} %\n\n", found.loss,
             std::exp(found.loss), 100 * found.accuracy);
  fmt::print("BLEU by words of the source\n");
  for (const Bucket& bucket : by_length(found)) {
    fmt::print("  {:<12} {:>6.2f}  ({} sentences)\n", bucket.name, bucket.bleu,
               format_count(bucket.sentences));
  }
}

}  // namespace

void evaluate_translator(const TrainedTranslator& trained, const TranslatorEvaluation& options) {
  const ParallelSplit split = split_of(options.split);
  const ParallelDataset dataset =
      open_stored(options.data, trained.settings,
                  [](const std::filesystem::path& folder) { return ParallelDataset(folder); });
  const TranslationTokenizers& own = trained.tokenizers;
  if (dataset.tokenizer(Side::source).fingerprint() != own.source->fingerprint() ||
      dataset.tokenizer(Side::target).fingerprint() != own.target->fingerprint()) {
    throw_usage("--data", dataset.folder().string() + " was prepared with another vocabulary",
                "prepare it with the run's tokenizer: --tokenizer " + trained.checkpoint.string());
  }
  if (dataset.sentences(split) == 0) {
    throw_usage("--split",
                fmt::format("{} has no {} set", dataset.folder().string(), options.split),
                "prepare it with --test or --test-fraction");
  }
  const TranslationEvaluation found =
      evaluate_translator(*trained.translator, trained.settings, dataset, split);
  if (!options.output.empty()) {
    std::string text;
    for (const std::string& line : found.hypotheses) text += line + "\n";
    write_file_atomically(options.output, text);
  }
  options.json ? print_json(options.split, found) : print_text(options.split, found);
}

}  // namespace roformer
