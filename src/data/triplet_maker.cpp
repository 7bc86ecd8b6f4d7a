#include "data/triplet_maker.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/blank.h"
#include "base/checksummed_json.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"
#include "base/json.h"
#include "base/fields.h"
#include "base/output_folder.h"
#include "base/random.h"
#include "data/json_line_parser.h"
#include "data/line_reader.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDescription = "triplets.json";
constexpr const char* kTripletsFormat = "roformer triplets";
constexpr std::size_t kTripletSplits = 3;

using Sets = std::array<std::vector<MatchingExample>, kTripletSplits>;

// Calls take(object, location) for each line of the inputs.
template <class Take>
std::uint64_t for_each_object(const TripletOptions& options, Take take) {
  const std::unique_ptr<XXH3_state_t, void (*)(XXH3_state_t*)> hash(
      XXH3_createState(), [](XXH3_state_t* state) { XXH3_freeState(state); });
  XXH3_64bits_reset(hash.get());
  for (const fs::path& input : options.inputs) {
    const std::string contents = read_input(input);
    XXH3_64bits_update(hash.get(), contents.data(), contents.size());
    LineReader lines(input, LineReader::kAnyLength);
    JsonLineParser parser({.file = lines.name(),
                           .hint = "--skip-broken leaves such lines out",
                           .skip_broken = options.skip_broken});
    for (std::string_view line; lines.next(line);) {
      if (is_blank(line)) continue;
      const std::optional<nlohmann::json> object = parser.parse(line, lines.number());
      if (!object) continue;
      for (const auto& [name, value] : object->items()) {
        if (value.is_string()) {
          lines.add_replaced(parser.replaced_in(value.template get_ref<const std::string&>()));
        }
      }
      take(*object, lines.location());
    }
    parser.finish();
    lines.warn_of_replaced();
  }
  return XXH3_64bits_digest(hash.get());
}

std::string text_of(const nlohmann::json& object, const std::string& field,
                    const std::string& location) {
  const auto found = object.find(field);
  if (found == object.end()) throw_failure(location, fmt::format("lacks \"{}\"", field));
  if (!found->is_string()) {
    throw_failure(location,
                  fmt::format("\"{}\" is {}, wanted a text", field, describe_json(*found)));
  }
  auto text = found->get<std::string>();
  if (is_blank(text)) {
    throw_failure(location, fmt::format("\"{}\" is an empty text", field));
  }
  return text;
}

// Which set each of `count` things belongs to: a permutation by the seed, cut by the shares.
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

// The texts are divided first, so that none stands in two sets.
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

}  // namespace

TripletCounts make_triplets(const TripletOptions& options) {
  for (const double share : options.shares) {
    if (!(share > 0)) throw_usage("--split", "wanted three shares above 0, as 6:2:2");
  }
  std::vector<MatchingExample> triplets;
  std::vector<Text> texts;
  std::set<std::string> seen;  // a text that is there twice would stand in two sets
  const bool drawn = !options.topic_field.empty();
  const std::uint64_t fingerprint =
      for_each_object(options, [&](const nlohmann::json& object, const std::string& location) {
        if (drawn) {
          Text text{.text = text_of(object, options.text_field, location),
                    .topic = text_of(object, options.topic_field, location)};
          if (seen.insert(text.text).second) texts.push_back(std::move(text));
          return;
        }
        MatchingExample triplet{.anchor = text_of(object, "A", location),
                                .closer = text_of(object, "B", location),
                                .farther = text_of(object, "C", location)};
        const nlohmann::json label = object.value("label", nlohmann::json("B"));
        if (label == "C") {
          std::swap(triplet.closer, triplet.farther);
        } else if (label != "B") {
          throw_failure(location, "has the label " + describe_json(label),
                        "\"B\" or \"C\", whichever is closer to \"A\"");
        }
        triplets.push_back(std::move(triplet));
      });
  TripletCounts counts;
  Sets sets = drawn ? draw(texts, options, counts.lonely) : divide(triplets, options);
  OutputFolder folder({.output = options.output,
                       .overwrite = options.overwrite,
                       .flag = "--output",
                       .contents = "triplets of this program",
                       .is_replaceable = holds_triplets});
  nlohmann::ordered_json about = {
      {"format", kTripletsFormat},
      {"version", 1},
      {"command", options.command},
      {"seed", options.seed},
      {"source_fingerprint", hexadecimal(fingerprint)},
      {"made", drawn ? "texts of the same topic are closer" : "published triplets, divided by A"}};
  for (std::size_t set = 0; set < kTripletSplits; ++set) {
    const std::string name(to_string(static_cast<Split>(set)));
    if (sets[set].empty()) {
      std::set<std::string_view> known;
      for (const MatchingExample& triplet : triplets) known.insert(triplet.anchor);
      throw_failure(options.inputs.front().string(),
                    drawn ? fmt::format("the {} set would be empty", name)
                          : fmt::format("the {} set would be empty: {} triplets with {} different "
                                        "A, by which they are divided",
                                        name, triplets.size(), known.size()),
                    "more lines, or other --split shares");
    }
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
    write_file_atomically(folder.path() / (name + ".jsonl"), lines);
    counts.triplets[set] = std::ssize(sets[set]);
    counts.anchors[set] = std::ssize(anchors);
    about[name] = {{"triplets", counts.triplets[set]}, {"anchors", counts.anchors[set]}};
  }
  write_checksummed_json(folder.path() / kDescription, about);
  folder.commit();
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

}  // namespace roformer
