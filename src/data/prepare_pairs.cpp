#include "data/prepare_pairs.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/output_folder.h"
#include "base/progress.h"
#include "base/random.h"
#include "data/corpus.h"
#include "data/line_reader.h"
#include "data/pair_writer.h"
#include "data/preparation_identity.h"
#include "data/preparation_journal.h"
#include "data/prepared_files.h"
#include "text/sentence_sample.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/translation_tokenizers.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using Origin = ParallelDescription::Origin;
constexpr double kLargestWeight = 1000;

void check(const ParallelCorpus& corpus) {
  if (corpus.train.empty()) {
    throw_usage("train", "no training pairs are named", "name files of sentence pairs");
  }
  for (const auto& [name, fraction, files] :
       {std::tuple("validation_fraction", corpus.validation_fraction, &corpus.validation),
        std::tuple("test_fraction", corpus.test_fraction, &corpus.test)}) {
    if (!(fraction >= 0 && fraction < 1)) {
      throw_usage(name, fmt::format("is {}, wanted at least 0 and less than 1", fraction));
    }
    if (fraction > 0 && files->has_value()) {
      throw_usage(name, "cannot be combined with files of that set",
                  "the files are the whole set: leave the fraction out");
    }
  }
  if (corpus.validation_fraction + corpus.test_fraction >= 1) {
    throw_usage("test_fraction", "leaves nothing to train on",
                "give validation and test less than 1 together");
  }
  for (const PairSource& source : corpus.train) {
    if (!(source.weight > 0 && source.weight <= kLargestWeight)) {
      throw_usage(source.source.string(), fmt::format("has weight {}, wanted more than 0 and at "
                                                      "most {}",
                                                      source.weight, kLargestWeight));
    }
  }
}

// Warns of files that are trained on twice, or trained on and held out as well.
void warn_of_shared_files(const ParallelCorpus& corpus) {
  std::vector<fs::path> train;
  std::set<fs::path> places;
  for (const PairSource& source : corpus.train) {
    for (const fs::path& file : source.files()) {
      train.push_back(file);
      places.insert(fs::weakly_canonical(file));
    }
  }
  warn_of_repeated_files(train);
  for (const auto* const set : {&corpus.validation, &corpus.test}) {
    if (!*set) continue;
    for (const fs::path& file : (*set)->pairs.files()) {
      if (!places.contains(fs::weakly_canonical(file))) continue;
      log::warn("{} is trained on, and held out as well", file.string());
    }
  }
}

std::string names_of(const PairSource& source) {
  std::string names;
  for (const fs::path& file : source.files()) {
    names += (names.empty() ? "" : ", ") + file.string();
  }
  return names;
}

// A bar over the bytes of all sources.
class ReadingBar {
 public:
  ReadingBar(const std::string& title, std::uint64_t total) : bar_(title, total, "B") {}

  void advance(std::uint64_t of_source) { bar_.advance_to(done_ = finished_ + of_source); }
  void end_source() { finished_ = done_; }
  void finish() { bar_.finish(done_); }

 private:
  ProgressBar bar_;
  std::uint64_t done_ = 0;
  std::uint64_t finished_ = 0;
};

std::uint64_t total_bytes(const ParallelCorpus& corpus, bool with_held_out) {
  std::uint64_t bytes = 0;
  for (const PairSource& source : corpus.train) bytes += pair_bytes(source);
  if (!with_held_out) return bytes;
  for (const auto* const set : {&corpus.validation, &corpus.test}) {
    if (*set) bytes += pair_bytes((*set)->pairs);
  }
  return bytes;
}

// Cleans pairs and hands them on with their counts.
class CleaningSink : public PairSink {
 public:
  CleaningSink(ReadingBar& bar, PairCounts& counts) : bar_(bar), counts_(counts) {}

