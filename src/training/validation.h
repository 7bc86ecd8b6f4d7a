// What a validation comes to: named figures.
#pragma once

#include <map>
#include <string>

namespace roformer {

using Figures = std::map<std::string, double>;  // "loss", "accuracy", ...

// The standard error of a figure is a figure with this at the end of its name.
inline constexpr const char* kStandardError = "_standard_error";

// "accuracy 0.3120  loss 4.7550 ± 0.0123": each figure with its standard error, where it has one.
std::string describe_figures(const Figures& figures, const std::string& separator);

}  // namespace roformer
