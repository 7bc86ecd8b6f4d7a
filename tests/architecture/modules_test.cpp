// The modules of src/ and the one rule between them: a file includes its own module and those that
// src/modules.txt names for it, all of them earlier ones.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = ROFORMER_SOURCE;

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// A line of src/modules.txt, the one list: to change the architecture is to change it.
struct Module {
  std::string name;
  std::vector<std::string> includes;  // other modules
};

const std::vector<Module>& modules() {
  static const std::vector<Module> all = [] {
    std::vector<Module> read;
    for (const std::string& line : lines_of(kRoot / "src" / "modules.txt")) {
      const std::size_t colon = line.find(':');
      if (line.starts_with("#") || colon == std::string::npos) continue;
      std::istringstream words(line.substr(colon + 1));
      read.push_back({.name = line.substr(0, colon)});
      for (std::string word; words >> word;) read.back().includes.push_back(word);
    }
    return read;
  }();
  return all;
}

// Modules before this one know nothing of LibTorch.
const std::string kFirstTorchModule = "tensor";

std::optional<std::size_t> floor_of(const std::string& module) {
  const auto found = std::ranges::find(modules(), module, &Module::name);
  if (found == modules().end()) return std::nullopt;
  return found - modules().begin();
}

// The module that a line of a file includes; none where it includes no module's file.
std::optional<std::string> included_module(const std::string& line) {
  static const std::regex include(R"re(^\s*#\s*include\s*"([^/"]+)/)re");
  std::smatch match;
  if (std::regex_search(line, match, include) && floor_of(match[1])) return match[1];
  return std::nullopt;
}

// What is wrong with one line of a file of src/MODULE; empty when nothing is. The files main.cpp
// and main_torch.cpp are in no module (an empty name) and stand above them all.
std::string breach(const std::string& module, const std::string& line) {
  static const std::regex include(R"re(^\s*#\s*include\s*([<"])([^/">]+)(/[^">]*)?[">])re");
  std::smatch match;
  if (!std::regex_search(line, match, include)) return "";
  const std::string first = match[2];
  if (match[1] == "<") {
    if (floor_of(first) && match[3].matched)
      return "a module's header is included as \"module/file.h\"";
    const bool torch = first == "torch" || first == "ATen" || first == "c10";
    if (torch && !module.empty() && *floor_of(module) < *floor_of(kFirstTorchModule)) {
      return "knows nothing of LibTorch";
    }
    return "";
  }
  if (!match[3].matched || !floor_of(first)) return "names no module";
  if (module.empty() || module == first) return "";
  const std::vector<std::string>& allowed = modules()[*floor_of(module)].includes;
  if (std::ranges::find(allowed, first) == allowed.end()) {
    return first + " is not among what src/modules.txt lets " + module + " include";
  }
  return "";
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// "PATH:LINE: TEXT" for every finding of CHECK(line) in FILE, one a line.
template <typename Check>
std::string findings(const fs::path& file, const Check& check) {
  std::string text;
  int number = 0;
  for (const std::string& line : lines_of(file)) {
    ++number;
    const std::string finding = check(line);
    if (finding.empty()) continue;
    text +=
        fs::relative(file, kRoot).string() + ":" + std::to_string(number) + ": " + finding + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("the rule tells a breach from an allowed include") {
  CHECK(breach("model", R"(#include "model/transformer_stack.h")").empty());
  CHECK(breach("model", R"(#include "base/error.h")").empty());
  CHECK(breach("tensor", "#include <ATen/ATen.h>").empty());
  CHECK(breach("base", "#include <text>").empty());
  CHECK(breach("", R"(#include "cli/command.h")").empty());
  CHECK_FALSE(breach("base", R"(#include "config/settings.h")").empty());
  CHECK_FALSE(breach("attention", R"(  # include "model/transformer_stack.h")").empty());
  CHECK_FALSE(breach("report", "#include <torch/torch.h>").empty());
  CHECK_FALSE(breach("config", "#include <model/transformer_stack.h>").empty());
  CHECK_FALSE(breach("model", R"(#include "encoder.h")").empty());
  CHECK_FALSE(breach("model", R"(#include "../model/transformer_stack.h")").empty());
}

TEST_CASE("a module's line names earlier modules only, and no module that it does without") {
  for (const Module& module : modules()) {
    std::set<std::string> used;
    if (fs::exists(kRoot / "src" / module.name)) {
      for (const fs::path& file : files_below(kRoot / "src" / module.name)) {
        for (const std::string& line : lines_of(file)) {
          if (const auto other = included_module(line)) used.insert(*other);
        }
      }
    }
    for (const std::string& other : module.includes) {
      INFO(module.name << ": " << other);
      CHECK(floor_of(other) < floor_of(module.name));
      CHECK(used.contains(other));
    }
  }
}

TEST_CASE("a file includes its own module and those that the list allows") {
  std::string breaches;
  int sources = 0;
  for (const fs::path& file : files_below(kRoot / "src")) {
    const fs::path path = fs::relative(file, kRoot / "src");
    if (path == "main.cpp" || path == "main_torch.cpp" || path.extension() == ".md" ||
        path == "modules.txt")
      continue;
    const std::string module = path.begin()->string();
    if (!floor_of(module)) {
      breaches += "src/" + path.string() + ": is in no module\n";
      continue;
    }
    breaches += findings(file, [&](const std::string& line) { return breach(module, line); });
    ++sources;
  }
  INFO(breaches);
  CHECK(breaches.empty());
  CHECK(sources > 0);
}

TEST_CASE("tests mirror src folder by folder") {
  for (const auto& entry : fs::directory_iterator(kRoot / "tests")) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name == "architecture" || name == "fuzz" || name == "faults" ||
        name == "sanitizers") {
      continue;
    }
    INFO("tests/" << name);
    CHECK(floor_of(name).has_value());
  }
}

TEST_CASE("src/README.md lists the modules in their order") {
  static const std::regex row(R"(^\| `([a-z]+)/` \|.*)");
  std::vector<std::string> listed;
  for (const std::string& line : lines_of(kRoot / "src" / "README.md")) {
    std::smatch match;
    if (std::regex_match(line, match, row)) listed.push_back(match[1]);
  }
  std::vector<std::string> names;
  for (const Module& module : modules()) names.push_back(module.name);
  CHECK(listed == names);
}

TEST_CASE("what a document links to is there") {
  static const std::regex link(R"(\]\(([^)#\s]+))"), elsewhere("^[a-z]+:.*");
  std::vector<fs::path> pages = {kRoot / "README.md", kRoot / "CHANGELOG.md",
                                 kRoot / ".github" / "CONTRIBUTING.md"};
  for (const std::string folder : {"src", "tests", "scripts", "configs", "data"}) {
    for (const fs::path& file : files_below(kRoot / folder)) {
      const bool formulas = file.parent_path().filename() == "golden";  // "[i](j)" is no link there
      if (file.extension() == ".md" && !formulas) pages.push_back(file);
    }
  }
  std::string breaches;
  int links = 0;
  for (const fs::path& page : pages) {
    breaches += findings(page, [&](const std::string& line) {
      std::string dead;
      for (std::sregex_iterator match(line.begin(), line.end(), link), end; match != end; ++match) {
        const std::string target = (*match)[1];
        if (std::regex_match(target, elsewhere)) continue;
        ++links;
        if (!fs::exists(page.parent_path() / target)) dead += target + " ";
      }
      return dead;
    });
  }
  INFO(breaches);
  CHECK(breaches.empty());
  CHECK(links > 50);
}

TEST_CASE("README.md and the tutorials stay short") {
  CHECK(lines_of(kRoot / "README.md").size() <= 180);
  for (const fs::path& file : files_below(kRoot / "configs" / "tutorials")) {
    if (file.extension() != ".md") continue;
    INFO(file.string());
    CHECK(lines_of(file).size() <= 100);
  }
}

TEST_CASE("a thing is done or absent: no notes to self, no code switched off") {
  // In two parts, so that this file does not find itself.
  static const std::regex unfinished(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X)\\b|^\\s*#\\s*if\\s+0\\b");
  std::string breaches;
  for (const std::string folder : {"src", "tests", "scripts", "configs"}) {
    for (const fs::path& file : files_below(kRoot / folder)) {
      const std::string type = file.extension().string();
      const bool code = type == ".h" || type == ".cpp" || type == ".cu" || type == ".cmake" ||
                        type == ".py" || type == ".yaml" || type == ".md" ||
                        file.filename() == "CMakeLists.txt" ||
                        (folder == "scripts" && type.empty());
      if (!code) continue;
      breaches += findings(file, [](const std::string& line) {
        return std::regex_search(line, unfinished) ? line : std::string();
      });
    }
  }
  INFO(breaches);
  CHECK(breaches.empty());
}
