// How a figure is written for people: a fixed number of digits, thousands separated, percent.
#pragma once

#include <string>

namespace roformer {

struct NumberFormat {
  enum class Style {
    general,     // the shortest text with at most `digits` significant digits
    fixed,       // `digits` after the point
    count,       // rounded to an integer, thousands separated by commas
    percent,     // times 100, `digits` after the point, without the sign (the unit says %)
    scientific,  // `digits` after the point, e-05
  };
  Style style = Style::general;
  int digits = 4;
};

// "–" for NaN; "inf" and "-inf" for the infinities.
std::string format_number(double value, const NumberFormat& format = {});

}  // namespace roformer
