#include "cli/matching_commands.h"

#include <fmt/format.h>

#include <charconv>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "base/command_line.h"
#include "base/error.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/tokenizer_flags.h"
#include "data/bag_of_words.h"
#include "data/triplet_maker.h"
#include "metrics/proportions.h"
#include "report/table.h"
#include "runs/matching_evaluation.h"

namespace roformer {
namespace {

// The beginning of a text, for a line of its own.
std::string beginning(const std::string& text, std::size_t characters = 60) {
  std::string result;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (begins && characters-- == 0) return result + "…";
    result += c == '\n' || c == '\t' || c == '\r' ? ' ' : c;
  }
  return result;
}

MatchingSplit split_of(const std::string& name) {
  return name == "test" ? MatchingSplit::test : MatchingSplit::validation;
}

Table shares_table(const MatchingEvaluation& evaluation) {
  const NumberFormat percent{NumberFormat::Style::percent, 1};
  Table table({{.title = "longest text", .alignment = Column::Alignment::left},
               {.title = "examples", .format = {NumberFormat::Style::count, 0}},
               {.title = "accuracy", .format = percent},
               {.title = "95 % from", .format = percent},
               {.title = "to", .format = percent}});
  const auto add = [&](const MatchingShare& share) {
    const Interval interval = share.interval();
    table.add_row({share.name, share.examples, share.accuracy(), interval.low, interval.high});
  };
  add(evaluation.all);
  for (const MatchingShare& share : evaluation.by_length) add(share);
  return table;
}

void print_example(const MatchingSet& set, const MatchingEvaluation& evaluation, std::size_t i) {
  const MatchingExample& example = set.source.examples[i];
  if (set.source.triplets) {
    fmt::print("  line {}: {:.3f} for the closer, {:.3f} for the farther text\n", example.line,
               evaluation.scores[2 * i], evaluation.scores[2 * i + 1]);
  } else {
    fmt::print("  line {}: {:.3f}, {}\n", example.line, evaluation.scores[i],
               example.matches ? "is a match" : "is none");
  }
  fmt::print("      A       {}\n      {}  {}\n", beginning(example.anchor),
             set.source.triplets ? "closer" : "B     ", beginning(example.closer));
  if (set.source.triplets) fmt::print("      farther {}\n", beginning(example.farther));
}

std::string describe(const MatchingComparison& comparison, const std::string& other) {
  return fmt::format(
      "against {}: {} examples only this run has right, {} only the other; McNemar's test (exact) "
      "p = {:.3f}{}\n",
      other, comparison.only_first, comparison.only_second, comparison.p_value,
      comparison.p_value < 0.05 ? "" : ": no difference can be concluded at 5 %");
}

// "6:2:2"
std::array<double, 3> parse_shares(const std::string& text) {
  std::array<double, 3> shares{};
  const char* place = text.data();
  const char* const end = place + text.size();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto [next, error] = std::from_chars(place, end, shares[i]);
    const bool last = i + 1 == shares.size();
    if (error != std::errc() || (last ? next != end : next == end || *next != ':')) {
      throw_usage("--split", "got \"" + text + "\", wanted three shares, as 6:2:2");
    }
    place = next + 1;
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
    fmt::print("  {:<10}  {:>9} triplets, {:>9} different A\n",
               to_string(static_cast<MatchingSplit>(i)), format_count(counts.triplets[i]),
               format_count(counts.anchors[i]));
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

// Training texts give the weights, all of them once.
BagOfWords training_words(const std::filesystem::path& folder, const Tokenizer& tokenizer) {
  std::set<std::string> texts;
  for (const MatchingExample& example : read_matching(folder, MatchingSplit::train).examples) {
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
  for (const MatchingSplit split : {MatchingSplit::validation, MatchingSplit::test}) {
    if (!has_matching_split(arguments.folder, split)) continue;
    const MatchingExamples set = read_matching(arguments.folder, split);
    if (!set.triplets) throw_usage(arguments.folder.string(), "holds pairs, not triplets");
    MatchingShare share{.name = std::string(to_string(split)),
                        .examples = std::ssize(set.examples)};
    for (const MatchingExample& example : set.examples) {
      const std::vector<TokenId> anchor = tokenizer->encode(example.anchor);
      share.right += words.cosine(anchor, tokenizer->encode(example.closer)) >
                             words.cosine(anchor, tokenizer->encode(example.farther))
                         ? 1
                         : 0;
    }
    if (arguments.json) {
      sets.push_back(to_json(share));
    } else {
      fmt::print("{:<10}  {:.2f} % of {} triplets (95 %: {:.1f} to {:.1f})\n", share.name,
                 100 * share.accuracy(), format_count(share.examples), 100 * share.interval().low,
                 100 * share.interval().high);
    }
  }
  if (arguments.json) std::cout << sets.dump(2) << '\n';
}

}  // namespace

void evaluate_matcher(const TrainedClassifier& trained, const MatcherEvaluation& options) {
  Settings settings = trained.settings;
  if (!options.data.empty()) settings.data.directory = options.data;
  const MatchingSplit split = split_of(options.split);
  const MatchingSet set = load_matching_set(settings, *trained.tokenizer, split);
  const MatchingEvaluation evaluation =
      evaluate_matching(*trained.classifier, settings.matching, set);
  std::optional<MatchingComparison> comparison;
  if (!options.against.empty()) {
    const TrainedClassifier other = open_trained_matcher(options.against);
    Settings others = other.settings;
    others.data.directory = settings.data.directory;
    const MatchingSet same = load_matching_set(others, *other.tokenizer, split);
    comparison = compare_answers(evaluation.right,
                                 evaluate_matching(*other.classifier, others.matching, same).right);
  }
  const std::vector<std::size_t> worst =
      worst_answers(set, evaluation, static_cast<std::size_t>(options.errors));
  if (options.json) {
    nlohmann::ordered_json object = to_json(evaluation);
    object["model"] = trained.checkpoint.string();
    object["data"] = settings.data.directory.string();
    object["split"] = options.split;
    if (comparison) object["against"] = to_json(*comparison);
    for (const std::size_t i : worst) {
      const MatchingExample& example = set.source.examples[i];
      object["errors"].push_back({{"line", example.line},
                                  {"A", example.anchor},
                                  {"closer", example.closer},
                                  {"farther", example.farther}});
    }
    std::cout << object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    return;
  }
  fmt::print("{} on the {} set of {}, position {}, length {}\n\n{}", trained.checkpoint.string(),
             options.split, settings.data.directory.string(), settings.position.scheme,
             settings.data.length, to_text(shares_table(evaluation), {.width = terminal_width()}));
  fmt::print(
      "\none standard error is {:.1f} points; loss {:.4f}; {} of {} pairs of texts were cut\n",
      100 * standard_error(evaluation.all.right, evaluation.all.examples),
      evaluation.figures.at("loss"), format_count(evaluation.cut),
      format_count(std::ssize(set.texts)));
  if (comparison) fmt::print("{}", describe(*comparison, options.against));
  if (!worst.empty()) fmt::print("\nmost wrong\n");
  for (const std::size_t i : worst) print_example(set, evaluation, i);
}

void predict_matches(const TrainedClassifier& trained, const std::string& file, bool json) {
  if (file == "-") {
    throw_usage("predict", "wants a file of triplets or pairs for a matcher's run",
                "FILE.jsonl, one object a line with A, B and C");
  }
  const MatchingSet set =
      encode_matching(trained.settings, *trained.tokenizer, read_matching_file(file));
  const std::vector<double> scores = matching_scores(*trained.classifier, set);
  if (!json)
    fmt::print("{}\n", set.source.triplets ? "closer\tscore(A,B)\tscore(A,C)" : "match\tscore");
  for (std::size_t i = 0; i < set.source.examples.size(); ++i) {
    nlohmann::ordered_json object;
    if (set.source.triplets) {
      // As the file has them.
      const bool swapped = set.source.examples[i].swapped;
      const double b = scores[2 * i + (swapped ? 1 : 0)], c = scores[2 * i + (swapped ? 0 : 1)];
      object = {{"closer", b > c ? "B" : "C"}, {"score_b", b}, {"score_c", c}};
      if (!json) fmt::print("{}\t{:.4f}\t{:.4f}\n", b > c ? "B" : "C", b, c);
    } else {
      object = {{"match", scores[i] > 0}, {"score", scores[i]}};
      if (!json) fmt::print("{}\t{:.4f}\n", scores[i] > 0 ? 1 : 0, scores[i]);
    }
    if (json) fmt::print("{}\n", object.dump());
  }
}

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
  command->add_option("--seed", options.seed, "of the division, the swaps and what is drawn")
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--topic-field", options.topic_field, "draw triplets by this field")
      ->type_name("NAME");
  command->add_option("--text-field", options.text_field, "of the text, with --topic-field")
      ->capture_default_str()
      ->type_name("NAME");
  command->add_option("--per-text", options.per_text, "triplets with each text as A")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  command->add_flag("--overwrite", options.overwrite, "replace triplets that are there");
  command->callback([arguments] { triplets_command(*arguments); });
}

void add_baseline_command(CLI::App& data) {
  auto arguments = std::make_shared<BaselineArguments>();
  CLI::App* command = add_command(
      data, {.name = "baseline",
             .summary = "How many triplets a bag of words has right (TF-IDF and cosine)",
             .details = "roformer data baseline data/prepared/cail --wordpiece vocab.txt "
                        "--dictionary dict.txt\n"
                        "The weights are counted on the training texts. No model is trained.\n"});
  command->add_option("folder", arguments->folder, "made by `data triplets`")
      ->required()
      ->type_name("FOLDER");
  add_tokenizer_flags(*command, arguments->tokenizer);
  command->add_flag("--json", arguments->json, "one JSON list");
  command->callback([arguments] { baseline_command(*arguments); });
}

}  // namespace roformer
