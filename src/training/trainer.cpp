#include "training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "config/task_facts.h"
#include "metrics/statistics.h"
#include "tensor/finite_check.h"
#include "training/checkpoint.h"
#include "training/optimizer.h"
#include "training/resumption.h"
#include "training/schedule.h"
#include "training/signals.h"
#include "training/step_account.h"
#include "training/step_reduction.h"
#include "training/training_log.h"
#include "training/training_step.h"
#include "training/weight_average.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  // Seconds since the last lap, or since the start.
  double lap() {
    const double result = seconds();
    start_ = std::chrono::steady_clock::now();
    return result;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

BatchMeasure batch_measure(const TrainingTask& task, const BatchNumbers& numbers) {
  return {.batches_per_epoch = task.batches_per_epoch(),
          .tokens_per_batch = task.tokens_per_batch(),
          .batches_per_step = static_cast<double>(numbers.per_step())};
}

Processes& alone() {
  static const std::unique_ptr<Processes> processes = make_single_process();
  return *processes;
}

BatchNumbers batch_numbers(const TrainerSetup& setup, const Processes& processes) {
  const std::int64_t of_step =
      setup.micro_batches > 0 ? setup.micro_batches : setup.settings.accumulation;
  return share_of_step(of_step, processes.rank(), processes.count());
}

// The figure that ranks the checkpoints, of the averaged weights if training.weights is ema.
Ranking ranking_of(const TrainerSetup& setup) {
  Ranking ranking = setup.ranking;
  if (setup.settings.ema > 0 && setup.settings.weights == WeightsKind::ema) {
    ranking.figure = std::string(kAveraged) + ranking.figure;
  }
  return ranking;
}

class Trainer {
 public:
  Trainer(TrainingTask& task, const TrainerSetup& setup)
      : task_(task),
        settings_(setup.settings),
        run_(setup.run),
        processes_(setup.processes != nullptr ? *setup.processes : alone()),
        numbers_(batch_numbers(setup, processes_)),
        plan_(settings_, setup.stages, numbers_),
        schedule_(make_schedule(setup.settings, batch_measure(task, numbers_))),
        ranking_(ranking_of(setup)),
        optimizer_(task.parameters(), optimizer_options(settings_), in_parts()),
        reduction_(make_step_reduction(
            processes_, task.parameters(),
            {.order = settings_.reduce, .in_parts = settings_.shard_optimizer})),
        graphs_(make_pass_graphs(task, settings_, &processes_)),
        average_(settings_.ema == 0 ? nullptr
                                    : std::make_unique<WeightAverage>(task.parameters(),
                                                                      settings_.ema, in_parts())),
        state_(begin(setup)),
        last_checked_(state_.consumed),
        done_at_start_(done()),
        divergence_(run_, settings_.max_bad_steps, [this] { clear_line(); }),
        account_(state_, divergence_, [this] { confirm(); }),
        // Makes the batch of this process's i-th pass from now on, in the loader's threads.
        loader_(setup.prefetch, [this, first = state_.next_batch](std::int64_t i) {
          const auto [batch, part] = plan_.of_pass(first, i);
          return task_.make_part_of(batch.stage, batch.number, part);
        }) {}

  TrainingSummary run() {
    if (auto ended = ended_before(run_, settings_, state_.consumed.steps, processes_)) {
      return std::move(*ended);
    }
    std::error_code error;
    if (processes_.first()) {
      log_.emplace(run_, state_.consumed.steps);
      fs::remove(run_.summary(), error);  // an earlier end is no longer the end
    }
    try {
      return train_to_end();
    } catch (const Diverged& problem) {
      // The summary tells later readers that the same settings would end here again.
      TrainingSummary summary = summarize(StopReason::diverged);
      summary.divergence = problem.parts().message;
      try {
        if (processes_.first()) write_checksummed_json(run_.summary(), to_json(summary));
      } catch (const Error& unwritten) {
        log::warn("{}", unwritten.what());
      }
      throw;
    }
  }

 private:
  TrainingTask& task_;
  const TrainingSettings& settings_;
  const RunDirectory& run_;
  Processes& processes_;
  BatchNumbers numbers_;
  StagePlan plan_;
  Schedule schedule_;
  Ranking ranking_;  // of the validations
  Optimizer optimizer_;
  std::unique_ptr<StepReduction> reduction_;
  std::unique_ptr<PassGraphs> graphs_;      // null where passes are not recorded and repeated
  std::unique_ptr<WeightAverage> average_;  // with training.ema
  TrainingState state_;
  // The consumption at the last check of the periods. All decisions use it instead of state_, since
  // it is the same in all processes; their clocks differ.
  Consumed last_checked_;
  int stop_signal_ = 0;  // received by one of the processes
  int steps_since_stop_ = 0;
  bool gave_up_step_ = false;  // stopped inside a step; a resumed run makes its batches again
  double done_at_start_;
  std::optional<TrainingLog> log_;  // in the first process
  DivergenceWatch divergence_;
  StepAccount account_;
  std::int64_t saved_step_ = -1;
  bool save_owed_ = false;  // a checkpoint is due
  bool stopped_in_validation_ = false;
  Stopwatch session_;
  Prefetcher<std::unique_ptr<TrainingBatch>> loader_;  // last: its threads use the others

  Processes* in_parts() { return settings_.shard_optimizer ? &processes_ : nullptr; }

  TrainingState begin(const TrainerSetup& setup) {
    return resume({.run = run_,
                   .seed = setup.seed,
                   .parameters = task_.parameters(),
                   .optimizer = optimizer_,
                   .average = average_.get(),
                   .processes = processes_});
  }

  TrainingSummary train_to_end() {
    const StopSignals signals;
    agree();
    task_.parameters().apply_constraints();
    if (state_.validation_due) {
      validate();
      save();
    }
    std::optional<StopReason> reason;
    while (!(reason = stop_reason())) train_one_step();
    bool changed = saved_step_ != state_.consumed.steps;
    if (*reason == StopReason::finished) changed = finish() || changed;
    if (stopped_in_validation_) reason = StopReason::signal;
    refuse_unsound_end(*reason);
    if (*reason == StopReason::finished) confirm();  // also after no steps
    if (changed) save();
    return leave(*reason);
  }

  void refuse_unsound_end(StopReason reason) const {
    const std::string steps = format_count(state_.consumed.steps);
    if (reason == StopReason::finished && state_.skipped_steps > 0 &&
        state_.skipped_steps == state_.consumed.steps) {
      divergence_.diverged(fmt::format("none of the {} steps was finite", steps));
    }
    if (reason != StopReason::signal && !is_sound()) {
      divergence_.diverged(fmt::format("the validation after step {} is not finite", steps));
    }
  }

  TrainingSummary leave(StopReason reason) {
    TrainingSummary summary = summarize(reason);
    if (!processes_.first()) return summary;
    log_->clear();
    write_checksummed_json(run_.summary(), to_json(summary));
    if (reason != StopReason::signal && settings_.keep_last == 0) {
      prune_checkpoints(run_.checkpoints(),
                        {.last = 0, .best = settings_.keep_best, .ended = true});
    }
    return summary;
  }

  // Share of the training that is done, in [0, 1].
  double done() const {
    return std::min(1.0, last_checked_.in(settings_.steps.unit) / settings_.steps.amount);
  }

  std::optional<StopReason> stop_reason() const {
    // Does not stop after a bad step, since its weights are not saved.
    constexpr int kMostWaits = 3;
    if (stop_signal_ != 0 &&
        (gave_up_step_ || state_.skipped_in_row == 0 || steps_since_stop_ > kMostWaits)) {
      return StopReason::signal;
    }
    if (reached(settings_.steps, last_checked_)) return StopReason::finished;
    if (settings_.patience > 0 && state_.without_improvement >= settings_.patience) {
      return StopReason::patience;
    }
    return std::nullopt;
  }

  // The share of the training that one step is. For a length in minutes, the mean of the steps so
  // far, and 0 before the first, so that a warm-up starts at its beginning.
  double share_of_step() const {
    if (settings_.steps.unit != Period::Unit::minutes) {
      return 1 / std::max(steps_in(settings_.steps, batch_measure(task_, numbers_)), 1.0);
    }
    return last_checked_.steps == 0 ? 0 : done() / static_cast<double>(last_checked_.steps);
  }

  Progress progress() const {
    if (schedule_.in_shares()) return {.done = done(), .step = share_of_step()};
    const Period::Unit unit = settings_.steps.unit;
    const double done = last_checked_.in(unit);
    if (unit != Period::Unit::minutes) {
      return {.done = done, .step = 1 / steps_in({1, unit}, batch_measure(task_, numbers_))};
    }
    const auto steps = static_cast<double>(last_checked_.steps);
    return {.done = done, .step = steps == 0 ? 0 : done / steps};
  }

  double learning_rate() const {
    return plan_.peak_rate(state_.consumed.steps) * learning_rate_share(schedule_, progress());
  }

  // Reading a number waits for the GPU, so it is done only when something shows it.
  bool settles_now() const {
    return task_.parameters().flat_values().is_cpu() || (log_ && log_->live_due()) ||
           account_.is_full() || StopSignals::received() != 0;
  }

  // Shares what all decisions depend on: the clock of the first process, and whether any process
  // was asked to stop.
  void agree() {
    stop_signal_ = StopSignals::received();
    if (processes_.alone()) return;
    const std::array<double, 2> own = {state_.consumed.minutes, static_cast<double>(stop_signal_)};
    const auto all = gather_numbers(processes_, own);
    state_.consumed.minutes = all[0][0];
    for (const auto& row : all) stop_signal_ = std::max(stop_signal_, static_cast<int>(row[1]));
  }

  void count_time(double seconds) {
    state_.window.seconds += seconds;
    state_.consumed.minutes += seconds / 60;
  }

  void train_one_step() {
    Stopwatch watch;
    if (!compute_step()) {  // stopped inside it: the training is where it was before
      account_.settle();
      agree();
      return;
    }
    if (settles_now()) account_.settle();
    // Periods in minutes include this step.
    count_time(watch.lap());
    agree();
    steps_since_stop_ += stop_signal_ != 0;
    const Consumed before = std::exchange(last_checked_, state_.consumed);
    const auto due = [&](const Period& every) { return crosses(every, before, last_checked_); };
    const bool log_due = due(settings_.log_every);
    const bool stage_done = plan_.ends_stage(state_.consumed.steps);
    save_owed_ |= due(settings_.save_every) || stage_done;
    state_.validation_due |= due(settings_.validate_every) || stage_done;
    if (log_due || save_owed_ || state_.validation_due || stop_signal_ != 0) {
      account_.settle();
      count_time(watch.lap());
    }
    if (stage_done && graphs_) graphs_->forget();
    if (log_due) write_window();
    if (log_ && log_->live_due()) log_->live(with_progress(account_.last_step()));
    // train_to_end() validates and saves the end. After a signal, the validation waits until the
    // training is resumed.
    if (stop_reason() || stop_signal_ != 0) return;
    if (state_.validation_due) save_owed_ |= validate();
    if (save_owed_) save();
  }

  // False if the last step, or the validation after it, was not finite. Such weights are not saved:
  // the checkpoint before them is the last good one.
  bool is_sound() const {
    const ValidationRecord* const validation = state_.current();
    return validation != nullptr ? validation->counts() : state_.skipped_in_row == 0;
  }

  // Writes the last window and validates, unless the last step has done so. Returns whether
  // anything was left to do.
  bool finish() {
    account_.settle();
    const bool logs = state_.window.steps > 0, validates = state_.current() == nullptr;
    if (logs) write_window();
    if (validates) validate();
    return logs || validates;
  }

  // Called between two micro-batches, since a step may take very long. Returns false after a bad
  // step, whose weights would not be saved, and where another process waits for this one's part.
  bool stops_in_step() const {
    const bool awaited =
        plan_.numbers(state_.consumed.steps).parts > 1 && task_.needs_other_parts();
    return !awaited && stop_signal_ == 0 && state_.skipped_in_row == 0 &&
           processes_.stops(StopSignals::received() != 0);
  }

  // Returns false if the step was stopped. Nothing has changed then.
  bool compute_step() {
    const std::int64_t step = state_.consumed.steps;
    const double rate = learning_rate();
    const BatchNumbers& numbers = plan_.numbers(step);
    double loading = 0;
    const auto next_batch = [&] {
      const Stopwatch waiting;
      std::unique_ptr<TrainingBatch> batch = loader_.next();
      loading += waiting.seconds();
      return batch;
    };
    std::optional<FiniteCheck> finite;
    if (settings_.check_finite) finite.emplace();
    StepResult result = take_training_step(task_, optimizer_, next_batch,
                                           {.step = step,
                                            .seed = state_.seed,
                                            .numbers = numbers,
                                            .learning_rate = rate,
                                            .clip = settings_.clip,
                                            .graphs = graphs_.get(),
                                            .processes = &processes_,
                                            .stop = [this] { return stops_in_step(); }},
                                           reduction_.get());
    if (result.given_up) {
      gave_up_step_ = true;
      return false;
    }
    state_.window.loader_seconds += loading;
    if (finite && result.sums.targets > 0) {
      divergence_.require_finite(step + 1, result, gather_texts(processes_, finite->first()));
    }
    if (average_) average_->update(step + 1);
    state_.next_batch += numbers.per_step();
    state_.consumed.steps = step + 1;
    state_.consumed.epochs = plan_.epochs(state_.next_batch, task_);
    account_.add(std::move(result), rate, plan_.stages() > 0 ? plan_.stage_of_step(step) + 1 : 0);
    return true;
  }

  // Called before other text is printed to the terminal.
  void clear_line() {
    if (log_) log_->clear();
  }

  // Weights that are not finite never recover, so they are neither validated nor saved.
  void require_finite() {
    account_.settle();
    if (optimizer_.is_finite()) return;
    divergence_.diverged(
        fmt::format("the weights are not finite after step {}: the training has diverged",
                    format_count(state_.consumed.steps)));
  }

  void write_window() {
    if (log_) log_->window(with_progress(account_.window()), state_);
    account_.close_window();
  }

  StepReport with_progress(StepReport report) const {
    report.done = done();
    const double progress = report.done - done_at_start_;
    if (progress > 0) report.seconds_left = session_.seconds() / progress * (1 - report.done);
    const Period::Unit unit = settings_.steps.unit;
    const bool known = unit == Period::Unit::steps || unit == Period::Unit::epochs;
    if (known && report.done > 0) {
      const auto steps = static_cast<double>(last_checked_.steps);
      report.steps = std::llround(steps / report.done);
    }
    return report;
  }

  // Validates the weights and, with training.ema, their average.
  Figures validation_figures() {
    Figures figures = task_.validate(processes_);
    if (!average_) return figures;
    clear_line();
    log::info("the same of the weights' moving average:");
    const WeightAverage::Loan loan(*average_);
    for (const auto& [name, value] : task_.validate(processes_)) {
      figures[std::string(kAveraged) + name] = value;
    }
    return figures;
  }

  // Validates and records the result. Returns whether it is one of the best, whose checkpoints are
  // kept. A validation that a signal stops is made when the training is resumed.
  bool validate() {
    require_finite();
    ValidationRecord record{
        .step = state_.consumed.steps, .minutes = state_.consumed.minutes, .ranking = ranking_};
    try {
      record.figures = validation_figures();
    } catch (const ValidationStopped&) {
      state_.validation_due = stopped_in_validation_ = true;
      stop_signal_ = StopSignals::received();
      return false;
    }
    ROFORMER_ASSERT(record.figures.contains(ranking_.figure));
    const auto better = std::ranges::count_if(
        state_.validations, [&](const auto& other) { return !is_better(record, other); });
    const bool is_best = record.counts() && better == 0;
    state_.without_improvement = is_best ? 0 : state_.without_improvement + 1;
    state_.validations.push_back(record);
    state_.validation_due = false;
    if (log_) log_->validation(record, is_best);
    return record.counts() && better < settings_.keep_best;
  }

  // Removing an overwritten run may take long.
  void confirm() {
    std::shared_ptr<void> busy;
    if (!run_.is_confirmed()) busy = processes_.busy();
    run_.confirm();
  }

  void save() {
    require_finite();
    if (!is_sound()) {  // save_owed_ stays: the next good step is saved instead
      clear_line();
      log::warn("no checkpoint at step {}, which was not finite",
                format_count(state_.consumed.steps));
      return;
    }
    save_owed_ = false;
    state_.optimizer_updates = optimizer_.updates();
    const Moments moments = optimizer_.moments();
    const at::Tensor average = average_ ? average_->values() : at::Tensor();
    saved_step_ = state_.consumed.steps;
    if (!processes_.first()) return;
    const std::shared_ptr<void> busy = processes_.busy();
    log_->sync();
    save_checkpoint(run_.checkpoints(), {task_.parameters(), moments, average}, state_,
                    [&](const InnerPath& folder) {
                      task_.save_assets(folder);
                      if (is_present(run_.config().path())) {
                        write_file_atomically(folder / "config.yaml",
                                              read_file(run_.config(), kLargestDescription));
                      }
                    });
    run_.confirm();
    prune_checkpoints(run_.checkpoints(),
                      {.last = settings_.keep_last, .best = settings_.keep_best});
  }

  TrainingSummary summarize(StopReason reason) const {
    return {.reason = reason,
            .signal = reason == StopReason::signal ? stop_signal_ : 0,
            .consumed = state_.consumed,
            .parameters = task_.parameters().count(),
            .skipped_steps = state_.skipped_steps,
            .tokens_per_second =
                state_.tokens_per_second.empty() ? 0 : median(state_.tokens_per_second),
            .peak_memory_bytes = static_cast<std::int64_t>(peak_memory()),
            .validations = state_.validations};
  }
};

}  // namespace

TrainingSummary train(TrainingTask& task, const TrainerSetup& setup) {
  // Before anything is derived from them, for instance an average.
  if (setup.processes != nullptr) share_weights(task.parameters(), *setup.processes);
  return Trainer(task, setup).run();
}

}  // namespace roformer
