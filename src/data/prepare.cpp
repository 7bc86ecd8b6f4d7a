#include "data/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "base/random.h"
#include "data/shard_sink.h"

namespace roformer {
namespace {

constexpr double kShareError = 0.1;  // of the validation share, without a warning
constexpr std::uint64_t kFewDocuments = 20;
constexpr double kManyUnknown = 0.02;

// Advances the bar while it passes the text on.
class ProgressSink : public CorpusSink {
 public:
  ProgressSink(ReadingBar& bar, CorpusSink& sink) : bar_(bar), sink_(sink) {}

  void line(std::string_view text) override { sink_.line(text); }
  void part(std::string_view text) override { sink_.part(text); }
  void end_document() override { sink_.end_document(); }
  void progress(std::uint64_t done) override { bar_.advance(done); }

 private:
  ReadingBar& bar_;
  CorpusSink& sink_;
};

void require_no_empty_split(const DatasetDescription& description, const PrepareOptions& options) {
  const BySplit<bool> is_wanted = {
      true, description.validation_fraction > 0 || !options.validation_inputs.empty(),
      description.test_fraction > 0 || !options.test_inputs.empty()};
  std::uint64_t documents = 0;
  for (const Split split : kSplits) documents += description[split].counts.documents;
  for (const Split split : kSplits) {
    const bool is_empty = description[split].counts.tokens == 0;
    if (!is_empty || !is_wanted[split]) continue;
    refuse_empty_split(options.output.string(), split,
                       fmt::format(": the corpus has {} document{} with tokens", documents,
                                   documents == 1 ? "" : "s"),
                       fmt::format("choose another --document-separator or --{0}-fraction, or name "
                                   "the {0} files with --{0}",
                                   split == Split::train ? "validation" : to_string(split)));
  }
}

std::string percent(double share) {
  return fmt::format("{:.{}f} %", 100 * share, share < 0.1 ? 1 : 0);
}

// Warns about two problems that do not stop a training. Splits get whole documents, so that one
// large document can distort the shares. A vocabulary for other text turns most words into the
// unknown piece.
void warn_of_shares(const DatasetDescription& description) {
  SplitCounts all;
  for (const Split split : kSplits) all += description[split].counts;
  const auto tokens = static_cast<double>(all.tokens);
  if (description[Split::validation].counts.tokens == 0) {
    warn_of_missing_validation("this data");
  }
  for (const auto& [split, wanted] : {std::pair(Split::validation, description.validation_fraction),
                                      std::pair(Split::test, description.test_fraction)}) {
    const std::uint64_t has = description[split].counts.tokens;
    const double share = static_cast<double>(has) / tokens;
    if (wanted <= 0 || std::abs(share - wanted) <= std::max(kShareError, wanted / 2)) continue;
    log::warn(
        "the {0} set has {1} of the tokens ({2} of {3}), but {4} of the documents were "
        "requested: documents are not split, and {5}. --document-separator line makes "
        "more of them, --{0} names separate files",
        to_string(split), percent(share), format_count(static_cast<std::int64_t>(has)),
        format_count(static_cast<std::int64_t>(all.tokens)), percent(wanted),
        all.documents < kFewDocuments ? "there are few" : "some are very long");
  }
  const double unknown = static_cast<double>(all.unknown) / tokens;
  if (unknown > kManyUnknown) {
    log::warn(
        "{} of the tokens are the unknown piece: the tokenizer was made for other text, or its "
        "vocabulary is small",
        percent(unknown));
  }
}

// The files to read, and how their documents are split.
struct PreparationPlan {
  CorpusFiles files;                                    // to train on, and to divide
  std::vector<std::pair<Split, CorpusFiles>> held_out;  // splits with separate files
  std::optional<DividedFile> divided;                   // set if the shares count bytes
  SplitFractions fractions;

