// Every scheme against cases that were computed from the published definitions by other code.
#include <optional>
#include <set>

#include "analysis/golden_case.h"
#include "catch.h"
#include "config/position_facts.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/emulation.h"

using namespace roformer;

TEST_CASE("every golden case is met in float64 and float32") {
  const auto golden = std::filesystem::path(FIXTURES) / "../position/golden";
  auto results = run_golden_folder(golden);
  CHECK(results.size() == 178);
  const auto interleaved = run_golden_folder(golden / "interleaved");
  CHECK(interleaved.size() == 4);
  results.insert(results.end(), interleaved.begin(), interleaved.end());
  std::set<std::string> met, with_gradients;
  for (const GoldenResult& result : results) {
    INFO(result.file << " float64: logits " << result.float64.logits << " output "
                     << result.float64.output << " gradients " << result.float64.gradients
                     << " others " << result.float64.others << " float32: logits "
                     << result.float32.logits << " output " << result.float32.output
                     << " gradients " << result.float32.gradients << " others "
                     << result.float32.others << " " << result.problem);
    CHECK(result.passed());
    met.insert(result.scheme);
    if (result.float64.gradients >= 0) with_gradients.insert(result.scheme);
  }
  for (const std::string& name : position_names()) {
    INFO(name);
    if (name == "layers") continue;  // is what it is made of, bitwise: mixed_layers_test.cpp
    CHECK(met.contains(name));
    CHECK(with_gradients.contains(name));
  }
}

TEST_CASE("every golden case is met by the operations and by the kernels that a GPU takes") {
  const auto golden = std::filesystem::path(FIXTURES) / "../position/golden";
  const bool by_kernels = GENERATE(false, true);
  std::optional<ComposedForms> composed;
  std::optional<gpu::KernelEmulation> emulation;
  if (by_kernels) {
    emulation.emplace(emulate_kernel);
  } else {
    composed.emplace();
  }
  const std::vector<GoldenResult> results = run_golden_folder(golden);
  CHECK(results.size() == 178);
  for (const GoldenResult& result : results) {
    INFO(result.file << " float64 " << result.float64.worst() << " float32 "
                     << result.float32.worst() << " " << result.problem);
    CHECK(result.passed());
  }
}
