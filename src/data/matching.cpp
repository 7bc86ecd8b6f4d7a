#include "data/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "data/document_readers.h"
#include "data/line_reader.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::array kTripletFields = {"A", "B", "C"};
constexpr std::array kPairFields = {"sentence1", "sentence2"};

using Fields = std::map<std::string, std::string>;

bool is_text_field(const std::string& name) {
  return std::ranges::find(kTripletFields, name) != kTripletFields.end() ||
         std::ranges::find(kPairFields, name) != kPairFields.end();
}

constexpr const char* kExamples =
    "a triplet has \"A\", \"B\", \"C\" and \"label\" (\"B\" or \"C\"), a pair \"sentence1\", "
    "\"sentence2\" and \"label\" (1 or 0)";

struct MatchingReading {
  bool labelled = true;  // pairs must have a label
  TextFormat format = TextFormat::automatic;
  bool skip_broken = false;
};

class MatchingReader {
 public:
  MatchingReader(const fs::path& file, const MatchingReading& options)
      : lines_(file, LineReader::kAnyLength),
        records_(lines_, {.format = options.format,
                          .hint = kExamples,
                          .hint_for_broken = kExamples,
                          .skip_broken = options.skip_broken}),
        labelled_(options.labelled) {}

  MatchingExamples read() {
    MatchingExamples result;
    std::vector<std::string> names;
    while (records_.next()) {
      if (!records_.is_json() && names.empty()) {
        names = header();
        result.header = lines_.number();
        continue;
      }
      if (records_.is_left_out()) continue;
      const Fields fields = records_.is_json() ? fields_of_object() : fields_of_cells(names);
      const bool triplet = fields.contains("A");
      if (result.examples.empty()) result.triplets = triplet;
      if (triplet != result.triplets) records_.refuse("triplets and pairs are in one file");
      result.examples.push_back(triplet ? triplet_of(fields) : pair_of(fields));
    }
    lines_.warn_of_replaced();
    if (result.examples.empty()) {
      const bool json = records_.is_json() || (records_.is_empty() && is_json_lines(lines_.name()));
      throw_failure(
          lines_.name(), "holds no example",
          json ? "one JSON object per line" : "the first line names the columns, with tabs");
    }
    if (labelled_ && without_label_ > 0) {
      log::warn("{}: {} of {} triplets have no \"label\": B is taken for the closer text",
                lines_.name(), without_label_, result.examples.size());
    }
    return result;
  }

 private:
  LineReader lines_;
  RecordReader records_;
  bool labelled_;
  std::int64_t without_label_ = 0;  // triplets, whose closer text is then B

  // The names of the columns. Columns that are read must not occur twice.
  std::vector<std::string> header() const {
    const Cells cells = records_.raw_cells();
    for (const std::string_view name : cells) {
      if (!is_text_field(std::string(name)) && name != "label") continue;
      column_named(cells, name, lines_.location());
    }
    return {cells.begin(), cells.end()};
  }
  // A label may be a number, a text may not.
  Fields fields_of_object() {
    Fields fields;
    for (const auto& [name, value] : records_.object().items()) {
      if (is_text_field(name)) {
        fields[name] = records_.text(name);
      } else if (value.is_string()) {
        fields[name] = value.get<std::string>();
      } else if (value.is_number() || value.is_boolean()) {
        fields[name] = value.dump();
      }
    }
    return fields;
  }
  Fields fields_of_cells(const std::vector<std::string>& names) {
    const Cells cells = records_.cells();
    require_columns(cells, names.size(), lines_.location(), kExamples);
    Fields fields;
    for (std::size_t i = 0; i < cells.size(); ++i) fields[names[i]] = cells[i];
    return fields;
  }
  std::string text(const Fields& fields, const char* name) const {
    const auto found = fields.find(name);
    if (found == fields.end()) records_.refuse(fmt::format("lacks \"{}\"", name));
    records_.refuse_blank(name, found->second);
    return found->second;
  }
  MatchingExample triplet_of(const Fields& fields) {
    MatchingExample example{.line = lines_.number(),
                            .anchor = text(fields, kTripletFields[0]),
                            .closer = text(fields, kTripletFields[1]),
                            .farther = text(fields, kTripletFields[2])};
    const auto label = fields.find("label");
    without_label_ += label == fields.end();
    if (label == fields.end() || label->second == "B") return example;
    if (label->second != "C") records_.refuse(fmt::format("has the label \"{}\"", label->second));
    std::swap(example.closer, example.farther);
    example.swapped = true;
    return example;
  }
  MatchingExample pair_of(const Fields& fields) const {
    MatchingExample example{.line = lines_.number(),
                            .anchor = text(fields, kPairFields[0]),
                            .closer = text(fields, kPairFields[1])};
    if (!labelled_ && !fields.contains("label")) return example;
    const std::string label = text(fields, "label");
    if (label != "0" && label != "1") records_.refuse(fmt::format("has the label \"{}\"", label));
    example.matches = label == "1";
    return example;
  }
};

