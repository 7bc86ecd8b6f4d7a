// Geometry of line charts in pixels: paths with gaps, thinning of long curves, and labels that keep
// their distance.
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace roformer {

struct Point {
  double x = 0;
  double y = 0;
  bool drawn() const { return std::isfinite(x) && std::isfinite(y); }
};

// The d attribute of a path; a point that is not drawn interrupts the line.
std::string line_path(const std::vector<Point>& points);

// Of more points than pixels only the first, least, greatest and last of each pixel's column: the
// picture is the same, and a long run's chart stays small.
std::vector<Point> thinned(const std::vector<Point>& points);

// Moves sorted heights apart to `gap`, as little as possible and all within [first, last]. Nothing
// when they can't all fit.
struct LabelSpace {
  double gap = 15;
  double first = 0;
  double last = 0;
};
std::vector<double> spread_labels(const std::vector<double>& sorted, const LabelSpace& space);

}  // namespace roformer
