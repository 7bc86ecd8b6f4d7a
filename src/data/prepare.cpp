#include "data/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "base/output_folder.h"
#include "base/progress.h"
#include "base/random.h"
#include "data/shard_sink.h"

namespace roformer {
namespace {

constexpr double kShareError = 0.1;  // of the validation set, that goes without a word
constexpr std::uint64_t kFewDocuments = 20;
constexpr double kManyUnknown = 0.02;

void check(const PrepareOptions& options) {
  if (!(options.validation_fraction >= 0 && options.validation_fraction < 1)) {
    throw_usage("validation fraction", fmt::format("is {}, wanted at least 0 and less than 1",
                                                   options.validation_fraction));
  }
  if (options.threads < 1) {
    throw_usage("threads", fmt::format("is {}, wanted at least 1", options.threads));
  }
}

// Shows how far the reading of the files is while it passes the text on.
class ProgressSink : public CorpusSink {
 public:
  ProgressSink(std::uint64_t total, CorpusSink& sink)
      : bar_("preparing", total, "B"), sink_(sink) {}

  void line(std::string_view text) override { sink_.line(text); }
  void end_document() override { sink_.end_document(); }
  void progress(std::uint64_t done) override {
    done_ = finished_ + done;
    bar_.advance_to(done_);
  }
  void end_corpus() { finished_ = done_; }
  void finish() { bar_.finish(done_); }

 private:
  ProgressBar bar_;
  CorpusSink& sink_;
  std::uint64_t done_ = 0;
  std::uint64_t finished_ = 0;
};

void refuse_empty_split(const DatasetDescription& description, const PrepareOptions& options) {
  const bool wants_validation =
      options.validation_fraction > 0 || !options.validation_inputs.empty();
  for (const Split split : {Split::train, Split::validation}) {
    if (description[split].counts.tokens > 0) continue;
    if (split == Split::validation && !wants_validation) continue;
    const std::uint64_t documents = description[Split::train].counts.documents +
                                    description[Split::validation].counts.documents;
    throw_failure(options.output.string(),
                  fmt::format("the {} set would be empty: the corpus has {} document{} with tokens",
                              to_string(split), documents, documents == 1 ? "" : "s"),
                  "choose another --document-separator or --validation-fraction, or name the "
                  "validation files with --validation");
  }
}

std::string percent(double share) {
  return fmt::format("{:.{}f} %", 100 * share, share < 0.1 ? 1 : 0);
}

// Documents are dealt to the splits, so that one large one can turn the shares round; and a foreign
// vocabulary makes of most words the unknown piece. Neither stops a training.
void warn_of_shares(const DatasetDescription& description) {
  const SplitCounts& train = description[Split::train].counts;
  const SplitCounts& validation = description[Split::validation].counts;
  const auto tokens = static_cast<double>(train.tokens + validation.tokens);
  if (validation.tokens == 0) {
    log::warn(
        "there is no validation set: this data can be trained on only with "
        "--validation-fraction or --validation files");
  }
  const double wanted = description.validation_fraction;
  const double share = static_cast<double>(validation.tokens) / tokens;
  if (wanted > 0 && std::abs(share - wanted) > std::max(kShareError, wanted / 2)) {
    log::warn(
        "the validation set has {} of the tokens ({} of {}), though {} of the documents were "
        "asked for: whole documents are dealt, and {} long. --document-separator line makes "
        "more of them, --validation names files",
        percent(share), format_count(static_cast<std::int64_t>(validation.tokens)),
        format_count(static_cast<std::int64_t>(train.tokens + validation.tokens)), percent(wanted),
        train.documents + validation.documents < kFewDocuments ? "there are few" : "some are very");
  }
  const double unknown = static_cast<double>(train.unknown + validation.unknown) / tokens;
  if (unknown > kManyUnknown) {
    log::warn("{} of the tokens are the unknown piece: the tokenizer was made for other text",
              percent(unknown));
  }
}

}  // namespace

bool is_validation_document(std::uint64_t document, double fraction, std::uint64_t seed) {
  return Random(random_key({seed, random_word("validation split"), document})).uniform() < fraction;
}

DatasetDescription prepare(const PrepareOptions& options, const Tokenizer& tokenizer) {
  check(options);
  CorpusOptions validation = options.corpus;
  validation.inputs = options.validation_inputs;
  const bool own_validation = !validation.inputs.empty();
  std::vector<std::filesystem::path> files = list_corpus_files(options.corpus);
  if (own_validation) {
    for (const std::filesystem::path& file : list_corpus_files(validation)) files.push_back(file);
  }

  OutputFolder folder({.output = options.output,
                       .overwrite = options.overwrite,
                       .flag = "--output",
                       .contents = "a prepared data set",
                       .is_replaceable = holds_description});
  const std::uint64_t invalid_before = tokenizer.invalid_sequences();
  const double fraction = own_validation ? 0 : options.validation_fraction;
  ShardSink shards(
      {.folder = folder.path(), .threads = options.threads, .shard_tokens = options.shard_tokens},
      tokenizer);
  ProgressSink progress(corpus_bytes(files), shards);
  shards.choose_split([&](std::uint64_t document) {
    return is_validation_document(document, fraction, options.seed) ? Split::validation
                                                                    : Split::train;
  });
  LinesMet lines_met;  // a line of the training set is none of the validation set
  CorpusCounts read = read_corpus(options.corpus, progress, lines_met);
  progress.end_corpus();
  if (own_validation) {
    shards.choose_split([](std::uint64_t) { return Split::validation; });
    read += read_corpus(validation, progress, lines_met);
  }

  DatasetDescription description{
      .name = options.name,
      .source = options.source,
      .licence = options.licence,
      .command = options.command,
      .tokenizer_fingerprint = tokenizer.fingerprint(),
      .tokenizer = tokenizer.description(),
      .vocabulary_size = tokenizer.vocabulary_size(),
      .validation_fraction = fraction,
      .seed = options.seed,
      .files = read.files,
      .files_skipped = read.skipped,
      .repeats_removed = read.repeats,
      .splits = shards.finish(),
  };
  progress.finish();
  description.fingerprint = shards.fingerprint();
  description.invalid_sequences = tokenizer.invalid_sequences() - invalid_before;
  refuse_empty_split(description, options);
  warn_of_shares(description);
  if (description.invalid_sequences > 0) {
    log::warn("{} malformed UTF-8 sequences were replaced by U+FFFD",
              format_count(static_cast<std::int64_t>(description.invalid_sequences)));
  }
  save_tokenizer(tokenizer, folder.path());
  write_description(description, folder.path());
  folder.commit();
  return description;
}

}  // namespace roformer