fs::path file_of(const fs::path& directory, Split split) {
  std::vector<fs::path> files;
  for (const char* ending : {".jsonl", ".tsv"}) {
    const fs::path file = directory / (std::string(to_string(split)) + ending);
    std::error_code error;
    if (fs::exists(file, error)) files.push_back(file);
  }
  if (files.size() > 1) {
    throw_usage(directory.string(),
                "holds " + files[0].filename().string() + " and " + files[1].filename().string(),
                "keep one of them and move the other elsewhere");
  }
  return files.empty() ? fs::path() : files[0];
}

std::vector<MatchingExample> transitive(const std::vector<MatchingExample>& triplets) {
  std::map<std::string_view, std::map<std::string_view, std::set<std::string_view>>> farther;
  for (const MatchingExample& t : triplets) farther[t.anchor][t.closer].insert(t.farther);
  std::vector<MatchingExample> added;
  for (const auto& [anchor, edges] : farther) {
    // All texts that can be reached from each text, step by step.
    std::map<std::string_view, std::set<std::string_view>> reached;
    for (const auto& [first, next] : edges) {
      std::vector<std::string_view> open(next.begin(), next.end());
      while (!open.empty()) {
        const std::string_view at = open.back();
        open.pop_back();
        if (!reached[first].insert(at).second) continue;
        if (const auto on = edges.find(at); on != edges.end()) {
          open.insert(open.end(), on->second.begin(), on->second.end());
        }
      }
    }
    for (const auto& [first, all] : reached) {
      for (const std::string_view last : all) {
        const auto back = reached.find(last);
        const bool contrary = back != reached.end() && back->second.contains(first);
        if (contrary || edges.at(first).contains(last)) continue;
        added.push_back({.anchor = std::string(anchor),
                         .closer = std::string(first),
                         .farther = std::string(last)});
      }
    }
  }
  return added;
}

}  // namespace

bool has_matching_split(const fs::path& directory, Split split) {
  return !file_of(directory, split).empty();
}

fs::path find_matching_file(const fs::path& directory, Split split) {
  fs::path file = file_of(directory, split);
  if (file.empty()) {
    throw_usage(directory.string(),
                fmt::format("has no {} set: neither {}.jsonl nor {}.tsv", to_string(split),
                            to_string(split), to_string(split)),
                "make a folder of triplets with `roformer data triplets`");
  }
  return file;
}

MatchingExamples read_matching(const fs::path& directory, Split split) {
  return MatchingReader(find_matching_file(directory, split), {}).read();
}

MatchingExamples read_matching_file(const fs::path& file, TextFormat format, bool skip_broken) {
  const MatchingReading options{.labelled = false, .format = format, .skip_broken = skip_broken};
  return MatchingReader(file, options).read();
}

std::vector<MatchingExample> augmented(std::vector<MatchingExample> triplets,
                                       const AugmentationSettings& settings) {
  if (settings.transitivity) {
    for (MatchingExample& triplet : transitive(triplets)) triplets.push_back(std::move(triplet));
  }
  if (!settings.swap) return triplets;
  const std::size_t count = triplets.size();
  for (std::size_t i = 0; i < count; ++i) {
    MatchingExample other = triplets[i];
    std::swap(other.anchor, other.closer);
    triplets.push_back(std::move(other));
  }
  return triplets;
}

std::string triplet_line(const MatchingExample& triplet) {
  nlohmann::ordered_json object = {{"A", triplet.anchor},
                                   {"B", triplet.swapped ? triplet.farther : triplet.closer},
                                   {"C", triplet.swapped ? triplet.closer : triplet.farther},
                                   {"label", triplet.swapped ? "C" : "B"}};
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace roformer
