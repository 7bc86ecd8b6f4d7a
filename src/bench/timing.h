// The timing loop of all benchmarks: rounds that do not count, then rounds in which every piece of
// work has its turn, so that a disturbance of the machine affects all pieces alike. Medians are
// reported.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

namespace roformer {

using BenchmarkClock = std::chrono::steady_clock;
double milliseconds_since(BenchmarkClock::time_point start);

// Waits for the device by reading a number.
void wait_for(const at::Tensor& scalar);

// Called with the number of finished measurements, and of all.
using BenchmarkProgress = std::function<void(std::int64_t done, std::int64_t of)>;

// Milliseconds that the work takes.
double time_of(const std::function<void()>& work);

// A piece of work. It returns its milliseconds in the round of that number, from 0.
using TimedPiece = std::function<double(std::int64_t round)>;
// Pieces that are timed one after the other before any other turn.
using Turn = std::vector<TimedPiece>;
using TurnTimes = std::vector<std::vector<double>>;  // [pieces][rounds that count]

struct TimedRounds {
  std::int64_t counted = 1;
  std::int64_t warmup = 1;  // before them, not counted
  // Called after each turn; true ends the measurement.
  std::function<bool(std::int64_t round, std::size_t turn)> stops = {};
};
std::vector<TurnTimes> take_turns(const std::vector<Turn>& turns, const TimedRounds& rounds);
// A single turn in every round.
TurnTimes time_pieces(const Turn& pieces, const TimedRounds& rounds);

double median_or_none(const std::vector<double>& times);  // -1: nothing was measured
// Milliseconds of the fastest of several runs of a GPU's or CPU's work, which ends in a number.
double best_time(int runs, const std::function<at::Tensor()>& work);

std::int64_t peak_memory_mib();  // of the process

}  // namespace roformer
