#include "bench/check_costs.h"

#include <algorithm>
#include <functional>

#include "base/random.h"
#include "bench/random_training.h"
#include "bench/timing.h"
#include "data/shard.h"
#include "metrics/statistics.h"
#include "training/checkpoint.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// Times the two in turn.
CheckCost alternating(const std::string& what, std::int64_t rounds,
                      const std::function<void()>& check, const std::function<void()>& work) {
  const TurnTimes times = time_pieces(
      {[&](std::int64_t) { return time_of(check); }, [&](std::int64_t) { return time_of(work); }},
      {.counted = rounds});
  return {
      .what = what, .check_milliseconds = median(times[0]), .work_milliseconds = median(times[1])};
}

// Milliseconds that comparing blocks adds to the first read of a token of a shard.
double checking_of_a_token(const fs::path& file, std::int64_t vocabulary, std::int64_t rounds) {
  constexpr std::size_t kPiece = 1 << 16, kPieces = 256;  // 16 million tokens
  const ShardVocabulary words{.size = static_cast<std::uint64_t>(vocabulary)};
  std::vector<TokenId> ids(kPiece);
  {
    Random random(1);
    ShardWriter writer(file, words);
    for (std::size_t piece = 0; piece < kPieces; ++piece) {
      for (TokenId& id : ids) id = static_cast<TokenId>(random.below(words.size));
      writer.add_tokens(ids);
      writer.end_document();
    }
    writer.finish();
  }
  const TimedPiece difference = [&](std::int64_t) {
    const Shard shard(file);
    const auto read = [&] {
      for (std::size_t piece = 0; piece < kPieces; ++piece) shard.copy_tokens(piece * kPiece, ids);
    };
    const double first = time_of(read);
    return first - time_of(read);
  };
  const std::vector<double> differences = time_pieces({difference}, {.counted = rounds}).front();
  return std::max(0.0, median(differences)) / static_cast<double>(kPiece * kPieces);
}

CheckCost cost_of_tokens(const Settings& settings, const ComputePlan& plan, const fs::path& folder,
                         std::int64_t rounds) {
  TimedTraining training(random_language(settings, plan), settings);
  const TimedPiece step = [&](std::int64_t number) { return training.step(number).milliseconds; };
  const double milliseconds = median(time_pieces({step}, {.counted = rounds}).front());
  const auto tokens = static_cast<double>(settings.training.batch * settings.data.length);
  return {.what = "a step's tokens, read for the first time",
          .check_milliseconds =
              tokens * checking_of_a_token(folder / "shard.bin", settings.model.vocabulary, rounds),
          .work_milliseconds = milliseconds};
}

}  // namespace

std::vector<CheckCost> measure_check_costs(const Settings& settings, const ComputePlan& plan,
                                           const fs::path& folder, std::int64_t rounds) {
  std::vector<CheckCost> costs;
  {
    const std::unique_ptr<TrainingObjective> objective = random_language(settings, plan);
    ParameterStore& parameters = objective->parameters();
    const Optimizer optimizer(parameters, {});
    const CheckpointParts parts{.parameters = parameters, .moments = optimizer.moments()};
    save_checkpoint(folder, parts, {.consumed = {.steps = 1}}, [](const InnerPath&) {});
    const fs::path checkpoint = list_checkpoints(folder).back();
    costs.push_back(alternating(
        "weights, as commands open a model", rounds, [&] { require_sound(checkpoint); },
        [&] {
          const WithoutInitialValues loaded;
          const std::unique_ptr<TrainingObjective> opened = random_language(settings, plan);
          load_parameters(weights_file(checkpoint, WeightsKind::raw), opened->parameters());
        }));
    costs.push_back(alternating(
        "weights and moments, as --resume does", rounds, [&] { require_whole(checkpoint); },
        [&] {
          const std::unique_ptr<TrainingObjective> opened = random_language(settings, plan);
          const Optimizer moments(opened->parameters(), {});
          load_checkpoint(checkpoint, {opened->parameters(), moments.moments()});
        }));
  }
  costs.push_back(cost_of_tokens(settings, plan, folder, rounds));
  return costs;
}

}  // namespace roformer
