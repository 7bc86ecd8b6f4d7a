// The numbers of explanations as tables, for CSV and JSON.
#include <ATen/TensorOperators.h>

#include <cmath>
#include <string_view>

#include "analysis/attention_record.h"
#include "analysis/explain_report.h"

namespace roformer {
namespace {

const NumberFormat kShare{.style = NumberFormat::Style::percent, .digits = 1};
const NumberFormat kLoss{.style = NumberFormat::Style::fixed, .digits = 4};

Column figure(const std::string& key, const NumberFormat& format = {}) {
  return {.title = key, .key = key, .format = format};
}

std::vector<Column> with_location(std::vector<Column> columns) {
  std::vector<Column> all{{.title = "run", .alignment = Column::Alignment::left},
                          {.title = "layer"},
                          {.title = "head"}};
  all.insert(all.end(), columns.begin(), columns.end());
  return all;
}

// Each figure, followed by a column for its standard error.
std::vector<Column> with_errors(const std::vector<Column>& columns) {
  std::vector<Column> all;
  for (const Column& column : columns) {
    all.push_back(column);
    all.push_back(figure(column.key + "_standard_error", column.format));
  }
  return all;
}

// Layers are numbers in a model with one stack, and have names in other models.
Cell layer_cell(const ExplainedLayer& layer) {
  if (layer.stack.empty()) return layer.number;
  return layer.name();
}

double at_head(const at::Tensor& values, std::int64_t head) {
  return values[head].item<double>();
}

}  // namespace

Table head_table(const std::vector<ExplainedRun>& runs) {
  std::vector<Column> figures;
  for (const SharePart& part : kShareParts) figures.push_back(figure(part.key, kShare));
  figures.push_back(figure("of_positions", kShare));
  for (const MassFigure& mass : kMassFigures) {
    const bool share = std::string_view(mass.key) != "entropy";
    figures.push_back(share ? figure(mass.key, kShare) : figure(mass.key));
  }
  figures.push_back(figure("loss_without_positions", kLoss));
  std::vector<Column> columns = with_errors(figures);
  columns.push_back(figure("score_deviation"));
  Table table(with_location(std::move(columns)));
  for_each_head(runs, [&](const ExplainedRun& run, const LayerExplanation& layer,
                          const HeadExplanation& head) {
    const ScoreShares& s = head.shares;
    std::vector<Cell> row{run.name, layer_cell(head.layer), head.head};
    const auto add = [&](Cell value, Cell error) {
      row.push_back(std::move(value));
      row.push_back(std::move(error));
    };
    for (const SharePart& part : kShareParts) add(s.*part.share, s.errors.*part.error);
    add(s.of_positions(), s.errors.of_positions);
    for (const MassFigure& mass : kMassFigures) {
      add(at_head(layer.masses.*mass.mean, head.head),
          at_head(layer.masses.*mass.error, head.head));
    }
    if (run.explanation.ablated) {
      add(head.without_positions.change, head.without_positions.standard_error);
    } else {
      add({}, {});
    }
    row.push_back(s.deviation);
    table.add_row(std::move(row));
  });
  return table;
}

Table distance_table(const std::vector<ExplainedRun>& runs) {
  std::vector<Column> columns{{.title = "first_distance"}, {.title = "last_distance"}};
  for (const Column& column : with_errors({figure("mass")})) columns.push_back(column);
  columns.push_back(figure("uniform"));
  Table table(with_location(std::move(columns)));
  for_each_layer(runs, [&](const ExplainedRun& run, const LayerExplanation& layer) {
    for (const DistanceBin& bin : distance_bins(layer.masses)) {
      for (std::size_t h = 0; h < bin.mass.size(); ++h) {
        table.add_row({run.name, layer_cell(layer.layer), static_cast<std::int64_t>(h), bin.first,
                       bin.last, bin.mass[h], bin.standard_error[h], bin.uniform});
      }
    }
  });
  return table;
}

Table frequency_table(const std::vector<ExplainedRun>& runs) {
  std::vector<Column> columns{
      {.title = "pair"}, figure("wavelength"), figure("query_norm"), figure("key_norm")};
  for (const Column& column : with_errors({figure("variance_share")})) columns.push_back(column);
  Table table(with_location(std::move(columns)));
  for_each_layer(runs, [&](const ExplainedRun& run, const LayerExplanation& layer) {
    if (!layer.frequencies) return;
    const Cell number = layer_cell(layer.layer);
    const FrequencyUse& use = *layer.frequencies;
    const auto pairs = static_cast<std::int64_t>(use.wavelengths.size());
    for (std::int64_t h = 0; h < use.query_norm.size(0); ++h) {
      for (std::int64_t p = 0; p < pairs; ++p) {
        table.add_row({run.name, number, h, p, use.wavelengths[static_cast<std::size_t>(p)],
                       at_head(use.query_norm[h], p), at_head(use.key_norm[h], p),
                       at_head(use.variance_share[h], p), at_head(use.share_error[h], p)});
      }
      table.add_row({run.name, number, h, Cell{}, Cell{}, Cell{}, Cell{},
                     at_head(use.variance_share[h], pairs), at_head(use.share_error[h], pairs)});
    }
  });
  return table;
}

Table ablation_table(const std::vector<ExplainedRun>& runs) {
  Table table(with_location(
      {figure("loss", kLoss), figure("loss_change", kLoss), figure("standard_error", kLoss)}));
  for (const ExplainedRun& run : runs) {
    const Explanation& all = run.explanation;
    if (!all.ablated) continue;
    const auto add = [&](Cell layer, Cell head, const LossChange& change) {
      table.add_row({run.name, std::move(layer), std::move(head), all.loss + change.change,
                     change.change, change.standard_error});
    };
    add(std::string("all"), std::string("all"), all.without_positions);
    for (const Explanation::StackChange& stack : all.stacks) {
      add(stack.stack, std::string("all"), stack.without_positions);
    }
    for (const LayerExplanation& layer : all.layers) {
      add(layer_cell(layer.layer), std::string("all"), layer.without_positions);
      for (const HeadExplanation& head : layer.heads) {
        add(layer_cell(head.layer), head.head, head.without_positions);
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
                              {"texts", e.texts},
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