  void pair(const SentencePair& raw) final {
    ++counts_.read;
    std::uint64_t replaced = raw.replaced;
    std::string source = clean_sentence(raw.source, replaced);
    std::string target = clean_sentence(raw.target, replaced);
    counts_.invalid += replaced > 0;
    take(std::move(source), std::move(target), raw.page);
  }
  void progress(std::uint64_t done) final { bar_.advance(done); }

 protected:
  virtual void take(std::string source, std::string target, std::uint64_t page) = 0;
  PairCounts& counts() { return counts_; }

 private:
  ReadingBar& bar_;
  PairCounts& counts_;
};

// Pairs of the training set: under the rules, dealt to the splits, repeated by weight.
class TrainingSink final : public CleaningSink {
 public:
  TrainingSink(const ParallelCorpus& corpus, std::size_t origin, PairTextRules& rules,
               ReadingBar& bar, PairCounts& counts, std::function<void(PairWriter::Entry)> add)
      : CleaningSink(bar, counts),
        corpus_(corpus),
        origin_(origin),
        rules_(rules),
        add_(std::move(add)) {}

 private:
  const ParallelCorpus& corpus_;
  std::size_t origin_;
  PairTextRules& rules_;
  std::function<void(PairWriter::Entry)> add_;

  double chance(std::string_view what, std::uint64_t which) const {
    return Random(random_key({corpus_.seed, random_word(what), origin_, which})).uniform();
  }
  Split split_of(std::uint64_t page) const {
    const double share = chance("parallel split", page);
    if (share < corpus_.validation_fraction) return Split::validation;
    return share < corpus_.validation_fraction + corpus_.test_fraction ? Split::test : Split::train;
  }
  std::int64_t copies() {
    const double weight = corpus_.train[origin_].weight;
    const double whole = std::floor(weight);
    return static_cast<std::int64_t>(whole) +
           (chance("pair weight", counts().read) < weight - whole ? 1 : 0);
  }
  void take(std::string source, std::string target, std::uint64_t page) override {
    if (const std::optional<PairRule> broken = rules_.broken_by(source, target)) {
      ++counts()[*broken];
      return;
    }
    const Split split = split_of(page);
    add_({.source = std::move(source),
          .target = std::move(target),
          .reference = std::nullopt,
          .split = split,
          .copies = split == Split::train ? copies() : 1,
          .under_rules = true,
          .origin = origin_});
  }
};

// Pairs of a validation or test set, all of them.
class HeldOutSink final : public CleaningSink {
 public:
  HeldOutSink(const HeldOutPairs& set, Split split, std::size_t origin, ReadingBar& bar,
              PairCounts& counts, PairWriter& writer)
      : CleaningSink(bar, counts), split_(split), origin_(origin), writer_(writer) {
    if (!set.reference.empty()) reference_.emplace(set.reference);
  }
  // Throws Error where the references are fewer or more than the pairs.
  void finish() {
    std::string_view line;
    if (reference_ && reference_->next(line)) refuse_references();
  }

 private:
  Split split_;
  std::size_t origin_;
  PairWriter& writer_;
  std::optional<LineReader> reference_;

  [[noreturn]] void refuse_references() {
    throw_failure(reference_->location(),
                  fmt::format("the references and the pairs do not match line by line: {} pairs "
                              "so far",
                              counts().read),
                  "give one line for each pair");
  }
  void take(std::string source, std::string target, std::uint64_t) override {
    std::optional<std::string> reference;
    if (reference_) {
      std::string_view line;
      if (!reference_->next(line)) refuse_references();
      std::uint64_t replaced = 0;
      reference = clean_sentence(line, replaced);
    }
    writer_.add({.source = std::move(source),
                 .target = std::move(target),
                 .reference = std::move(reference),
                 .split = split_,
                 .copies = 1,
                 .under_rules = false,
                 .origin = origin_});
  }
};

