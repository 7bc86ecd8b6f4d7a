#include "report/line_geometry.h"

#include <algorithm>

#include "report/svg.h"

namespace roformer {

std::vector<Point> thinned(const std::vector<Point>& points) {
  std::vector<Point> result;
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin + 1;
    const auto same_pixel = [&](const Point& other) {
      return other.drawn() && points[begin].drawn() &&
             std::floor(other.x) == std::floor(points[begin].x);
    };
    while (end < points.size() && same_pixel(points[end])) ++end;
    const auto by_y = [](const Point& a, const Point& b) { return a.y < b.y; };
    const auto [least, greatest] =
        std::minmax_element(points.begin() + begin, points.begin() + end, by_y);
    std::vector<std::size_t> kept{begin, static_cast<std::size_t>(least - points.begin()),
                                  static_cast<std::size_t>(greatest - points.begin()), end - 1};
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    for (const std::size_t i : kept) result.push_back(points[i]);
    begin = end;
  }
  return result;
}

std::string line_path(const std::vector<Point>& points) {
  std::string result;
  bool joined = false;
  for (const Point& point : points) {
    if (point.drawn()) {
      result += (joined ? "L" : "M") + coordinate(point.x) + " " + coordinate(point.y);
    }
    joined = point.drawn();
  }
  return result;
}

std::vector<double> spread_labels(const std::vector<double>& sorted, const LabelSpace& space) {
  // Neighbours that would overlap form a block around the mean of where they want to be.
  struct Block {
    double center = 0;
    double count = 0;
    double half = 0;  // from the center to the first and the last label
  };
  if (space.gap * (static_cast<double>(sorted.size()) - 1) > space.last - space.first) return {};
  const auto make_block = [&space](double center, double count) {
    const double half = 0.5 * space.gap * (count - 1);
    center = std::min(std::max(center, space.first + half), space.last - half);
    return Block{.center = center, .count = count, .half = half};
  };
  std::vector<Block> blocks;
  for (const double centre : sorted) {
    blocks.push_back(make_block(centre, 1));
    while (blocks.size() > 1) {
      const Block below = blocks.back();
      const Block above = blocks[blocks.size() - 2];
      if (below.center - below.half - above.center - above.half >= space.gap) break;
      blocks.pop_back();
      const double count = above.count + below.count;
      const double center = (above.center * above.count + below.center * below.count) / count;
      blocks.back() = make_block(center, count);
    }
  }
  std::vector<double> centres;
  for (const Block& block : blocks) {
    for (double i = 0; i < block.count; ++i) {
      centres.push_back(block.center - block.half + space.gap * i);
    }
  }
  return centres;
}

}  // namespace roformer
