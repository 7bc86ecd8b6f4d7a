#include "config/schema.h"

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/file.h"
#include "catch.h"
#include "config/check.h"
#include "config/position_facts.h"

using namespace roformer;

TEST_CASE("every key has one row, a help and a default that passes its own check") {
  std::set<std::string> names;
  for (const Key& key : schema()) {
    CAPTURE(key.name);
    CHECK(names.insert(key.name).second);
    CHECK(key.help.size() > 10);
    Settings settings;
    if (!key.get(settings).empty()) CHECK_NOTHROW(key.set(settings, key.get(settings), ""));
    CHECK(diff(settings, Settings()).empty());
  }
}

// A member without a row would be lost in every dump, so the rows are counted against the source.
TEST_CASE("every member of the settings has a row") {
  const auto is_member = [](const std::string& line) {
    static const std::regex declaration(R"(^ +([\w:<>]+) \w+( = .*|\{.*)?;.*)");
    std::smatch match;
    if (!std::regex_match(line, match, declaration)) return false;
    return match[1] != "return" && match[1] != "OptionStructs" &&
           !match[1].str().ends_with("Settings");
  };
  std::size_t members = 0;
  const std::filesystem::path config = FIXTURES "/../../src/config";
  std::vector<std::filesystem::path> sources;
  for (const auto& file : std::filesystem::directory_iterator(config)) {
    const std::string name = file.path().filename().string();
    const bool section = name == "settings.h" || name.ends_with("_settings.h");
    if (section && !name.starts_with("study_")) sources.push_back(file.path());
  }
  for (const std::string& scheme : position_names()) {
    const std::filesystem::path header = config / "schemes" / (scheme + ".h");
    if (std::filesystem::exists(header)) sources.push_back(header);  // else it has no options
  }
  // The members of a struct from which several sections are derived are in each of them.
  std::map<std::string, std::size_t> own, derived;
  for (const std::filesystem::path& file : sources) {
    static const std::regex beginning(R"(^struct (\w+)(?: : (\w+))? \{.*)");
    std::istringstream source(read_file(file));
    std::string current;
    for (std::string line; std::getline(source, line);) {
      if (std::smatch match; std::regex_match(line, match, beginning)) {
        current = match[1];
        if (match[2].matched) ++derived[match[2]];
      }
      if (is_member(line)) ++own[current];
    }
  }
  for (const auto& [name, count] : own) {
    members += count * (derived.contains(name) ? derived[name] : 1);
  }
  CHECK(members > 100);
  CHECK(schema().size() == members);
}

TEST_CASE("the defaults contradict nothing for any scheme and task") {
  for (const PositionFacts& facts : position_facts()) {
    for (const TaskKind task : {TaskKind::mlm, TaskKind::causal_lm, TaskKind::glue}) {
      if (facts.causal_only && task != TaskKind::causal_lm) continue;
      CAPTURE(facts.name);
      Settings settings;
      settings.task = task;
      settings.position.scheme = facts.name;
      Problems problems;
      check(settings, {}, {}, problems);
      CHECK(problems.lines() == std::vector<std::string>{});
    }
  }
}

TEST_CASE("what a key allows is said in words") {
  CHECK(find_key("model.dropout")->type_text() == "number from 0 to below 1");
  CHECK(find_key("training.learning_rate")->type_text() == "number above 0");
  CHECK(find_key("model.norm")->type_text() == "one of post, pre");
  CHECK(find_key("model.layers")->type_text() == "integer from 1 to 1000");
  CHECK(find_key("position.rope.base")->scheme() == "rope");
  CHECK(find_key("position.scheme")->scheme().empty());
  CHECK(find_key("no.such.key") == nullptr);
}

TEST_CASE("integers take thousands and millions by their letters") {
  Settings settings;
  const Key& tokens = *find_key("data.validation_tokens");
  for (const auto& [text, value] : {std::pair{"50k", "50000"}, {"1M", "1000000"}, {"7", "7"}}) {
    tokens.set(settings, text, "");
    CHECK(tokens.get(settings) == value);
  }
}

TEST_CASE("numbers outside their range and texts of another type are refused") {
  const auto refused = [](const char* name, const char* text) {
    Settings settings;
    try {
      find_key(name)->set(settings, text, "");
    } catch (const InvalidValue&) {
      return true;
    }
    return false;
  };
  CHECK(refused("model.layers", "0"));
  CHECK(refused("model.layers", "4.5"));
  CHECK(refused("model.layers", "99999999999999999999"));
  CHECK(refused("model.layers", "1k1"));
  CHECK(refused("model.layers", "k"));
  CHECK(refused("model.layers", "2k"));  // out of range
  CHECK(refused("data.validation_tokens", "0.5M"));
  CHECK(refused("data.validation_tokens", "99999999999G"));
  CHECK(refused("model.layers", " 4"));
  CHECK(refused("model.dropout", "1"));
  CHECK(refused("model.dropout", "nan"));
  CHECK(refused("training.learning_rate", "inf"));
  CHECK(refused("training.learning_rate", "0"));
  CHECK(refused("seed", "-1"));
  CHECK_FALSE(refused("seed", "18446744073709551615"));
  CHECK(refused("data.cross_documents", "yes"));
  CHECK(refused("training.steps", "1.5"));
  CHECK_FALSE(refused("training.steps", "20Mt"));
}
