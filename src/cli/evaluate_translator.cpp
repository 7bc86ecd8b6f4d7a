#include "cli/evaluate_translator.h"

#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "cli/stored_data.h"
#include "distributed/processes.h"
#include "runs/source_lengths.h"
#include "tasks/translation_task.h"

namespace roformer {
namespace {

std::vector<SourceLengthBucket> by_length(const TranslationEvaluation& found) {
  return bleu_by_source_length(found.sources, found.references, found.hypotheses,
                               found.target_language);
}

ParallelSplit split_of(const std::string& name) {
  if (name == "validation") return ParallelSplit::validation;
  if (name == "test") return ParallelSplit::test;
  throw_usage("--split", fmt::format("is \"{}\"", name), "validation or test");
}

void print_json(const std::string& split, const TranslationEvaluation& found) {
  nlohmann::ordered_json lengths = nlohmann::ordered_json::array();
  for (const SourceLengthBucket& bucket : by_length(found)) {
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

// `all` sentences are in the set, of which decoding.sentences may be a part.
void print_text(const std::string& split, const TranslationEvaluation& found, std::int64_t all) {
  const auto decoded = std::ssize(found.hypotheses);
  fmt::print("{}: {} sentences{}, {} target tokens\n", split, format_count(all),
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
  const ParallelSplit split = split_of(options.split);
  const ParallelDataset dataset = open_stored_pairs(options.data, trained);
  if (dataset.sentences(split) == 0) {
    throw_usage("--split",
                fmt::format("{} has no {} set", dataset.folder().string(), options.split),
                "prepare it with --test or --test-fraction");
  }
  const TranslationEvaluation found = evaluate_translator(*trained.translator, trained.settings,
                                                          dataset, split, *make_single_process());
  options.json ? print_json(options.split, found)
               : print_text(options.split, found, dataset.sentences(split));
  if (!options.output.empty()) {
    std::string text;
    for (const std::string& line : found.hypotheses) text += line + "\n";
    write_file_atomically(options.output, text);
  }
}

}  // namespace roformer
