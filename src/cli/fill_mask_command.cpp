// `roformer fill-mask`: shows which tokens a masked language model predicts for [MASK].
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/blank.h"
#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "cli/command.h"
#include "cli/trained_model_flags.h"
#include "data/line_reader.h"
#include "tasks/language/fill_mask.h"

namespace roformer {
namespace {

struct FillMaskOptions {
  std::string model;
  std::optional<std::string> text;  // empty: standard input, line by line
  TrainedModelOptions opening;
  std::int64_t top = 5;
  bool json = false;
};

using Predictions = std::vector<std::vector<MaskPrediction>>;

nlohmann::ordered_json to_json(const std::string& text, const Predictions& predictions) {
  nlohmann::ordered_json masks = nlohmann::ordered_json::array();
  for (const auto& mask : predictions) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const MaskPrediction& prediction : mask) {
      list.push_back({{"id", prediction.id},
                      {"piece", prediction.piece},
                      {"text", prediction.text},
                      {"probability", prediction.probability},
                      {"filled", prediction.filled}});
    }
    masks.push_back({{"predictions", std::move(list)}});
  }
  return {{"text", text}, {"masks", std::move(masks)}};
}

void print_line(const std::string& text, const Predictions& predictions, bool json) {
  if (json) {
    // JSON cannot hold invalid UTF-8. U+FFFD replaces it, as in the tokenizer.
    std::cout
        << to_json(text, predictions).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
        << '\n'
        << std::flush;
    return;
  }
  if (predictions.empty()) std::cout << '\n';
  for (std::size_t mask = 0; mask < predictions.size(); ++mask) {
    if (predictions.size() > 1) fmt::print("mask {}:\n", mask + 1);
    for (const MaskPrediction& prediction : predictions[mask]) {
      fmt::print("{:7.2f} %  {:<16}  {}\n", 100 * prediction.probability,
                 clean_line(prediction.text), clean_text(prediction.filled));
    }
  }
  std::cout << std::flush;
}

void fill_lines(const FillMaskOptions& options, const TrainedModel& trained) {
  LineReader lines("-", LineReader::kAnyLength);
  for (std::string_view read; lines.next_text(read);) {
    const std::string line(read);
    Predictions predictions;
    try {
      predictions = fill_mask(trained, line, options.top);
    } catch (const Error& error) {
      throw_failure(lines.location(), error.parts().message, error.parts().hint);
    }
    if (predictions.empty() && !options.json && !is_blank(line)) {
      log::warn("{}: has no {}", lines.location(), kMaskMarker);
    }
    print_line(line, predictions, options.json);
  }
  lines.warn_of_replaced();
}

void fill_mask_command(const FillMaskOptions& options) {
  if (options.text && options.text->find(kMaskMarker) == std::string::npos) {
    throw_usage("text", "has no [MASK] to fill", "for instance \"Click the [MASK] button\"");
  }
  const TrainedModel trained = open_run_of<LanguageModel>(options.model, options.opening);
  if (!options.text) return fill_lines(options, trained);
  print_line(*options.text, fill_mask(trained, *options.text, options.top), options.json);
}

}  // namespace

void add_fill_mask_command(CLI::App& program) {
  auto options = std::make_shared<FillMaskOptions>();
  CLI::App* command = add_listed_command(
      program, "fill-mask",
      "roformer fill-mask runs/quickstart/rope \"Click the [MASK] button\"\n"
      "Without TEXT, the lines of standard input; one without [MASK] is answered\n"
      "by an empty line.\n");
  command->add_option("run", options->model, "folder of a run or of a checkpoint")->required();
  command->add_option("text", options->text, "a text with one [MASK] or several");
  command->add_option("--top", options->top, "predictions for each mask")
      ->check(positive())
      ->capture_default_str();
  add_opening_flags(*command, options->opening);
  command->add_flag("--json", options->json, "one object per line");
  accept_settings(*command, options->opening.overrides, trained_model_flags());
  command->callback([options] { fill_mask_command(*options); });
}

}  // namespace roformer