// Reads the training sources; counts go to origins[i] for source i.
void read_training(const ParallelCorpus& corpus, ReadingBar& bar, std::vector<Origin>& origins,
                   const std::function<void(PairWriter::Entry)>& add) {
  PairTextRules rules(corpus.rules, corpus.languages);
  for (std::size_t i = 0; i < corpus.train.size(); ++i) {
    const PairSource& source = corpus.train[i];
    origins.push_back(
        {.files = names_of(source), .split = Split::train, .weight = source.weight, .counts = {}});
    TrainingSink sink(corpus, i, rules, bar, origins.back().counts, add);
    origins.back().counts.unmatched = read_pairs(source, corpus.languages, sink).unmatched;
    bar.end_source();
  }
}

void refuse_empty_split(const ParallelDescription& description, const fs::path& output) {
  for (const Split split : kSplits) {
    const bool wanted =
        split == Split::train || (split == Split::validation ? description.validation_fraction > 0
                                                             : description.test_fraction > 0);
    if (!wanted || description[split].sentences > 0) continue;
    throw_failure(output.string(), fmt::format("the {} set would be empty", to_string(split)),
                  "look at what the rules removed, and loosen them or the fractions");
  }
}

void warn_of_missing_validation(const ParallelDescription& description) {
  if (description[Split::validation].sentences > 0) return;
  log::warn(
      "there is no validation set: these pairs can be trained on only with "
      "--validation-fraction or --validation files");
}

OutputFolder::Options place_of(const PreparePairsOptions& options) {
  return {.output = options.output,
          .overwrite = options.overwrite,
          .flag = "--output",
          .contents = "a prepared data set and nothing else",
          .is_replaceable =
              [](const auto& there) {
                return is_parallel_dataset(there) && holds_only_prepared_files(there);
              },
          .journal = kPreparationJournal};
}

// What is known before anything is read.
ParallelDescription described(const PreparePairsOptions& options, const Tokenizer& source,
                              const Tokenizer& target) {
  const ParallelCorpus& corpus = options.corpus;
  ParallelDescription description{.name = options.name,
                                  .source = options.source,
                                  .licence = options.licence,
                                  .command = options.command,
                                  .languages = corpus.languages,
                                  .joint_vocabulary = source.fingerprint() == target.fingerprint(),
                                  .tokenizers = {},
                                  .validation_fraction = corpus.validation_fraction,
                                  .test_fraction = corpus.test_fraction,
                                  .seed = corpus.seed,
                                  .rules = corpus.rules,
                                  .origins = {},
                                  .splits = {}};
  for (const Side side : kSides) {
    const Tokenizer& tokenizer = side == Side::source ? source : target;
    description.tokenizers[static_cast<std::size_t>(side)] = {
        .fingerprint = tokenizer.fingerprint(),
        .description = tokenizer.description(),
        .vocabulary_size = tokenizer.vocabulary_size()};
  }
  return description;
}

// Reads all sources into the writer; adds to the description what came out.
void write_corpus(const ParallelCorpus& corpus, PairWriter& writer,
                  ParallelDescription& description) {
  ReadingBar bar("preparing", total_bytes(corpus, true));
  read_training(corpus, bar, description.origins,
                [&](PairWriter::Entry entry) { writer.add(std::move(entry)); });
  for (const auto& [split, set] :
       {std::pair(Split::validation, &corpus.validation), std::pair(Split::test, &corpus.test)}) {
    if (!*set) continue;
    const std::size_t origin = description.origins.size();
    description.origins.push_back(
        {.files = names_of((*set)->pairs), .split = split, .weight = 1, .counts = {}});
    HeldOutSink sink(**set, split, origin, bar, description.origins.back().counts, writer);
    const PairReading reading = read_pairs((*set)->pairs, corpus.languages, sink);
    description.origins.back().counts.unmatched = reading.unmatched;
    sink.finish();
    bar.end_source();
  }
  description.splits = writer.finish(description.origins);
  description.fingerprint = writer.fingerprint();
  description.text_fingerprint = writer.text_fingerprint();
  bar.finish();
}

