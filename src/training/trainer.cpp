#include "training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/checksummed_json.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "metrics/statistics.h"
#include "tensor/finite_check.h"
#include "training/checkpoint.h"
#include "training/divergence.h"
#include "training/optimizer.h"
#include "training/resumption.h"
#include "training/schedule.h"
#include "training/signals.h"
#include "training/stage_plan.h"
#include "training/step_account.h"
#include "training/step_reduction.h"
#include "training/training_log.h"
#include "training/training_step.h"
#include "training/validations.h"
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
  BatchNumbers numbers{.accumulation = setup.settings.accumulation,
                       .rank = processes.rank(),
                       .processes = processes.count()};
  if (setup.micro_batches > 0) {
    ROFORMER_ASSERT(setup.micro_batches % numbers.processes == 0);
    numbers.accumulation = setup.micro_batches / numbers.processes;
  }
  return numbers;
}

AdamW make_optimizer(ParameterStore& parameters, const TrainingSettings& settings,
                     Processes& processes) {
  const AdamWOptions options{.beta1 = settings.beta1,
                             .beta2 = settings.beta2,
                             .epsilon = settings.epsilon,
                             .weight_decay = settings.weight_decay,
                             .layer_decay = settings.layer_decay};
  if (settings.shard_optimizer) return {parameters, options, processes};
  return {parameters, options};
}

