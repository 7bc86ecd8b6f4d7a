// `roformer data`: prepares text for training, and shows the contents of a prepared data set.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/cores.h"
#include "base/error.h"
#include "base/hexadecimal.h"
#include "base/printable.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/corpus_flags.h"
#include "cli/data_inspection.h"
#include "cli/data_triplets.h"
#include "cli/parallel_flags.h"
#include "cli/tokenizer_flags.h"
#include "data/overlap.h"
#include "data/prepare.h"

namespace roformer {
namespace {

struct PrepareArguments : PrepareFlags {
  std::string separator;  // empty: the recipe's, or blank-line without a recipe
  bool remove_repeats = false;
  ParallelFlags pairs;
};

// The default output for data/NAME.yaml is data/prepared/NAME, where configs/ looks for it.
std::filesystem::path standard_output(const std::vector<std::filesystem::path>& inputs) {
  const std::optional<std::filesystem::path> recipe = recipe_among(inputs);
  if (!recipe) {
    throw_usage("--output", "is required", "name the folder to make; only a recipe has a default");
  }
  return recipe->parent_path() / "prepared" / recipe->stem();
}

// Replaces the recipe's files, or its share of the documents, for one split.
void take_split(const char* name, const std::vector<std::filesystem::path>& files, double fraction,
                const ByteShares& shares, std::vector<std::filesystem::path>& inputs,
                double& wanted) {
  if (files.empty() && fraction < 0) return;
  const std::string flag = fmt::format("--{}{}", name, files.empty() ? "-fraction" : "");
  if (shares.whole() > 0) {
    throw_usage(flag, "cannot be combined with a recipe that divides its file by bytes");
  }
  if (!files.empty() && fraction >= 0) {
    throw_usage(fmt::format("--{}-fraction", name),
                fmt::format("cannot be combined with --{}", name),
                fmt::format("the files given with --{0} are the whole {0} set", name));
  }
  inputs = files;
  if (fraction >= 0) wanted = fraction;
}

// A file that is split by bytes is kept byte for byte, so another reader and a separator are
// refused.
void refuse_other_readings(const PrepareArguments& arguments, const Recipe& recipe) {
  if (recipe.shares.whole() == 0) return;
  const bool reader = recipe.corpus.reader != CorpusReader::verbatim;
  if (!reader && arguments.separator.empty()) return;
  throw_usage(reader ? "--reader" : "--document-separator",
              "cannot be combined with a recipe that divides its file by bytes",
              "leave it out, or prepare the file without the recipe");
}

PrepareOptions prepare_options(const PrepareArguments& arguments) {
  PrepareOptions options;
  const Recipe recipe = recipe_of(arguments.corpus);
  refuse_other_readings(arguments, recipe);
  options.corpus = recipe.corpus;
  options.validation_inputs = recipe.validation_files;
  options.test_inputs = recipe.test_files;
  options.validation_fraction = recipe.validation_fraction;
  options.test_fraction = recipe.test_fraction;
  options.shares = recipe.shares;
  arguments.set_output(options, recipe);
  if (!arguments.separator.empty()) {
    if (recipe.corpus.reader == CorpusReader::json_lines) {
      throw_usage("--document-separator", "is of text: of JSON Lines each object is a document");
    }
    options.corpus.separator = parse_document_separator(arguments.separator);
  }
  options.corpus.remove_repeats |= arguments.remove_repeats;
  take_split("validation", arguments.validation, arguments.validation_fraction, recipe.shares,
             options.validation_inputs, options.validation_fraction);
  take_split("test", arguments.test, arguments.test_fraction, recipe.shares, options.test_inputs,
             options.test_fraction);
  options.seed = arguments.seed;
  return options;
}

void print_summary(const DatasetDescription& description, const std::filesystem::path& output) {
  const auto count = [](std::uint64_t value) {
    return format_count(static_cast<std::int64_t>(value));
  };
  std::cout << output.string() << ": data set " << clean_line(shown_name(description))
            << ", fingerprint " << hexadecimal(description.fingerprint) << '\n';
  for (const Split split : kSplits) {
    const SplitCounts& counts = description[split].counts;
    if (split == Split::test && counts.tokens == 0) continue;
    std::cout << fmt::format(
        "  {:<10}  {:>11} documents  {:>14} tokens  {:>15} characters  {:>6.2f} % unknown\n",
        to_string(split), count(counts.documents), count(counts.tokens), count(counts.characters),
        100 * static_cast<double>(counts.unknown) /
            static_cast<double>(std::max<std::uint64_t>(1, counts.tokens)));
  }
  std::cout << "  files read: " << count(description.files);
  if (description.files_skipped > 0) {
    std::cout << ", left out: " << count(description.files_skipped);
  }
  std::cout << '\n';
  if (description.repeats_removed > 0) {
    std::cout << "  repeated lines left out: " << count(description.repeats_removed) << '\n';
  }
}

void refuse_text_flags(const PrepareArguments& arguments) {
  std::string flag = first_text_flag(arguments.corpus);
  if (!arguments.separator.empty()) flag = "--document-separator";
  if (arguments.remove_repeats) flag = "--remove-repeats";
  if (!flag.empty()) throw_usage(flag, "is for running text, not for sentence pairs");
}

void add_prepare(CLI::App& data) {
  auto arguments = std::make_shared<PrepareArguments>();
  CLI::App* command = add_command(
      data,
      {.name = "prepare",
       .summary = "Tokenise text once into shards that training maps into memory",
       .details = "INPUT is a recipe of data/ (a .yaml file), or text: files, folders, tar or "
                  "zip archives, - for standard input; or JSON Lines (.jsonl) or Parquet (read by "
                  "python3 with pyarrow). Text may be compressed (.gz, .bz2, .xz, .zst) and larger "
                  "than memory. With --languages INPUT is sentence pairs."});
  add_corpus_flags(*command, arguments->corpus);
  command
      ->add_option("--output", arguments->output,
                   "folder to make (default: of a recipe, prepared/NAME beside it)")
      ->type_name("FOLDER");
  add_tokenizer_flags(*command, arguments->tokenizer);
  command
      ->add_option("--document-separator", arguments->separator,
                   "what ends a document: blank-line (default), two-blank-lines, line, file")
      ->type_name("WORD");
  command->add_flag("--remove-repeats", arguments->remove_repeats,
                    "leave out lines met before, anywhere in the corpus");
  command
      ->add_option(
          "--validation-fraction", arguments->validation_fraction,
          "share of the documents for validation (default: the recipe's, else 0.2; for pairs, 0)")
      ->type_name("NUMBER")
      ->check(number_in(between(0, 1)));
  command
      ->add_option("--validation", arguments->validation,
                   "files for the validation set; none of INPUT is held out for it")
      ->type_name("INPUT");
  command
      ->add_option("--test-fraction", arguments->test_fraction,
                   "share of the documents for the test set (default: the recipe's, or 0)")
      ->type_name("NUMBER")
      ->check(number_in(between(0, 1)));
  command->add_option("--test", arguments->test, "files that are the test set, as --validation")
      ->type_name("INPUT");
  command
      ->add_option("--seed", arguments->seed,
                   "seed for choosing validation and test documents (default: 1)")
      ->check(not_negative())
      ->type_name("N");
  command->add_option("--threads", arguments->threads, "threads to use (default: all cores)")
      ->check(CLI::Range(std::int64_t{1}, kMostThreads))
      ->type_name("N");
  command
      ->add_option("--shard-tokens", arguments->shard_tokens,
                   "tokens per shard; finished shards survive a kill")
      ->capture_default_str()
      ->type_name("TOKENS")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  command->add_flag("--overwrite", arguments->overwrite, "replace a data set that is there");
  add_parallel_flags(*command, arguments->pairs);
  command->callback([arguments, command] {
    if (arguments->output.empty()) arguments->output = standard_output(arguments->corpus.inputs);
    if (wants_pairs(arguments->pairs, *arguments)) {
      refuse_text_flags(*arguments);
      prepare_parallel(*command, arguments->pairs, *arguments);
      return;
    }
    refuse_parallel_flags(*command);
    const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer_of(arguments->tokenizer);
    print_summary(prepare(prepare_options(*arguments), *tokenizer), arguments->output);
  });
}

void print_overlap(const Dataset& dataset, std::size_t length) {
  for (const Split split : {Split::validation, Split::test}) {
    if (dataset.description()[split].counts.tokens == 0) continue;
    const Overlap overlap = overlap_with_training(dataset, split, length);
    std::cout << fmt::format(
        "{}: {} of {} different spans of {} tokens are in the training set too, at {} places\n",
        to_string(split), format_count(static_cast<std::int64_t>(overlap.shared)),
        format_count(static_cast<std::int64_t>(overlap.spans)), length,
        format_count(static_cast<std::int64_t>(overlap.places)));
  }
}

template <class AnyDataset>
void inspect(const AnyDataset& dataset, const InspectionOptions& options) {
  std::cout << describe(dataset) << std::flush;
  dataset.verify_checksums();
  std::cout << "checksums are right\n";
  if constexpr (std::is_same_v<AnyDataset, ParallelDataset>) {
    std::cout << '\n'
              << describe_rules(dataset.description()) << '\n'
              << describe_splits(dataset.description()) << '\n';
  }
  std::cout << describe_lengths(dataset) << examples_of(dataset, options);
}

void add_inspect(CLI::App& data) {
  auto folder = std::make_shared<std::filesystem::path>();
  auto options = std::make_shared<InspectionOptions>();
  auto overlap = std::make_shared<std::size_t>(0);
  CLI::App* command = add_command(
      data, {.name = "inspect",
             .summary = "Show the size, the lengths and examples of a prepared data set",
             .details = "Reads every shard whole and compares its checksum. The examples are "
                        "masked rows, or pairs of sentences."});
  command->add_option("folder", *folder, "made by `data prepare`")->required()->type_name("FOLDER");
  command->add_option("--length", options->length, "tokens per row")
      ->capture_default_str()
      ->type_name("TOKENS")
      ->check(CLI::Range(8, 1 << 20));
  command->add_option("--examples", options->examples, "masked rows, or pairs of a split, to show")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(0, 1000));
  command->add_option("--seed", options->seed, "seed of the rows and masks shown")
      ->capture_default_str()
      ->type_name("N");
  command->add_flag("--whole-word", options->masking.whole_words, "mask whole words");
  command
      ->add_option("--overlap", *overlap,
                   "for text: count the spans of this many tokens that a held-out set shares with "
                   "the training set")
      ->type_name("TOKENS")
      ->check(CLI::Range(1, 1 << 20));
  command->callback([folder, options, overlap] {
    if (is_parallel_dataset(*folder)) {
      if (*overlap > 0) throw_usage("--overlap", "is for running text, not for sentence pairs");
      inspect(ParallelDataset(*folder), *options);
    } else {
      const Dataset dataset(*folder);
      inspect(dataset, *options);
      if (*overlap > 0) print_overlap(dataset, *overlap);
    }
  });
}

}  // namespace

void add_data_command(CLI::App& program) {
  CLI::App* data = add_listed_command(program, "data");
  data->require_subcommand(1);
  add_prepare(*data);
  add_inspect(*data);
  add_triplets_command(*data);
  add_baseline_command(*data);
}

}  // namespace roformer