std::shared_ptr<const Tokenizer> train(const SentenceSample& sample,
                                       const SentencePieceTraining& training,
                                       const std::string& languages) {
  log::info("training {} pieces for {} on {} of {} sentences", format_count(training.pieces),
            languages, format_count(static_cast<std::int64_t>(sample.sentences().size())),
            format_count(static_cast<std::int64_t>(sample.seen())));
  return make_sentencepiece_tokenizer(train_sentencepiece(sample.sentences(), training),
                                      "trained model");
}

}  // namespace

void ParallelCorpus::follow_links() {
  for (PairSource& source : train) source.follow_links = true;
  for (auto* const set : {&validation, &test}) {
    if (*set) (*set)->pairs.follow_links = true;
  }
}

void skip_broken_lines(ParallelCorpus& corpus) {
  for (PairSource& source : corpus.train) source.skip_broken = true;
  for (auto* const set : {&corpus.validation, &corpus.test}) {
    if (*set) (*set)->pairs.skip_broken = true;
  }
}

void require_preparable(const PreparePairsOptions& options) {
  check(options.corpus);
  total_bytes(options.corpus, true);
  OutputFolder::require_free(place_of(options));
}

ParallelDescription prepare_pairs(const PreparePairsOptions& options, const Tokenizer& source,
                                  const Tokenizer& target) {
  check(options.corpus);
  if (options.threads < 1) {
    throw_usage("threads", fmt::format("is {}, wanted at least 1", options.threads));
  }
  warn_of_shared_files(options.corpus);
  const PreparationIdentity identity = identity_of(options, source, target);
  OutputFolder folder(place_of(options));
  const PreparationJournal journal(folder.path(), identity);
  const auto write = [&](const FinishedPairs& finished) {
    PairWriter writer(
        {.folder = folder.path(),
         .threads = options.threads,
         .shard_tokens = options.shard_tokens,
         .rules = options.corpus.rules,
         .finished = finished,
         .on_finished = [&](const FinishedPairs& now) { journal.write(to_json(now)); }},
        source, target);
    ParallelDescription description = described(options, source, target);
    write_corpus(options.corpus, writer, description);
    return description;
  };
  ParallelDescription description;
  try {
    description = write(recover_pairs(journal));
  } catch (const CorpusChanged& problem) {
    journal.begin_anew(problem.parts().message);
    description = write({});
  } catch (const ReadError&) {  // another time what is finished may be read
    if (folder.is_begun()) folder.leave();
    throw;
  }
  refuse_empty_split(description, options.output);
  warn_of_missing_validation(description);
  save_translation_tokenizers(
      {.source = source, .target = description.joint_vocabulary ? source : target}, folder.path());
  write_description(description, folder.path());
  folder.commit();
  return description;
}

void for_each_training_pair(
    const ParallelCorpus& corpus,
    const std::function<void(const std::string& source, const std::string& target)>& take) {
  check(corpus);
  ReadingBar bar("reading", total_bytes(corpus, false));
  std::vector<Origin> origins;
  read_training(corpus, bar, origins, [&](const PairWriter::Entry& entry) {
    if (entry.split == Split::train) take(entry.source, entry.target);
  });
  bar.finish();
}

PairTokenizers train_pair_vocabulary(const ParallelCorpus& corpus,
                                     const PairVocabulary& vocabulary) {
  SentenceSample first(vocabulary.sample, corpus.seed);
  SentenceSample second(vocabulary.sample, corpus.seed);
  SentenceSample& of_target = vocabulary.joint ? first : second;
  for_each_training_pair(corpus, [&](const std::string& source, const std::string& target) {
    first.add(source);
    of_target.add(target);
  });
  const PairLanguages& names = corpus.languages;
  PairTokenizers tokenizers;
  if (vocabulary.joint) {
    tokenizers.source = train(first, vocabulary.training, names.source + " and " + names.target);
    tokenizers.target = tokenizers.source;
  } else {
    tokenizers.source = train(first, vocabulary.training, names.source);
    tokenizers.target = train(second, vocabulary.training, names.target);
  }
  return tokenizers;
}

}  // namespace roformer
