// Runs golden cases: compares this program's schemes and attention, in float64 and float32, with
// the expected values of the case.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/golden_file.h"

namespace roformer {

// The worst error as a share of its tolerance, |got - wanted| / (absolute + relative |wanted|).
// Above 1 it is a miss. Negative: nothing to compare.
struct GoldenErrors {
  double logits = -1;
  double output = -1;
  double gradients = -1;
  double others = -1;  // tables, rotated queries, buckets and so on
  double worst() const;
  void include(const GoldenErrors& more);  // the worse of both
};

struct GoldenResult {
  std::string file;
  std::string scheme;  // this program's name for it, or the case's if it is unknown
  GoldenErrors float64, float32;
  std::string problem;  // why the case could not be run, or what differs in shape
  bool passed() const;
};

GoldenResult run_golden_case(const std::filesystem::path& file, const GoldenIndex& index,
                             at::Device device = at::kCPU);
// Every case that the folder's index.json lists.
std::vector<GoldenResult> run_golden_folder(const std::filesystem::path& folder,
                                            at::Device device = at::kCPU);

// The table of that name for a case of scheme "table". Throws Error for an unknown name.
at::Tensor golden_table(const GoldenCase& golden, const std::string& name);

}  // namespace roformer
