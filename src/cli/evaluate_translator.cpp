#include "cli/evaluate_translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/progress.h"
#include "runs/source_lengths.h"
#include "runs/stored_data.h"
#include "runs/untrained.h"
#include "tasks/translation_evaluation.h"
#include "training/distributed/processes.h"

namespace roformer {
namespace {

std::vector<SourceLengthBucket> by_length(const TranslationEvaluation& found) {
  return bleu_by_source_length(found.sources, found.references, found.hypotheses,
                               found.target_language);
}

// What was measured, on what.
struct Measured {
  const TrainedTranslator& model;
  const ParallelDataset& dataset;
  Split split;
};

void print_json(const Measured& measured, const TranslationEvaluation& found) {
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
  std::cout << object.dump(2) << '\n';
}

void print_text(const Measured& measured, const TranslationEvaluation& found) {
  // decoding.sentences may be a part of the set.
  const std::int64_t all = measured.dataset.sentences(measured.split);
  const auto decoded = std::ssize(found.hypotheses);
  const std::string head =
      fmt::format("{} on the {} set of {}, position {}{}", measured.model.checkpoint.string(),
                  to_string(measured.split), measured.dataset.folder().string(),
                  measured.model.settings.position.scheme, with_overrides(measured.model));
  fmt::print("{}\n\n{} sentences{}, {} target tokens\n", clean_line(head), format_count(all),
             decoded < all ? fmt::format(", of which the first {} are decoded (decoding.sentences)",
                                         format_count(decoded))
                           : "",
             format_count(found.tokens));
  fmt::print("BLEU {:.2f}  ({})\nchrF {:.2f}\n", found.bleu, found.bleu_signature, found.chrf);
  fmt::print("loss {:.4f} nats a token, perplexity {:.2f}, accuracy {:.1f} %\n\n", found.loss,
             std::exp(found.loss), 100 * found.accuracy);
  fmt::print("BLEU by words of the source\n");
  for (const SourceLengthBucket& bucket : by_length(found)) {
    fmt::print("  {:<12} {:>6.2f}  ({} sentences)\n", bucket.name, bucket.bleu,
               format_count(bucket.sentences));
  }
}

}  // namespace

void evaluate_translator(const TrainedTranslator& trained, const TranslatorEvaluation& options) {
  const ParallelDataset dataset = open_stored_pairs(options.data, trained);
  dataset.require_sentences(options.split);
  const std::int64_t sentences = dataset.sentences(options.split);
  const std::int64_t most = trained.settings.decoding.sentences;
  ProgressBar bar("translating",
                  static_cast<std::uint64_t>(most > 0 ? std::min(most, sentences) : sentences),
                  "sentences");
  bar.begin();
  const TranslationEvaluation found = evaluate_translator(
      *trained.translator, trained.settings, dataset, options.split, *make_single_process(),
      [&](std::int64_t done, std::int64_t) { bar.advance_to(static_cast<std::uint64_t>(done)); });
  bar.clear();
  const Measured measured{.model = trained, .dataset = dataset, .split = options.split};
  options.json ? print_json(measured, found) : print_text(measured, found);
  if (!options.output.empty()) {
    std::string text;
    for (const std::string& line : found.hypotheses) text += line + "\n";
    write_file_atomically(InnerPath::named(options.output), text);
  }
}

}  // namespace roformer
