#include "runs/process_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/version.h"
#include "config/schema.h"
#include "config/words.h"

namespace roformer {
namespace {

std::string fact_text(const std::string& fact) {
  return fact.empty() ? "nothing" : fact;
}

// What must be the same in all processes, a line each; paths may differ between machines.
std::vector<std::string> common_facts(const Settings& settings, const nlohmann::json& data,
                                      const ComputePlan& plan) {
  std::vector<std::string> facts{fmt::format("version {} ({})", kVersion, kCommit),
                                 "precision " + to_word(plan.precision)};
  for (const Key& key : schema()) {
    if (key.type != KeyType::path) facts.push_back(key.name + " " + key.get(settings));
  }
  for (const auto& [field, value] : data.items()) {
    if (field != "folder" && field != "name") facts.push_back("data " + field + " " + value.dump());
  }
  return facts;
}

}  // namespace

void check_processes(const Settings& settings, const ComputePlan& plan,
                     const Processes& processes) {
  if (processes.alone()) {
    if (!settings.training.shard_optimizer || plan.device.is_cpu()) return;
    throw_usage("training.shard_optimizer", "is for several processes on CPUs");
  }
  if (plan.device.is_cpu()) return;
  if (settings.training.shard_optimizer) {
    throw_usage("training.shard_optimizer", "is for processes on CPUs",
                "--training.shard_optimizer false, or --device cpu");
  }
  if (settings.training.reduce == GradientReduction::deterministic) {
    throw_usage("training.reduce", "deterministic is for one process, or several on CPUs",
                "--training.reduce fast, or --device cpu");
  }
}

void compare_processes(const Settings& settings, const nlohmann::json& data,
                       const ComputePlan& plan, Processes& processes) {
  if (processes.alone()) return;
  const std::vector<std::string> own = common_facts(settings, data, plan);
  const auto all = gather_texts(processes, nlohmann::json(own).dump());
  const auto first = nlohmann::json::parse(all.front()).get<std::vector<std::string>>();
  for (std::size_t r = 1; r < all.size(); ++r) {
    const auto other = nlohmann::json::parse(all[r]).get<std::vector<std::string>>();
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
  const std::int64_t cores = std::thread::hardware_concurrency();
  return std::max<std::int64_t>(1, cores / processes.local_count());
}

}  // namespace roformer
