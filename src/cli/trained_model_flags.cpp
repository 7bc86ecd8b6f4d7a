#include "cli/trained_model_flags.h"

#include <fmt/format.h>

#include "base/error.h"

namespace roformer {

void add_opening_flags(CLI::App& command, TrainedModelOptions& opening) {
  command.add_option("--checkpoint", opening.checkpoint, "best, last or a step")
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--weights",
          [&weights = opening.weights](const std::string& word) {
            weights = word == "ema" ? WeightsKind::ema : WeightsKind::raw;
          },
          "raw: those of the last step; ema: their moving average (training.ema); default: the "
          "run's training.weights")
      ->check(CLI::IsMember({"raw", "ema"}));
}

std::vector<CLI::Option*> add_sampling_flags(CLI::App& command, SamplingSettings& sampling,
                                             std::uint64_t& seed) {
  return {
      command
          .add_option("--temperature", sampling.temperature,
                      "below 1: likelier words; 0: always the most likely")
          ->capture_default_str(),
      command
          .add_option("--top-k", sampling.top_k, "choose among the K most likely tokens; 0: all")
          ->check(not_negative())
          ->capture_default_str(),
      command
          .add_option("--top-p", sampling.top_p,
                      "choose among the fewest tokens whose probabilities sum to this")
          ->capture_default_str(),
      command.add_option("--seed", seed, "random seed for sampling")
          ->check(not_negative())
          ->capture_default_str(),
  };
}

void check_sampling(const SamplingSettings& sampling) {
  if (!(sampling.temperature >= 0)) {
    throw_usage("--temperature", fmt::format("is {}, wanted 0 or more", sampling.temperature),
                "0: always the most likely token");
  }
  if (!(sampling.top_p > 0 && sampling.top_p <= 1)) {
    throw_usage("--top-p", fmt::format("{} is not a share", sampling.top_p), "above 0, up to 1");
  }
}

}  // namespace roformer