std::unique_ptr<WeightAverage> make_average(ParameterStore& parameters,
                                            const TrainingSettings& settings,
                                            Processes& processes) {
  if (settings.ema == 0) return nullptr;
  if (settings.shard_optimizer) {
    return std::make_unique<WeightAverage>(parameters, settings.ema, processes);
  }
  return std::make_unique<WeightAverage>(parameters, settings.ema);
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
        optimizer_(make_optimizer(task.parameters(), settings_, processes_)),
        reduction_(make_step_reduction(
            processes_, task.parameters(),
            {.order = settings_.reduce, .in_parts = settings_.shard_optimizer})),
        graphs_(make_pass_graphs(task, settings_, &processes_)),
        average_(make_average(task.parameters(), settings_, processes_)),
        state_(begin(setup)),
        last_checked_(state_.consumed),
        done_at_start_(done()),
        divergence_(run_, settings_.max_bad_steps, [this] { clear_line(); }),
        account_(state_, divergence_, [this] { confirm(); }),
        validations_({.task = task_,
                      .settings = settings_,
                      .processes = processes_,
                      .average = average_.get(),
                      .ranking = setup.ranking,
                      .make_room = [this] { clear_line(); }}),
        loader_(setup.prefetch, [this, first = state_.next_batch](std::int64_t i) {
          const StagePlan::StageBatch batch_of_stage = plan_.of_batch(numbers_.number(first, i));
          return task_.make_batch_of(batch_of_stage.stage, batch_of_stage.number);
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
      // Whoever reads the folder afterwards knows that the same settings would end there again.
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
  AdamW optimizer_;
  std::unique_ptr<StepReduction> reduction_;
  std::unique_ptr<PassGraphs> graphs_;      // where passes are repeated
  std::unique_ptr<WeightAverage> average_;  // with training.ema
  TrainingState state_;
  // Up to where periods were compared with what is consumed. All that is decided by what is
  // consumed is decided by this, which is the same in all processes; their clocks are not.
  Consumed last_checked_;
  int stop_signal_ = 0;  // that one of the processes has received
  int steps_since_stop_ = 0;
  bool gave_up_step_ = false;  // was stopped in a step, whose batches are not made again
  double done_at_start_;
  std::optional<TrainingLog> log_;  // of the first process
  DivergenceWatch divergence_;
  StepAccount account_;
  Validations validations_;
  std::int64_t saved_step_ = -1;
  bool save_owed_ = false;  // a checkpoint is due
  bool stopped_in_validation_ = false;
  Stopwatch session_;
  Prefetcher<std::unique_ptr<TrainingBatch>> loader_;  // the last: its threads use the others

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
    const Consumed& consumed = state_.consumed;
    if (*reason == StopReason::finished && state_.skipped_steps > 0 &&
        state_.skipped_steps == consumed.steps) {
      divergence_.diverged(
          fmt::format("none of the {} steps was finite", format_count(consumed.steps)));
    }
    if (*reason != StopReason::signal && !is_sound()) {
      divergence_.diverged(
          fmt::format("the validation after step {} is not finite", format_count(consumed.steps)));
    }
    if (*reason == StopReason::finished) confirm();  // one of no steps, too
    if (changed) save();
    const TrainingSummary summary = summarize(*reason);
    if (!processes_.first()) return summary;
    log_->clear();
    write_checksummed_json(run_.summary(), to_json(summary));
    if (*reason != StopReason::signal && settings_.keep_last == 0) {
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
    // Not at a step that could do nothing with the weights: those are not saved.
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

  // Share of the training that a step is. Of one in minutes that of the steps so far, and none
  // before the first: a warm-up begins at its beginning.
  double share_of_step() const {
    if (settings_.steps.unit != Period::Unit::minutes) {
      return 1 / std::max(steps_in(settings_.steps, batch_measure(task_, numbers_)), 1.0);
    }
    return last_checked_.steps == 0 ? 0 : done() / static_cast<double>(last_checked_.steps);
  }

  double learning_rate() const {
    return plan_.peak_rate(state_.consumed.steps) *
           learning_rate_share(schedule_, {.done = done(), .step = share_of_step()});
  }

  // Reading a number waits for a GPU: not more often than someone looks.
  bool settles_now() const {
    return task_.parameters().flat_values().is_cpu() || (log_ && log_->live_due()) ||
           account_.is_full() || StopSignals::received() != 0;
  }

  // What every process has to know alike before it decides anything: the clock of the first, and
  // whether somebody was asked to stop.
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
    if (!compute_step()) {  // stopped in it: the training is where it was before
      account_.settle();
      agree();
      return;
    }
    if (settles_now()) account_.settle();
    // Periods in minutes, too, are compared with what this step has taken.
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
    // The end is validated and saved by itself; after a signal the validation waits for the
    // resumption.
    if (stop_reason() || stop_signal_ != 0) return;
    if (state_.validation_due) save_owed_ |= validate();
    if (save_owed_) save();
  }

  // False for weights that the last step or, after it, the validation could do nothing with. They
  // are not saved: the checkpoint before them is the last good one.
  bool is_sound() const {
    const ValidationRecord* const validation = state_.current();
    return validation != nullptr ? validation->counts() : state_.skipped_in_row == 0;
  }

  // What every training leaves that was as long as it should be. Returns whether there was anything
  // left to do.
  bool finish() {
    account_.settle();
    const bool logs = state_.window.steps > 0, validates = state_.current() == nullptr;
    if (logs) write_window();
    if (validates) validate();
    return logs || validates;
  }

  // Looked at between two micro-batches: a step may take very long. Not where the weights are those
  // of a bad step, which would not be saved.
  bool stops_in_step() const {
    return stop_signal_ == 0 && state_.skipped_in_row == 0 &&
           processes_.stops(StopSignals::received() != 0);
  }

  // False where the step was stopped: nothing of it is left.
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

  // Before other words appear on the terminal.
  void clear_line() {
    if (log_) log_->clear();
  }

  // Weights that are not finite never come back: they are neither validated nor saved.
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
    return report;
  }

  // Returns whether the result is one of the best, whose checkpoints are kept. One that a signal
  // stops is made first where the training goes on.
  bool validate() {
    require_finite();
    try {
      const Validations::Outcome outcome = validations_.make(state_);
      if (log_) log_->validation(state_.validations.back(), outcome.is_best);
      return outcome.is_kept;
    } catch (const ValidationStopped&) {
      state_.validation_due = stopped_in_validation_ = true;
      stop_signal_ = StopSignals::received();
      return false;
    }
  }

  // Removing a run that was overwritten may take long.
  void confirm() {
    std::shared_ptr<void> busy;
    if (!run_.is_confirmed()) busy = processes_.busy();
    run_.confirm();
  }

  void save() {
    require_finite();
    if (!is_sound()) {  // the next good step is saved instead
      clear_line();
      log::warn("nothing is saved at step {}, which was not finite",
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
                      std::error_code error;
                      if (fs::exists(run_.config().path(), error)) {
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
  // Before anything is made of them, an average say.
  if (setup.processes != nullptr) share_weights(task.parameters(), *setup.processes);
  return Trainer(task, setup).run();
}

}  // namespace roformer
