// Pictures of what positional schemes do, as one HTML file and as CSV.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/settings.h"
#include "tasks/language/language_model.h"

namespace roformer {

struct PlottedRun {
  std::string name;
  const LanguageModel& model;
};

struct PositionPlotInputs {
  const Settings& settings;  // options of the schemes, heads and width of the model, data.length
  std::vector<std::string> names;
  std::vector<PlottedRun> runs = {};  // on the CPU; drawn as trained
  bool causal = false;
  std::filesystem::path output;  // HTML
  std::filesystem::path csv;     // empty: none
};

// For schemes with a frequency picture the decay bound (figure 2 of the paper), wavelengths and one
// pair's cosine; the bias of each head; parameters of runs; for all schemes the expected score of
// random q and k against the distance. No scheme is named here.
void write_position_plots(const PositionPlotInputs& inputs);

}  // namespace roformer
