#include "data/prepare_pairs.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "base/random.h"
#include "data/corpus.h"
#include "data/line_reader.h"
#include "data/pair_writer.h"
#include "data/preparation.h"
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
    require_fraction(name, fraction);
    if (fraction > 0 && files->has_value()) {
      throw_usage(name, "cannot be combined with files of that set",
                  "the files are the whole set: leave the fraction out");
    }
  }
  if (corpus.validation_fraction + corpus.test_fraction >= 1) {
    throw_usage("test_fraction", "leaves nothing to train on",
                "make the fractions of validation and test add up to less than 1");
  }
  for (const PairSource& source : corpus.train) {
    if (!(source.weight > 0 && source.weight <= kLargestWeight)) {
      throw_usage(source.source.string(), fmt::format("has weight {}, wanted more than 0 and at "
                                                      "most {}",
                                                      source.weight, kLargestWeight));
    }
  }
}

void append(std::vector<fs::path>& files, const std::vector<fs::path>& more) {
  files.insert(files.end(), more.begin(), more.end());
}

// Warns of files that are read twice for training, or for training and a held-out set.
void warn_of_shared_files(const ParallelCorpus& corpus) {
  std::vector<fs::path> train;
  std::set<fs::path> places;
  for (const PairSource& source : corpus.train) {
    append(train, source.files());
    for (const fs::path& file : source.files()) places.insert(fs::weakly_canonical(file));
  }
  warn_of_repeated_files(train);
  for (const auto& [split, set] : corpus.held_out()) {
    for (const fs::path& file : set->pairs.files()) {
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

std::uint64_t total_bytes(const std::vector<const PairSource*>& sources) {
  std::uint64_t bytes = 0;
  for (const PairSource* const source : sources) bytes += pair_bytes(*source);
  return bytes;
}

// Counts pairs and passes their clean texts on.
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

// Applies the rules to training pairs, assigns them to splits and repeats them by weight.
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

// Passes on every pair of a validation or test set.
class HeldOutSink final : public CleaningSink {
 public:
  HeldOutSink(const HeldOutPairs& set, Split split, std::size_t origin, ReadingBar& bar,
              PairCounts& counts, PairWriter& writer)
      : CleaningSink(bar, counts), split_(split), origin_(origin), writer_(writer) {
    if (!set.reference.empty()) reference_.emplace(set.reference);
  }
  // Throws Error if the numbers of references and pairs differ.
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

// Reads the training sources. The counts of source i go to origins[i].
void read_training(const ParallelCorpus& corpus, ReadingBar& bar, std::vector<Origin>& origins,
                   const std::function<void(PairWriter::Entry)>& add) {
  PairTextRules rules(corpus.rules, corpus.languages);
  for (std::size_t i = 0; i < corpus.train.size(); ++i) {
    const PairSource& source = corpus.train[i];
    origins.push_back(
        {.files = names_of(source), .split = Split::train, .weight = source.weight, .counts = {}});
    TrainingSink sink(corpus, i, rules, bar, origins.back().counts, add);
    origins.back().counts.unmatched = read_pairs(source, corpus.languages, sink).unmatched;
    bar.end_pass();
  }
}

void require_no_empty_split(const ParallelDescription& description, const fs::path& output) {
  const BySplit<bool> is_wanted = {true, description.validation_fraction > 0,
                                   description.test_fraction > 0};
  for (const Split split : kSplits) {
    if (!is_wanted[split] || description[split].sentences > 0) continue;
    refuse_empty_split(output.string(), split, "",
                       "see what the rules removed; relax the rules or change the fractions");
  }
}

OutputFolder::Options place_of(const PreparePairsOptions& options) {
  return prepared_folder(options.output, options.overwrite, is_parallel_dataset);
}

// The description before any source is read.
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
    description.tokenizers[side] = {.fingerprint = tokenizer.fingerprint(),
                                    .description = tokenizer.description(),
                                    .vocabulary_size = tokenizer.vocabulary_size()};
  }
  return description;
}

// Reads all sources into the writer and adds the results to the description.
void write_corpus(const ParallelCorpus& corpus, PairWriter& writer,
                  ParallelDescription& description) {
  ReadingBar bar("preparing", total_bytes(corpus.sources()));
  read_training(corpus, bar, description.origins,
                [&](PairWriter::Entry entry) { writer.add(std::move(entry)); });
  for (const auto& [split, set] : corpus.held_out()) {
    const std::size_t origin = description.origins.size();
    description.origins.push_back(
        {.files = names_of(set->pairs), .split = split, .weight = 1, .counts = {}});
    HeldOutSink sink(*set, split, origin, bar, description.origins.back().counts, writer);
    const PairReading reading = read_pairs(set->pairs, corpus.languages, sink);
    description.origins.back().counts.unmatched = reading.unmatched;
    sink.finish();
    bar.end_pass();
  }
  description.splits = writer.finish(description.origins);
  description.fingerprint = writer.fingerprint();
  description.text_fingerprint = writer.text_fingerprint();
  bar.finish();
}

// Every source, with its set and the weight of its pairs.
std::string choice_of_sources(const ParallelCorpus& corpus) {
  std::string choice;
  const auto add = [&](std::string_view set, const PairSource& source, const fs::path& reference) {
    choice += fmt::format("{} {} {} {}\n{}\n{}\n{}\n", set, to_word(source.format), source.weight,
                          source.skip_broken, source.source.string(), source.target.string(),
                          reference.string());
  };
  for (const PairSource& source : corpus.train) add("train", source, "");
  for (const auto& [split, set] : corpus.held_out()) {
    add(to_string(split), set->pairs, set->reference);
  }
  return digest_of(choice);
}

std::string text_of(const PairRules& rules) {
  std::string text;
  for_each_field(rules, [&](const char*, auto value) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", value);
  });
  return text;
}

PreparationIdentity identity_of(const PreparePairsOptions& options, const Tokenizer& source,
                                const Tokenizer& target) {
  const ParallelCorpus& corpus = options.corpus;
  std::vector<fs::path> files;
  for (const PairSource& train : corpus.train) append(files, pair_files(train));
  for (const auto& [split, set] : corpus.held_out()) {
    append(files, pair_files(set->pairs));
    if (!set->reference.empty()) files.push_back(set->reference);
  }
  return make_identity(
      files, {{"source tokenizer", hexadecimal(source.fingerprint())},
              {"target tokenizer", hexadecimal(target.fingerprint())},
              {"pair of languages", corpus.languages.source + " " + corpus.languages.target},
              {"choice of sources", choice_of_sources(corpus)},
              {"set of rules", text_of(corpus.rules)},
              {"validation fraction", fmt::format("{}", corpus.validation_fraction)},
              {"test fraction", fmt::format("{}", corpus.test_fraction)},
              {"seed", fmt::format("{}", corpus.seed)},
              {"size of shards", fmt::format("{}", options.shard_tokens)}});
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

std::vector<std::pair<Split, const HeldOutPairs*>> ParallelCorpus::held_out() const {
  std::vector<std::pair<Split, const HeldOutPairs*>> sets;
  if (validation) sets.emplace_back(Split::validation, &*validation);
  if (test) sets.emplace_back(Split::test, &*test);
  return sets;
}

std::vector<const PairSource*> ParallelCorpus::sources() const {
  std::vector<const PairSource*> all;
  for (const PairSource& source : train) all.push_back(&source);
  for (const auto& [split, set] : held_out()) all.push_back(&set->pairs);
  return all;
}

void ParallelCorpus::set_reading(bool follow_links, bool skip_broken) {
  const auto set = [&](PairSource& source) {
    source.follow_links |= follow_links;
    source.skip_broken |= skip_broken;
  };
  for (PairSource& source : train) set(source);
  if (validation) set(validation->pairs);
  if (test) set(test->pairs);
}

void require_preparable(const PreparePairsOptions& options) {
  check(options.corpus);
  total_bytes(options.corpus.sources());
  OutputFolder::require_free(place_of(options));
}

ParallelDescription prepare_pairs(const PreparePairsOptions& options, const Tokenizer& source,
                                  const Tokenizer& target) {
  check(options.corpus);
  require_threads(options.threads);
  warn_of_shared_files(options.corpus);
  return run_preparation(Preparation<FinishedPairs, ParallelDescription>{
      .place = place_of(options),
      .identity = identity_of(options, source, target),
      .write =
          [&](const auto& folder, const FinishedPairs& finished, const auto& on_finished) {
            PairWriter writer({.folder = folder,
                               .threads = options.threads,
                               .shard_tokens = options.shard_tokens,
                               .rules = options.corpus.rules,
                               .finished = finished,
                               .on_finished = on_finished},
                              source, target);
            ParallelDescription description = described(options, source, target);
            write_corpus(options.corpus, writer, description);
            return description;
          },
      .check =
          [&](const ParallelDescription& description) {
            require_no_empty_split(description, options.output);
            if (description[Split::validation].sentences > 0) return;
            warn_of_missing_validation("these pairs");
          },
      .describe =
          [&](const ParallelDescription& description, const fs::path& folder) {
            const Tokenizer& stored = description.joint_vocabulary ? source : target;
            save_translation_tokenizers({.source = source, .target = stored}, folder);
            write_description(description, folder);
          }});
}

void for_each_training_pair(
    const ParallelCorpus& corpus,
    const std::function<void(const std::string& source, const std::string& target)>& take) {
  check(corpus);
  ReadingBar bar("reading", total_bytes(ParallelCorpus{.train = corpus.train}.sources()));
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
