#include "bench/step_profile.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

namespace roformer {
namespace {

constexpr std::size_t kOperations = 12;  // listed one by one

struct Area {
  std::string_view scope;  // before the slash
  std::string_view title;
};
constexpr std::array<Area, 7> kAreas{{{"products", "matrix products"},
                                      {"attention", "attention"},
                                      {"position", "rotations"},
                                      {"elementwise", "norms, activations, dropout"},
                                      {"loss", "cross entropy"},
                                      {"embedding", "embeddings"},
                                      {"optimizer", "optimiser"}}};

std::string_view area_of(const OperationTime& operation) {
  static const std::set<std::string_view> kProducts{"aten::mm",     "aten::addmm",  "aten::addmm_",
                                                    "aten::bmm",    "aten::linear", "aten::matmul",
                                                    "aten::baddbmm"};
  static const std::set<std::string_view> kCopies{
      "aten::copy_", "aten::_to_copy", "aten::to",    "aten::contiguous",  "aten::clone",
      "aten::cat",   "aten::fill_",    "aten::zero_", "aten::index_select"};
  const std::string_view scope =
      std::string_view(operation.scope).substr(0, operation.scope.find('/'));
  // The products inside of attention are its own; those of the loss are as any others.
  if (scope != "attention") {
    if (kProducts.contains(operation.name)) return "matrix products";
    if (kCopies.contains(operation.name)) return "copies and casts";
  }
  for (const Area& area : kAreas) {
    if (area.scope == scope) return area.title;
  }
  // LibTorch's own: aten::_flash_attention_forward, aten::_cudnn_attention_backward.
  if (operation.name.find("_attention_") != std::string::npos) return "attention";
  return "other operations";
}

std::string title_of(const OperationTime& operation) {
  std::string title;
  for (const std::string& part : {operation.scope, operation.name, operation.kernel}) {
    if (part.empty()) continue;
    title += (title.empty() ? "" : " > ") + part;
  }
  return title;
}

void sort_by_time(std::vector<StepPart>& parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const StepPart& a, const StepPart& b) {
    return a.milliseconds > b.milliseconds;
  });
}

}  // namespace

StepProfile step_profile(const OperationProfile& profile, std::int64_t steps,
                         std::int64_t threads) {
  const auto count = static_cast<double>(steps);
  const double wall = profile.wall_milliseconds();
  StepProfile result{.milliseconds = wall / count, .idle_share = profile.idle_share(threads)};
  const auto part = [&](std::string name, double milliseconds, double calls) {
    return StepPart{.name = std::move(name),
                    .milliseconds = milliseconds / count,
                    .share = milliseconds / wall,
                    .calls = calls / count};
  };
  std::map<std::string_view, StepPart> areas;
  double between = wall;
  for (const OperationTime& operation : profile.operations()) {
    const StepPart own =
        part(title_of(operation), operation.milliseconds, static_cast<double>(operation.calls));
    between -= operation.milliseconds;
    StepPart& area = areas[area_of(operation)];
    area.milliseconds += own.milliseconds;
    area.share += own.share;
    area.calls += own.calls;
    if (result.operations.size() < kOperations) result.operations.push_back(own);
  }
  for (auto& [name, area] : areas) {
    area.name = name;
    result.parts.push_back(std::move(area));
  }
  result.parts.push_back(part("between operations", between, 0));
  sort_by_time(result.parts);
  return result;
}

}  // namespace roformer
