#include "bench/timing.h"

#include <algorithm>

#include "base/memory.h"
#include "metrics/statistics.h"

namespace roformer {

double milliseconds_since(BenchmarkClock::time_point start) {
  return std::chrono::duration<double, std::milli>(BenchmarkClock::now() - start).count();
}

void wait_for(const at::Tensor& scalar) {
  scalar.item<double>();
}

double time_of(const std::function<void()>& work) {
  const auto start = BenchmarkClock::now();
  work();
  return milliseconds_since(start);
}

std::vector<TurnTimes> take_turns(const std::vector<Turn>& turns, const TimedRounds& rounds) {
  std::vector<TurnTimes> times;
  for (const Turn& turn : turns) times.emplace_back(turn.size());
  for (std::int64_t round = 0; round < rounds.warmup + rounds.counted; ++round) {
    for (std::size_t t = 0; t < turns.size(); ++t) {
      for (std::size_t piece = 0; piece < turns[t].size(); ++piece) {
        const double milliseconds = turns[t][piece](round);
        if (round >= rounds.warmup) times[t][piece].push_back(milliseconds);
      }
      if (rounds.stops && rounds.stops(round, t)) return times;
    }
  }
  return times;
}

TurnTimes time_pieces(const Turn& pieces, const TimedRounds& rounds) {
  return take_turns({pieces}, rounds).front();
}

double median_or_none(const std::vector<double>& times) {
  return times.empty() ? -1 : median(times);
}

double best_time(int runs, const std::function<at::Tensor()>& work) {
  const TimedPiece piece = [&](std::int64_t) { return time_of([&] { wait_for(work()); }); };
  return std::ranges::min(time_pieces({piece}, {.counted = runs, .warmup = 0}).front());
}

std::int64_t peak_memory_mib() {
  return static_cast<std::int64_t>(peak_memory() >> 20);
}

}  // namespace roformer
