#include "data/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/output_folder.h"
#include "base/progress.h"
#include "base/random.h"
#include "data/preparation_identity.h"
#include "data/preparation_journal.h"
#include "data/prepared_files.h"
#include "data/shard_sink.h"

namespace roformer {
namespace {

constexpr double kShareError = 0.1;  // of the validation set, that goes without a word
constexpr std::uint64_t kFewDocuments = 20;
constexpr double kManyUnknown = 0.02;

void check(const PrepareOptions& options) {
  for (const auto& [name, fraction] :
       {std::pair("validation fraction", options.validation_fraction),
        std::pair("test fraction", options.test_fraction)}) {
    if (fraction >= 0 && fraction < 1) continue;
    throw_usage(name, fmt::format("is {}, wanted at least 0 and less than 1", fraction));
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
  void part(std::string_view text) override { sink_.part(text); }
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
  const auto is_wanted = [&](Split split) {
    switch (split) {
      case Split::train:
        return true;
      case Split::validation:
        return description.validation_fraction > 0 || !options.validation_inputs.empty();
      case Split::test:
        return description.test_fraction > 0 || !options.test_inputs.empty();
    }
    return false;
  };
  std::uint64_t documents = 0;
  for (const Split split : kSplits) documents += description[split].counts.documents;
  for (const Split split : kSplits) {
    if (description[split].counts.tokens > 0 || !is_wanted(split)) continue;
    throw_failure(options.output.string(),
                  fmt::format("the {} set would be empty: the corpus has {} document{} with tokens",
                              to_string(split), documents, documents == 1 ? "" : "s"),
                  fmt::format("choose another --document-separator or --{0}-fraction, or name the "
                              "{0} files with --{0}",
                              split == Split::train ? "validation" : to_string(split)));
  }
}

std::string percent(double share) {
  return fmt::format("{:.{}f} %", 100 * share, share < 0.1 ? 1 : 0);
}

// Documents are dealt to the splits, so that one large one can turn the shares round; and a foreign
// vocabulary makes of most words the unknown piece. Neither stops a training.
void warn_of_shares(const DatasetDescription& description) {
  SplitCounts all;
  for (const Split split : kSplits) all += description[split].counts;
  const auto tokens = static_cast<double>(all.tokens);
  if (description[Split::validation].counts.tokens == 0) {
    log::warn(
        "there is no validation set: this data can be trained on only with "
        "--validation-fraction or --validation files");
  }
  for (const auto& [split, wanted] : {std::pair(Split::validation, description.validation_fraction),
                                      std::pair(Split::test, description.test_fraction)}) {
    const std::uint64_t has = description[split].counts.tokens;
    const double share = static_cast<double>(has) / tokens;
    if (wanted <= 0 || std::abs(share - wanted) <= std::max(kShareError, wanted / 2)) continue;
    log::warn(
        "the {0} set has {1} of the tokens ({2} of {3}), though {4} of the documents were "
        "asked for: whole documents are dealt, and {5} long. --document-separator line makes "
        "more of them, --{0} names files",
        to_string(split), percent(share), format_count(static_cast<std::int64_t>(has)),
        format_count(static_cast<std::int64_t>(all.tokens)), percent(wanted),
        all.documents < kFewDocuments ? "there are few" : "some are very");
  }
  const double unknown = static_cast<double>(all.unknown) / tokens;
  if (unknown > kManyUnknown) {
    log::warn(
        "{} of the tokens are the unknown piece: the tokenizer was made for other text, or its "
        "vocabulary is small",
        percent(unknown));
  }
}

// What is read, and how its documents are dealt.
struct PreparationPlan {
  CorpusFiles files;  // to train on, and to divide
  // The splits that have files of their own, and these.
  std::vector<std::pair<Split, CorpusFiles>> held_out;
  std::optional<DividedFile> divided;  // where the shares are of bytes
  SplitFractions fractions;

  std::vector<std::filesystem::path> all_files() const {
    std::vector<std::filesystem::path> all = files.paths;
    for (const auto& [split, of_split] : held_out) {
      all.insert(all.end(), of_split.paths.begin(), of_split.paths.end());
    }
    return all;
  }
};

// Without the output, which a folder of input may hold.
CorpusFiles listed(const CorpusOptions& corpus, const std::filesystem::path& output) {
  CorpusFiles files;
  files.paths = list_corpus_files(corpus, &files.skipped);
  warn_of_repeated_files(files.paths);
  std::erase_if(files.paths, [&](const auto& file) { return OutputFolder::holds(output, file); });
  if (files.paths.empty()) {
    throw_usage(output.string(), "the input holds nothing but the output");
  }
  return files;
}

PreparationPlan plan_of(const PrepareOptions& options) {
  PreparationPlan plan{.files = listed(options.corpus, options.output)};
  // Where each file that is held out lies, and for which set.
  std::map<std::filesystem::path, Split> places;
  for (const auto& [split, inputs] : {std::pair(Split::validation, &options.validation_inputs),
                                      std::pair(Split::test, &options.test_inputs)}) {
    if (inputs->empty()) continue;
    CorpusOptions corpus = options.corpus;
    corpus.inputs = *inputs;
    const CorpusFiles files = listed(corpus, options.output);
    for (const std::filesystem::path& file : files.paths) {
      const auto [place, is_new] = places.emplace(std::filesystem::weakly_canonical(file), split);
      if (is_new || place->second == split) continue;
      log::warn("{} is among the files of --validation and of --test", file.string());
    }
    plan.held_out.emplace_back(split, files);
  }
  // Of a folder they are left out; a file that is named for both is meant.
  std::set<std::filesystem::path> named;
  for (const std::filesystem::path& input : options.corpus.inputs) {
    const std::filesystem::path place = std::filesystem::weakly_canonical(input);
    if (!named.insert(place).second || !places.contains(place)) continue;
    log::warn("{} is trained on, and held out as well", input.string());
  }
  std::erase_if(plan.files.paths, [&](const auto& file) {
    const std::filesystem::path place = std::filesystem::weakly_canonical(file);
    return places.contains(place) && !named.contains(place);
  });
  if (plan.files.paths.empty()) {
    throw_usage("--validation", "all files of the input are held out",
                "nothing is left to train on");
  }
  const bool by_bytes = options.shares.whole() > 0;
  ROFORMER_ASSERT(!by_bytes || plan.held_out.empty());
  if (by_bytes) plan.divided = divide_file(options.corpus, options.shares);
  plan.fractions = {.validation = by_bytes || !options.validation_inputs.empty()
                                      ? 0
                                      : options.validation_fraction,
                    .test = by_bytes || !options.test_inputs.empty() ? 0 : options.test_fraction};
  if (plan.fractions.validation + plan.fractions.test >= 1) {
    throw_usage("test fraction", "leaves nothing to train on",
                "the fractions of validation and test add up to less than 1");
  }
  return plan;
}

// Writes the shards, except those that are finished, and returns what the set is.
DatasetDescription write_shards(const PrepareOptions& options, const PreparationPlan& plan,
                                const Tokenizer& tokenizer, const std::filesystem::path& folder,
                                const PreparationJournal& journal, const FinishedSplits& finished) {
  const std::uint64_t invalid_before = tokenizer.invalid_sequences();
  ShardSink shards({.folder = folder,
                    .threads = options.threads,
                    .shard_tokens = options.shard_tokens,
                    .finished = finished,
                    .on_finished = [&](const FinishedSplits& now) { journal.write(to_json(now)); }},
                   tokenizer);
  ProgressSink progress(corpus_bytes(plan.all_files()), shards);
  shards.choose_split([&](std::uint64_t document) {
    if (plan.divided) return kSplits.at(document);
    return split_of(document, plan.fractions, options.seed);
  });
  LinesMet lines_met;  // a line of the training set is none of the others
  CorpusOptions corpus = options.corpus;
  if (plan.divided) corpus.cuts = plan.divided->cuts;
  CorpusCounts read = read_corpus(plan.files, corpus, progress, lines_met);
  progress.end_corpus();
  for (const auto& [split, files_of_split] : plan.held_out) {
    shards.choose_split([split = split](std::uint64_t) { return split; });
    read += read_corpus(files_of_split, options.corpus, progress, lines_met);
    progress.end_corpus();
  }
  DatasetDescription description{
      .name = options.name,
      .source = options.source,
      .licence = options.licence,
      .command = options.command,
      .tokenizer_fingerprint = tokenizer.fingerprint(),
      .tokenizer = tokenizer.description(),
      .vocabulary_size = tokenizer.vocabulary_size(),
      .validation_fraction = plan.fractions.validation,
      .test_fraction = plan.fractions.test,
      .seed = options.seed,
      .files = read.files,
      .files_skipped = read.skipped,
      .repeats_removed = read.repeats,
      .splits = shards.finish(),
  };
  progress.finish();
  description.fingerprint = shards.fingerprint();
  description.invalid_sequences =
      tokenizer.invalid_sequences() - invalid_before + shards.invalid_in_finished() + read.replaced;
  if (plan.divided && plan.divided->bytes < options.shares.whole()) {
    description.prefix =
        DatasetDescription::Prefix{.bytes = plan.divided->bytes, .of = options.shares.whole()};
  }
  return description;
}

}  // namespace

Split split_of(std::uint64_t document, const SplitFractions& fractions, std::uint64_t seed) {
  const double point =
      Random(random_key({seed, random_word("validation split"), document})).uniform();
  if (point < fractions.validation) return Split::validation;
  return point >= 1 - fractions.test ? Split::test : Split::train;
}

DatasetDescription prepare(const PrepareOptions& options, const Tokenizer& tokenizer) {
  check(options);
  const PreparationPlan plan = plan_of(options);
  OutputFolder folder({.output = options.output,
                       .overwrite = options.overwrite,
                       .flag = "--output",
                       .contents = "a prepared data set and nothing else",
                       .is_replaceable =
                           [](const auto& there) {
                             return holds_description(there) && holds_only_prepared_files(there);
                           },
                       .journal = kPreparationJournal});
  const PreparationJournal journal(folder.path(),
                                   identity_of(options, tokenizer, plan.all_files()));
  const auto write = [&](const FinishedSplits& finished) {
    return write_shards(options, plan, tokenizer, folder.path(), journal, finished);
  };
  DatasetDescription description;
  try {
    description = write(recover_splits(journal));
  } catch (const CorpusChanged& problem) {
    journal.begin_anew(problem.parts().message);
    description = write({});
  } catch (const ReadError&) {  // another time what is finished may be read
    if (folder.is_begun()) folder.leave();
    throw;
  }
  refuse_empty_split(description, options);
  warn_of_shares(description);
  if (description.invalid_sequences > 0) {
    log::warn("{} became U+FFFD",
              format_counted(static_cast<std::int64_t>(description.invalid_sequences),
                             "malformed UTF-8 sequence"));
  }
  save_tokenizer(tokenizer, folder.path());
  write_description(description, folder.path());
  folder.commit();
  return description;
}

}  // namespace roformer
