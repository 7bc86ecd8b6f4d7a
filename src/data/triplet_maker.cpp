#include "data/triplet_maker.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <unordered_set>

#include "base/checksums.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/hexadecimal.h"
#include "base/json.h"
#include "base/output_folder.h"
#include "base/random.h"
#include "data/preparation.h"
#include "data/record_reader.h"
#include "data/shard.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDescription = "triplets.json";
constexpr const char* kTripletsFormat = "roformer triplets";
constexpr std::size_t kTripletSplits = 3;

using Sets = std::array<std::vector<MatchingExample>, kTripletSplits>;

// Calls take(record) for each line of the inputs. Returns a hash of all their bytes.
template <class Take>
std::uint64_t for_each_record(const TripletOptions& options, Take take) {
  RunningHash hash;
  for (const fs::path& input : options.inputs) {
    hash.update(read_input(input));
    LineReader lines(input, LineReader::kAnyLength);
    RecordReader records(lines, {.format = TextFormat::jsonl,
                                 .hint_for_broken = "--skip-broken leaves such lines out",
                                 .skip_broken = options.skip_broken});
    while (records.next()) {
      if (!records.is_left_out()) take(records);
    }
    lines.warn_of_replaced();
  }
  return hash.digest();
}

std::string text_of(RecordReader& record, const std::string& field) {
  std::string text = record.text(field);
  record.refuse_blank(field, text);
  return text;
}

// The set of each of `count` things: a permutation by the seed, cut by the shares.
std::vector<std::size_t> deal(std::size_t count, const TripletOptions& options) {
  const Permutation order(count, random_key({options.seed, random_word("triplet split")}));
  const double whole = options.shares[0] + options.shares[1] + options.shares[2];
  std::vector<std::size_t> sets(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double point = (static_cast<double>(i) + 0.5) / static_cast<double>(count) * whole;
    sets[order[i]] = point < options.shares[0]                       ? 0
                     : point < options.shares[0] + options.shares[1] ? 1
                                                                     : 2;
  }
  return sets;
}

Sets divide(const std::vector<MatchingExample>& triplets, const TripletOptions& options) {
  std::map<std::string_view, std::size_t> anchors;  // numbered as they come
  for (const MatchingExample& triplet : triplets) anchors.emplace(triplet.anchor, anchors.size());
  const std::vector<std::size_t> set_of = deal(anchors.size(), options);
  Sets sets;
  for (const MatchingExample& triplet : triplets) {
    sets[set_of[anchors.at(triplet.anchor)]].push_back(triplet);
  }
  return sets;
}

struct Text {
  std::string text, topic;
};

// Divides the texts first, so that no text is in two sets.
Sets draw(const std::vector<Text>& texts, const TripletOptions& options, std::int64_t& lonely) {
  const std::vector<std::size_t> set_of = deal(texts.size(), options);
  Sets sets;
  for (std::size_t set = 0; set < kTripletSplits; ++set) {
    std::vector<std::size_t> members;
    std::map<std::string_view, std::vector<std::size_t>> topics;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (set_of[i] != set) continue;
      members.push_back(i);
      topics[texts[i].topic].push_back(i);
    }
    for (const std::size_t anchor : members) {
      const std::vector<std::size_t>& same = topics.at(texts[anchor].topic);
      if (same.size() < 2 || same.size() == members.size()) {
        ++lonely;
        continue;
      }
      Random random(random_key({options.seed, random_word("triplets"), anchor}));
      std::set<std::pair<std::size_t, std::size_t>> drawn;
      for (std::int64_t n = 0; n < options.per_text; ++n) {
        std::size_t closer = anchor, farther = anchor;
        while (closer == anchor) closer = same[random.below(same.size())];
        while (texts[farther].topic == texts[anchor].topic) {
          farther = members[random.below(members.size())];
        }
        if (!drawn.insert({closer, farther}).second) continue;
        sets[set].push_back({.anchor = texts[anchor].text,
                             .closer = texts[closer].text,
                             .farther = texts[farther].text});
      }
    }
  }
  return sets;
}

// The inputs: triplets, or texts with a topic.
struct TripletSource {
  std::vector<MatchingExample> triplets;
  std::vector<Text> texts;
  std::uint64_t fingerprint = 0;
};

MatchingExample triplet_of(RecordReader& record) {
  MatchingExample triplet{.anchor = text_of(record, "A"),
                          .closer = text_of(record, "B"),
                          .farther = text_of(record, "C")};
  const nlohmann::json label = record.object().value("label", nlohmann::json("B"));
  if (label == "C") {
    std::swap(triplet.closer, triplet.farther);
  } else if (label != "B") {
    throw_failure(record.location(), "has the label " + describe_json(label),
                  "\"B\" or \"C\", whichever is closer to \"A\"");
  }
  return triplet;
}

TripletSource read_source(const TripletOptions& options) {
  TripletSource source;
  std::set<std::string> seen;  // a repeated text could be in two sets
  source.fingerprint = for_each_record(options, [&](RecordReader& record) {
    if (options.topic_field.empty()) {
      source.triplets.push_back(triplet_of(record));
      return;
    }
    Text text{.text = text_of(record, options.text_field),
              .topic = text_of(record, options.topic_field)};
    if (seen.insert(text.text).second) source.texts.push_back(std::move(text));
  });
  return source;
}