  std::vector<std::filesystem::path> all_files() const {
    std::vector<std::filesystem::path> all = files.paths;
    for (const auto& [split, of_split] : held_out) {
      all.insert(all.end(), of_split.paths.begin(), of_split.paths.end());
    }
    return all;
  }
};

// Leaves out the output, which may lie in an input folder.
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
  // The canonical path of each held-out file, and the set that holds it.
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
  // Held-out files in a training folder are not trained on. Files that are named for both are.
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

// Writes the shards, except those that are finished, and describes the set.
DatasetDescription write_shards(const PrepareOptions& options, const PreparationPlan& plan,
                                const Tokenizer& tokenizer, ShardSink::Options writing) {
  const std::uint64_t invalid_before = tokenizer.invalid_sequences();
  writing.threads = options.threads;
  writing.shard_tokens = options.shard_tokens;
  ShardSink shards(std::move(writing), tokenizer);
  ReadingBar bar("preparing", corpus_bytes(plan.all_files()));
  ProgressSink sink(bar, shards);
  LinesMet lines_met;  // no line of the training set is repeated in the others
  CorpusCounts counts;
  const auto read = [&](const CorpusFiles& files, const CorpusOptions& corpus,
                        ShardSink::SplitChoice choice) {
    shards.choose_split(std::move(choice));
    counts += read_corpus(files, corpus, sink, lines_met);
    bar.end_pass();
  };
  CorpusOptions corpus = options.corpus;
  if (plan.divided) corpus.cuts = plan.divided->cuts;
  read(plan.files, corpus, [&](std::uint64_t document) {
    if (plan.divided) return kSplits.at(document);
    return split_of(document, plan.fractions, options.seed);
  });
  for (const auto& [split, files] : plan.held_out) {
    read(files, options.corpus, [split = split](std::uint64_t) { return split; });
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
      .files = counts.files,
      .files_skipped = counts.skipped,
      .repeats_removed = counts.repeats,
      .splits = shards.finish(),
  };
  bar.finish();
  description.fingerprint = shards.fingerprint();
  description.invalid_sequences = tokenizer.invalid_sequences() - invalid_before +
                                  shards.invalid_in_finished() + counts.replaced;
  if (plan.divided && plan.divided->bytes < options.shares.whole()) {
    description.prefix =
        DatasetDescription::Prefix{.bytes = plan.divided->bytes, .of = options.shares.whole()};
  }
  return description;
}

// Decides which files of folders and archives are read, and which of them are held out.
std::string choice_of_files(const PrepareOptions& options) {
  std::string choice = fmt::format("{} {}", options.corpus.skip_binary, options.corpus.skip_broken);
  for (const std::string& pattern : options.corpus.include) choice += '\n' + pattern;
  for (const auto* const inputs : {&options.validation_inputs, &options.test_inputs}) {
    choice += "\n\n";
    for (const std::filesystem::path& input : *inputs) choice += input.string() + '\n';
  }
  return digest_of(choice);
}

}  // namespace

Split split_of(std::uint64_t document, const SplitFractions& fractions, std::uint64_t seed) {
  const double point =
      Random(random_key({seed, random_word("validation split"), document})).uniform();
  if (point < fractions.validation) return Split::validation;
  return point >= 1 - fractions.test ? Split::test : Split::train;
}

PreparationIdentity identity_of(const PrepareOptions& options, const Tokenizer& tokenizer,
                                const std::vector<std::filesystem::path>& files) {
  const CorpusOptions& corpus = options.corpus;
  return make_identity(
      files, {{"tokenizer", hexadecimal(tokenizer.fingerprint())},
              {"reader", to_word(corpus.reader)},
              {"document separator", to_word(corpus.separator)},
              {"field of JSON Lines", corpus.text_field},
              {"choice to remove repeats", fmt::format("{}", corpus.remove_repeats)},
              {"choice of files", choice_of_files(options)},
              {"validation fraction", fmt::format("{}", options.validation_fraction)},
              {"test fraction", fmt::format("{}", options.test_fraction)},
              {"division by bytes", fmt::format("{}", fmt::join(options.shares.bytes, " "))},
              {"seed", fmt::format("{}", options.seed)},
              {"size of shards", fmt::format("{}", options.shard_tokens)}});
}

DatasetDescription prepare(const PrepareOptions& options, const Tokenizer& tokenizer) {
  require_fraction("validation fraction", options.validation_fraction);
  require_fraction("test fraction", options.test_fraction);
  require_threads(options.threads);
  const PreparationPlan plan = plan_of(options);
  return run_preparation(Preparation<FinishedSplits, DatasetDescription>{
      .place = prepared_folder(options.output, options.overwrite, holds_description),
      .identity = identity_of(options, tokenizer, plan.all_files()),
      .write =
          [&](const auto& folder, const FinishedSplits& finished, const auto& on_finished) {
            return write_shards(
                options, plan, tokenizer,
                {.folder = folder, .finished = finished, .on_finished = on_finished});
          },
      .check =
          [&](const DatasetDescription& description) {
            require_no_empty_split(description, options);
            warn_of_shares(description);
            if (description.invalid_sequences == 0) return;
            log::warn("{} became U+FFFD",
                      format_counted(static_cast<std::int64_t>(description.invalid_sequences),
                                     "malformed UTF-8 sequence"));
          },
      .describe =
          [&](const DatasetDescription& description, const std::filesystem::path& folder) {
            save_tokenizer(tokenizer, folder);
            write_description(description, folder);
          }});
}

}  // namespace roformer
