#include "cli/data_triplets.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/origin.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/tokenizer_flags.h"
#include "data/triplet_maker.h"
#include "metrics/statistics.h"

namespace roformer {
namespace {

// Parses "6:2:2".
std::array<double, 3> parse_shares(const std::string& text) {
  std::array<double, 3> shares{};
  const char* cursor = text.data();
  const char* const end = cursor + text.size();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto [next, error] = std::from_chars(cursor, end, shares[i]);
    const bool last = i + 1 == shares.size();
    if (error != std::errc() || (last ? next != end : next == end || *next != ':')) {
      throw_usage("--split", "got \"" + text + "\", wanted three shares, as 6:2:2");
    }
    cursor = next + 1;
  }
  return shares;
}

struct TripletArguments {
  TripletOptions options;
  std::string split = "6:2:2";
};

void triplets_command(TripletArguments arguments) {
  TripletOptions& options = arguments.options;
  options.shares = parse_shares(arguments.split);
  options.command = command_line();
  const TripletCounts counts = make_triplets(options);
  fmt::print(
      "{}: triplets, {}\n", options.output.string(),
      options.topic_field.empty()
          ? "divided by A"
          : fmt::format("a text with the same \"{}\" is the closer one", options.topic_field));
  std::int64_t all = 0;
  for (std::size_t i = 0; i < counts.triplets.size(); ++i) {
    fmt::print("  {:<10}  {:>9} triplets, {:>9} different A\n", to_string(static_cast<Split>(i)),
               format_count(counts.triplets[i]), format_count(counts.anchors[i]));
    all += counts.triplets[i];
  }
  fmt::print("  C is the closer one in {} of {}\n", format_count(counts.swapped),
             format_count(all));
  if (counts.lonely > 0) {
    fmt::print("  {} texts are never A: no other text of their set has their \"{}\"\n",
               format_count(counts.lonely), options.topic_field);
  }
}

struct BaselineArguments {
  std::filesystem::path folder;
  TokenizerFlags tokenizer;
  bool json = false;
};

// The training texts, each once, give the weights.
BagOfWords training_words(const std::filesystem::path& folder, const Tokenizer& tokenizer) {
  std::set<std::string> texts;
  for (const MatchingExample& example : read_matching(folder, Split::train).examples) {
    texts.insert({example.anchor, example.closer});
    if (!example.farther.empty()) texts.insert(example.farther);
  }
  std::vector<std::vector<TokenId>> ids;
  for (const std::string& text : texts) ids.push_back(tokenizer.encode(text));
  return BagOfWords(ids);
}

void baseline_command(const BaselineArguments& arguments) {
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer_of(arguments.tokenizer);
  const BagOfWords words = training_words(arguments.folder, *tokenizer);
  nlohmann::ordered_json sets = nlohmann::ordered_json::array();
  for (const Split split : {Split::validation, Split::test}) {
    if (!has_matching_split(arguments.folder, split)) continue;
    const MatchingExamples set = read_matching(arguments.folder, split);
    if (!set.triplets) throw_usage(arguments.folder.string(), "holds pairs, not triplets");
    std::int64_t right = 0;
    for (const MatchingExample& example : set.examples) {
      const std::vector<TokenId> anchor = tokenizer->encode(example.anchor);
      right += words.cosine(anchor, tokenizer->encode(example.closer)) >
                       words.cosine(anchor, tokenizer->encode(example.farther))
                   ? 1
                   : 0;
    }
    const auto count = static_cast<std::int64_t>(set.examples.size());
    const double accuracy = static_cast<double>(right) / static_cast<double>(count);
    const Interval interval = wilson_interval(right, count);
    if (arguments.json) {
      sets.push_back({{"split", to_string(split)},
                      {"examples", count},
                      {"right", right},
                      {"accuracy", accuracy},
                      {"low", interval.low},
                      {"high", interval.high}});
    } else {
      fmt::print("{:<10}  {:.2f} % of {} triplets (95 %: {:.1f} to {:.1f})\n", to_string(split),
                 100 * accuracy, format_count(count), 100 * interval.low, 100 * interval.high);
    }
  }
  if (arguments.json) std::cout << sets.dump(2) << '\n';
}

}  // namespace

void add_triplets_command(CLI::App& data) {
  auto arguments = std::make_shared<TripletArguments>();
  TripletOptions& options = arguments->options;
  CLI::App* command = add_command(
      data,
      {.name = "triplets",
       .summary = "Divide triplets of texts, or draw them from texts with a topic",
       .details =
           "roformer data triplets cail2019_scm.jsonl --output data/prepared/cail\n"
           "Divides triplets (A, B, C) by A into train, validation and test, and swaps B and C.\n"
           "  roformer data triplets cases.jsonl --topic-field casename --output "
           "data/prepared/cases\n"
           "draws them: a text with the same topic as A is the closer one.\n"});
  command->add_option("input", options.inputs, "JSON lines: A, B, C, or a text and its topic")
      ->required()
      ->type_name("FILE");
  command->add_option("--output", options.output, "folder to make")
      ->required()
      ->type_name("FOLDER");
  command->add_option("--split", arguments->split, "shares of train, validation and test")
      ->capture_default_str()
      ->type_name("A:B:C");
  command->add_option("--seed", options.seed, "seed of the division, the swaps and what is drawn")
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--topic-field", options.topic_field, "draw triplets by this field")
      ->type_name("NAME");
  command->add_option("--text-field", options.text_field, "field of the text, with --topic-field")
      ->capture_default_str()
      ->type_name("NAME");
  command->add_option("--per-text", options.per_text, "triplets with each text as A")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  command->add_flag("--skip-broken", options.skip_broken,
                    "leave out lines that are no JSON objects, with a warning");
  command->add_flag("--overwrite", options.overwrite, "replace triplets that are there");
  command->callback([arguments, command] {
    if (arguments->options.topic_field.empty()) {
      refuse_given(*command, {"--text-field", "--per-text"},
                   "is for triplets that are drawn from texts with a topic", "--topic-field NAME");
    }
    triplets_command(*arguments);
  });
}

void add_baseline_command(CLI::App& data) {
  auto arguments = std::make_shared<BaselineArguments>();
  CLI::App* command = add_command(
      data, {.name = "baseline",
             .summary = "How many triplets a bag of words has right (TF-IDF and cosine)",
             .details = "roformer data baseline data/prepared/cail --wordpiece vocab.txt\n"
                        "The weights are counted on the training texts. No model is trained.\n"});
  command->add_option("folder", arguments->folder, "made by `data triplets`")
      ->required()
      ->type_name("FOLDER");
  add_tokenizer_flags(*command, arguments->tokenizer);
  command->add_flag("--json", arguments->json, "one JSON list");
  command->callback([arguments] { baseline_command(*arguments); });
}

}  // namespace roformer