// Writes a file for each set and counts. The seed decides where B and C are swapped.
TripletCounts write_sets(Sets& sets, const TripletOptions& options, const fs::path& folder) {
  TripletCounts counts;
  for (std::size_t set = 0; set < kTripletSplits; ++set) {
    std::string lines;
    std::set<std::string_view> anchors;
    for (std::size_t i = 0; i < sets[set].size(); ++i) {
      MatchingExample& triplet = sets[set][i];
      triplet.swapped =
          Random(random_key({options.seed, random_word("swap"), set, i})).uniform() < 0.5;
      counts.swapped += triplet.swapped ? 1 : 0;
      anchors.insert(triplet.anchor);
      lines += triplet_line(triplet);
    }
    const std::string name(to_string(static_cast<Split>(set)));
    write_file_atomically(folder / (name + ".jsonl"), lines);
    counts.triplets[set] = std::ssize(sets[set]);
    counts.anchors[set] = std::ssize(anchors);
  }
  return counts;
}

void require_no_empty_set(const TripletCounts& counts, const TripletSource& source,
                          const TripletOptions& options) {
  for (const Split split : kSplits) {
    if (counts.triplets[split] > 0) continue;
    std::set<std::string_view> anchors;
    for (const MatchingExample& triplet : source.triplets) anchors.insert(triplet.anchor);
    refuse_empty_split(
        options.inputs.front().string(), split,
        options.topic_field.empty()
            ? fmt::format(": {} triplets with {} different A, by which they are divided",
                          source.triplets.size(), anchors.size())
            : "",
        "more lines, or other --split shares");
  }
}

void write_about(const TripletCounts& counts, const TripletSource& source,
                 const TripletOptions& options, const fs::path& folder) {
  nlohmann::ordered_json about = {
      {"format", kTripletsFormat},
      {"version", 1},
      {"command", options.command},
      {"seed", options.seed},
      {"source_fingerprint", hexadecimal(source.fingerprint)},
      {"made", options.topic_field.empty() ? "published triplets, divided by A"
                                           : "texts of the same topic are closer"}};
  for (std::size_t set = 0; set < kTripletSplits; ++set) {
    about[std::string(to_string(static_cast<Split>(set)))] = {{"triplets", counts.triplets[set]},
                                                              {"anchors", counts.anchors[set]}};
  }
  write_checksummed_json(folder / kDescription, about);
}

}  // namespace

TripletCounts make_triplets(const TripletOptions& options) {
  for (const double share : options.shares) {
    if (!(share > 0)) throw_usage("--split", "wanted three shares above 0, as 6:2:2");
  }
  const TripletSource source = read_source(options);
  std::int64_t lonely = 0;
  Sets sets = options.topic_field.empty() ? divide(source.triplets, options)
                                          : draw(source.texts, options, lonely);
  TripletCounts counts = run_preparation(Preparation<NothingFinished, TripletCounts>{
      .place = {.output = options.output,
                .overwrite = options.overwrite,
                .flag = "--output",
                .contents = "triplets of this program",
                .is_replaceable = holds_triplets},
      .identity = {},
      .write = [&](const auto& folder, const auto&,
                   const auto&) { return write_sets(sets, options, folder); },
      .check = [&](const auto& made) { require_no_empty_set(made, source, options); },
      .describe = [&](const auto& made,
                      const auto& folder) { write_about(made, source, options, folder); }});
  counts.lonely = lonely;
  return counts;
}

bool holds_triplets(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / kDescription, error);
}

std::string triplets_source(const fs::path& folder) {
  const fs::path file = folder / kDescription;
  return JsonFields(read_checksummed_json(file), file.string()).text("source_fingerprint");
}

BagOfWords::BagOfWords(const std::vector<std::vector<TokenId>>& texts) {
  for (const std::vector<TokenId>& text : texts) {
    for (const TokenId piece : std::unordered_set<TokenId>(text.begin(), text.end())) {
      ++weights_[piece];
    }
  }
  const auto count = static_cast<double>(texts.size());
  for (auto& [piece, weight] : weights_) weight = std::log((1 + count) / (1 + weight)) + 1;
}

std::unordered_map<TokenId, double> BagOfWords::vector_of(const std::vector<TokenId>& text) const {
  std::unordered_map<TokenId, double> vector;
  for (const TokenId piece : text) {
    if (const auto found = weights_.find(piece); found != weights_.end()) {
      vector[piece] += found->second;
    }
  }
  double square = 0;
  for (const auto& [piece, value] : vector) square += value * value;
  for (auto& [piece, value] : vector) value /= std::sqrt(square);
  return vector;
}

double BagOfWords::cosine(const std::vector<TokenId>& first,
                          const std::vector<TokenId>& second) const {
  const std::unordered_map<TokenId, double> a = vector_of(first), b = vector_of(second);
  double product = 0;
  for (const auto& [piece, value] : a) {
    if (const auto found = b.find(piece); found != b.end()) product += value * found->second;
  }
  return product;
}

}  // namespace roformer
