#include "data/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/blank.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/document_readers.h"
#include "data/json_line_parser.h"
#include "data/line_reader.h"
#include "data/text_lines.h"
#include "text/utf8.h"

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
        options_(options),
        file_(lines_.name()),
        parser_({.file = file_, .hint = kExamples, .skip_broken = options.skip_broken}) {}

  MatchingExamples read() {
    MatchingExamples result;
    bool begun = false, json = false;
    std::vector<std::string> names;
    for (std::string_view line; lines_.next(line);) {
      if (is_blank(line)) continue;
      if (!std::exchange(begun, true)) {
        json = format_of(options_.format, file_, line) == TextFormat::jsonl;
        if (!json) {
          const std::vector<std::string_view> columns = tab_columns(line);
          for (const std::string_view name : columns) {
            if (is_text_field(std::string(name)) || name == "label") {
              column_named(columns, name, lines_.location());  // refuses a second one
            }
          }
          names.assign(columns.begin(), columns.end());
          result.header = lines_.number();
          continue;
        }
      }
      const std::optional<Fields> fields = json ? fields_of(line) : columns(names, line);
      if (!fields) continue;
      const bool triplet = fields->contains("A");
      if (result.examples.empty()) result.triplets = triplet;
      if (triplet != result.triplets) refuse("triplets and pairs are in one file");
      result.examples.push_back(triplet ? triplet_of(*fields) : pair_of(*fields));
    }
    parser_.finish();
    lines_.warn_of_replaced();
    if (result.examples.empty()) {
      json |= !begun && is_json_lines(file_);
      throw_failure(
          file_, "holds no example",
          json ? "one JSON object a line" : "the first line names the columns, with tabs between");
    }
    if (options_.labelled && without_label_ > 0) {
      log::warn("{}: {} of {} triplets have no \"label\": B is taken for the closer text", file_,
                without_label_, result.examples.size());
    }
    return result;
  }

 private:
  LineReader lines_;
  MatchingReading options_;
  std::string file_;
  JsonLineParser parser_;
  std::int64_t without_label_ = 0;  // triplets, whose closer text is then B

  [[noreturn]] void refuse(const std::string& what) const {
    throw_failure(lines_.location(), what, kExamples);
  }
  // A label may be a number; nobody means one as a text.
  std::optional<Fields> fields_of(std::string_view line) {
    const std::optional<nlohmann::json> object = parser_.parse(line, lines_.number());
    if (!object) return std::nullopt;
    Fields fields;
    for (const auto& [name, value] : object->items()) {
      if (value.is_string()) {
        fields[name] = value.get<std::string>();
        if (is_text_field(name)) lines_.add_replaced(parser_.replaced_in(fields[name]));
      } else if (is_text_field(name)) {
        refuse(fmt::format("\"{}\" is {}, wanted a text", name, describe_json(value)));
      } else if (value.is_number() || value.is_boolean()) {
        fields[name] = value.dump();
      }
    }
    return fields;
  }
  Fields columns(const std::vector<std::string>& names, std::string_view line) {
    std::string storage;
    std::uint64_t replaced = 0;
    const std::vector<std::string_view> cells = tab_columns(repair_utf8(line, storage, replaced));
    lines_.add_replaced(replaced);
    if (cells.size() != names.size()) {
      refuse(fmt::format("has {}, the first line {}", format_counted(std::ssize(cells), "column"),
                         names.size()));
    }
    Fields fields;
    for (std::size_t i = 0; i < cells.size(); ++i) fields[names[i]] = cells[i];
    return fields;
  }
  std::string text(const Fields& fields, const char* name) const {
    const auto found = fields.find(name);
    if (found == fields.end()) refuse(fmt::format("lacks \"{}\"", name));
    if (is_blank(found->second)) refuse(fmt::format("\"{}\" is an empty text", name));
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
    if (label->second != "C") refuse(fmt::format("has the label \"{}\"", label->second));
    std::swap(example.closer, example.farther);
    example.swapped = true;
    return example;
  }
  MatchingExample pair_of(const Fields& fields) const {
    MatchingExample example{.line = lines_.number(),
                            .anchor = text(fields, kPairFields[0]),
                            .closer = text(fields, kPairFields[1])};
    if (!options_.labelled && !fields.contains("label")) return example;
    const std::string label = text(fields, "label");
    if (label != "0" && label != "1") refuse(fmt::format("has the label \"{}\"", label));
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
                "which of them is meant? Move the other elsewhere");
  }
  return files.empty() ? fs::path() : files[0];
}

std::vector<MatchingExample> transitive(const std::vector<MatchingExample>& triplets) {
  std::map<std::string_view, std::map<std::string_view, std::set<std::string_view>>> farther;
  for (const MatchingExample& t : triplets) farther[t.anchor][t.closer].insert(t.farther);
  std::vector<MatchingExample> added;
  for (const auto& [anchor, edges] : farther) {
    // What can be reached from each text, step by step.
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
