#include "cli/evaluation_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/progress.h"
#include "base/terminal.h"

namespace roformer {
namespace {

void print_lines(const std::string& text) {
  fmt::print("{}\n", wrapped(text, terminal_width()));
}

}  // namespace

void EvaluationPrinter::print_row(const EvaluationReport& so_far,
                                  const EvaluationReport& expected) {
  const Table table = to_table(expected);
  if (!rows_) {
    rows_.emplace(table, TextTableOptions{.width = terminal_width()});
    print_lines(fmt::format("{} on {} ({}), position {}, trained at length {}, evaluated in {}{}",
                            so_far.model, so_far.data, so_far.split, so_far.position,
                            so_far.training_length, so_far.precision, so_far.with));
    fmt::print("\n{}", rows_->head(table));
  }
  fmt::print("{}", rows_->row(table, so_far.lengths.size() - 1));
  std::fflush(stdout);
}

void EvaluationPrinter::print_rest(const EvaluationReport& report) const {
  if (std::ranges::any_of(report.lengths, [](const EvaluatedLength& entry) {
        return entry.figures.denominators.has_value();
      })) {
    fmt::print("\n");
    print_lines(
        "Small denominators of linear attention are below a hundredth of what their features could "
        "add up to; the least as a share of that.");
  }
  for (const EvaluatedLength& entry : report.lengths) {
    const auto& paired = entry.paired;
    if (!paired) continue;
    fmt::print("\n");
    print_lines(fmt::format(
        "{} minus this, {} tokens, {}: {:+.4f} ± {:.4f} nats (95 %: {:+.4f} to {:+.4f}, p {:.2g}), "
        "on the same {} targets of {} rows",
        report.against, format_count(entry.length), describe(entry.arrangement), paired->difference,
        paired->standard_error, paired->interval.low, paired->interval.high, paired->p_value,
        format_count(paired->targets), format_count(paired->rows)));
  }
  if (const auto& pseudo = report.pseudo_perplexity) {
    fmt::print("\npseudo-perplexity {:.3f} (loss {:.4f} nats) over {} tokens of {} sequences\n",
               pseudo->value, pseudo->loss, format_count(pseudo->tokens),
               format_count(pseudo->sequences));
  }
}

}  // namespace roformer
