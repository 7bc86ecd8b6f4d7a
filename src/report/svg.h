// Drawings as SVG. A picture that is alone states each colour at its mark, since not every program
// that shows SVG reads style sheets, and has a white ground; where a style sheet is read and the
// reader's screen is dark, it is dark. One that is embedded in a page takes its colours from
// chart_style().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/chart.h"
#include "report/drawing.h"

namespace roformer {

// For element content and attribute values; control characters, which XML forbids, are left out.
std::string escape_xml(std::string_view text);

// A coordinate: at most two digits after the point.
std::string coordinate(double value);

// The d attribute of a path; a point that is not drawn interrupts the line.
std::string line_path(const std::vector<Point>& points);

}  // namespace roformer
