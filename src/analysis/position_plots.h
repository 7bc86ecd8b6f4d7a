// Pictures of the effects of positional schemes, as one HTML file and as CSV.
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

// Draws the decay bound (figure 2 of the paper), wavelengths and one pair's cosine for schemes with
// a frequency picture. Also draws the bias of each head, parameters of runs and, for all schemes,
// the expected score of random q and k against the distance. The code names no scheme.
void write_position_plots(const PositionPlotInputs& inputs);

}  // namespace roformer
