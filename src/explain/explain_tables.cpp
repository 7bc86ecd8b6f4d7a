// The numbers of explanations as tables, for CSV and JSON.
#include <ATen/TensorOperators.h>

#include <cmath>

#include "explain/distance_bins.h"
#include "explain/explain_report.h"

namespace roformer {
namespace {

const NumberFormat kShare{.style = NumberFormat::Style::percent, .digits = 1};
const NumberFormat kLoss{.style = NumberFormat::Style::fixed, .digits = 4};

Column figure(const std::string& key, const NumberFormat& format = {}) {
  return {.title = key, .key = key, .format = format};
}

std::vector<Column> with_place(std::vector<Column> columns) {
  std::vector<Column> all{{.title = "run", .alignment = Column::Alignment::left},
                          {.title = "layer"},
                          {.title = "head"}};
  all.insert(all.end(), columns.begin(), columns.end());
  return all;
}

double at_head(const at::Tensor& values, std::int64_t head) {
  return values[head].item<double>();
}

}  // namespace

Table head_table(const std::vector<ExplainedRun>& runs) {
  Table table(
      with_place({figure("content_content", kShare), figure("content_position", kShare),
                  figure("position_content", kShare), figure("position_position", kShare),
                  figure("interaction", kShare), figure("score_deviation"), figure("entropy"),
                  figure("own", kShare), figure("previous", kShare), figure("next", kShare),
                  figure("first", kShare), figure("loss_without_positions", kLoss),
                  figure("loss_standard_error", kLoss)}));
  for (const ExplainedRun& run : runs) {
    for (const LayerExplanation& layer : run.explanation.layers) {
      for (const HeadExplanation& head : layer.heads) {
        const ScoreShares& s = head.shares;
        const AttentionMasses& m = layer.masses;
        const auto of = [&](const at::Tensor& values) { return at_head(values, head.head); };
        std::vector<Cell> row{run.name,
                              head.layer,
                              head.head,
                              s.content_content,
                              s.content_position,
                              s.position_content,
                              s.position_position,
                              s.interaction,
                              s.deviation,
                              of(m.entropy),
                              of(m.own),
                              of(m.previous),
                              of(m.next),
                              of(m.first),
                              Cell{},
                              Cell{}};
        if (run.explanation.ablated) {
          row[row.size() - 2] = head.without_positions.change;
          row.back() = head.without_positions.standard_error;
        }
        table.add_row(std::move(row));
      }
    }
  }
  return table;
}

Table distance_table(const std::vector<ExplainedRun>& runs) {
  Table table(with_place({{.title = "first_distance"},
                          {.title = "last_distance"},
                          figure("mass"),
                          figure("uniform")}));
  for (const ExplainedRun& run : runs) {
    std::int64_t number = 0;
    for (const LayerExplanation& layer : run.explanation.layers) {
      for (const DistanceBin& bin : distance_bins(layer.masses)) {
        for (std::size_t h = 0; h < bin.mass.size(); ++h) {
          table.add_row({run.name, number, static_cast<std::int64_t>(h), bin.first, bin.last,
                         bin.mass[h], bin.uniform});
        }
      }
      ++number;
    }
  }
  return table;
}

Table frequency_table(const std::vector<ExplainedRun>& runs) {
  Table table(with_place({{.title = "pair"},
                          figure("wavelength"),
                          figure("query_norm"),
                          figure("key_norm"),
                          figure("variance_share")}));
  for (const ExplainedRun& run : runs) {
    std::int64_t number = -1;
    for (const LayerExplanation& layer : run.explanation.layers) {
      ++number;
      if (!layer.frequencies) continue;
      const FrequencyUse& use = *layer.frequencies;
      const auto pairs = static_cast<std::int64_t>(use.wavelengths.size());
      for (std::int64_t h = 0; h < use.query_norm.size(0); ++h) {
        for (std::int64_t p = 0; p < pairs; ++p) {
          table.add_row({run.name, number, h, p, use.wavelengths[static_cast<std::size_t>(p)],
                         at_head(use.query_norm[h], p), at_head(use.key_norm[h], p),
                         at_head(use.variance_share[h], p)});
        }
        table.add_row({run.name, number, h, Cell{}, Cell{}, Cell{}, Cell{},
                       at_head(use.variance_share[h], pairs)});
      }
    }
  }
  return table;
}

Table ablation_table(const std::vector<ExplainedRun>& runs) {
  Table table(with_place(
      {figure("loss", kLoss), figure("loss_change", kLoss), figure("standard_error", kLoss)}));
  for (const ExplainedRun& run : runs) {
    const Explanation& all = run.explanation;
    if (!all.ablated) continue;
    const auto add = [&](Cell layer, Cell head, const LossChange& change) {
      table.add_row({run.name, std::move(layer), std::move(head), all.loss + change.change,
                     change.change, change.standard_error});
    };
    add(std::string("all"), std::string("all"), all.without_positions);
    for (const LayerExplanation& layer : all.layers) {
      add(layer.heads.front().layer, std::string("all"), layer.without_positions);
      for (const HeadExplanation& head : layer.heads) {
        add(head.layer, head.head, head.without_positions);
      }
    }
  }
  return table;
}

Table bias_table(const std::vector<ExplainedRun>& runs) {
  Table table({{.title = "run", .alignment = Column::Alignment::left},
               {.title = "layers", .alignment = Column::Alignment::left},
               {.title = "head"},
               {.title = "distance"},
               figure("bias")});
  for (const ExplainedRun& run : runs) {
    for (const TrainedPositions::Bias& bias : run.positions.biases) {
      if (!bias.by_distance) continue;
      for (std::size_t h = 0; h < bias.by_distance->values.size(); ++h) {
        for (std::size_t i = 0; i < bias.by_distance->distances.size(); ++i) {
          table.add_row({run.name, bias.title, static_cast<std::int64_t>(h),
                         static_cast<std::int64_t>(bias.by_distance->distances[i]),
                         bias.by_distance->values[h][i]});
        }
      }
    }
  }
  return table;
}

nlohmann::ordered_json to_json(const std::vector<ExplainedRun>& runs) {
  nlohmann::ordered_json result;
  for (const ExplainedRun& run : runs) {
    const Explanation& e = run.explanation;
    result["runs"].push_back({{"run", run.name},
                              {"scheme", run.scheme},
                              {"checkpoint", run.checkpoint},
                              {"data", run.data},
                              {"sequences", e.sequences},
                              {"length", e.length},
                              {"targets", e.targets},
                              {"loss", e.loss},
                              {"loss_standard_error", std::isfinite(e.standard_error)
                                                          ? nlohmann::ordered_json(e.standard_error)
                                                          : nlohmann::ordered_json()},
                              {"switched_off", e.ablation}});
  }
  result["heads"] = to_json(head_table(runs));
  result["distances"] = to_json(distance_table(runs));
  result["frequencies"] = to_json(frequency_table(runs));
  result["ablations"] = to_json(ablation_table(runs));
  result["biases"] = to_json(bias_table(runs));
  return result;
}

}  // namespace roformer
