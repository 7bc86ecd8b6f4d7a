#include "runs/process_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/cores.h"
#include "base/error.h"
#include "base/parts.h"
#include "base/version.h"
#include "config/schema.h"
#include "config/words.h"

namespace roformer {
namespace {

// Separates facts. JSON would refuse some names and paths, which may hold any byte except zero.
constexpr char kEnd = '\0';

std::string joined_facts(const std::vector<std::string>& facts) {
  std::string text;
  for (const std::string& fact : facts) text += fact + kEnd;
  return text;
}

std::string_view fact_text(std::string_view fact) {
  return fact.empty() ? "nothing" : fact;
}

// Facts that must be the same in all processes. Paths are left out: machines may differ in them.
std::vector<std::string> common_facts(const Settings& settings, const nlohmann::json& data,
                                      const ComputePlan& plan) {
  std::vector<std::string> facts{fmt::format("version {} ({})", kVersion, kCommit),
                                 "precision " + to_word(plan.precision)};
  for (const Key& key : schema()) {
    if (key.type != KeyType::path) facts.push_back(key.name + " " + key.get(settings));
  }
  for (const auto& [field, value] : data.items()) {
    if (field == "folder" || field == "name") continue;
    facts.push_back("data " + field + " " +
                    value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return facts;
}

}  // namespace

void check_processes(const Settings& settings, const ComputePlan& plan,
                     const Processes& processes) {
  if (processes.alone() || plan.device.is_cpu()) return;
  if (settings.training.reduce == GradientReduction::deterministic) {
    throw_usage("training.reduce", "deterministic is for one process, or several on CPUs",
                "--training.reduce fast, or --device cpu");
  }
}

void compare_processes(const Settings& settings, const nlohmann::json& data,
                       const ComputePlan& plan, Processes& processes) {
  if (processes.alone()) return;
  const std::vector<std::string> own = common_facts(settings, data, plan);
  const auto all = gather_texts(processes, joined_facts(own));
  const std::vector<std::string_view> first = split_at(all.front(), kEnd);
  for (std::size_t r = 1; r < all.size(); ++r) {
    const std::vector<std::string_view> other = split_at(all[r], kEnd);
    for (std::size_t i = 0; i < std::min(first.size(), other.size()); ++i) {
      if (first[i] == other[i]) continue;
      throw_usage("several processes",
                  fmt::format("process 0 has {}, process {} has {}", fact_text(first[i]), r,
                              fact_text(other[i])),
                  "start all of them with the same program, configuration and data");
    }
  }
}

std::int64_t threads_of_each(const Settings& settings, const Processes& processes) {
  if (settings.threads > 0 || processes.local_count() == 1) return settings.threads;
  return std::max<std::int64_t>(1, usable_threads() / processes.local_count());
}

}  // namespace roformer
