#include "experiments/shard.h"

#include <charconv>

#include "base/error.h"

namespace roformer {
namespace {

constexpr const char* kFlag = "--shard";

bool read_number(const std::string& text, std::int64_t& value) {
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

std::int64_t array_variable(const std::string& name, const Environment& environment) {
  const auto text = environment(name);
  if (!text) {
    throw_usage(kFlag, "slurm: " + name + " is not set: this is no job of a Slurm array",
                "sbatch --array=1-8, or say which shard this is: --shard 2/8");
  }
  std::int64_t value = 0;
  if (!read_number(*text, value)) throw_usage(name, "is \"" + *text + "\", not an integer");
  return value;
}

// Array indices need not begin at 1 nor be neighbours, but must be evenly apart.
StudyShard slurm_shard(const Environment& environment) {
  const std::int64_t index = array_variable("SLURM_ARRAY_TASK_ID", environment);
  const std::int64_t first = array_variable("SLURM_ARRAY_TASK_MIN", environment);
  const std::int64_t last = array_variable("SLURM_ARRAY_TASK_MAX", environment);
  const std::int64_t count = array_variable("SLURM_ARRAY_TASK_COUNT", environment);
  const std::int64_t step = count > 1 ? (last - first) / (count - 1) : 1;
  const bool evenly = count > 0 && step > 0 && first + step * (count - 1) == last &&
                      index >= first && index <= last && (index - first) % step == 0;
  if (!evenly) {
    throw_usage(kFlag,
                "slurm: the indices of the array are not evenly apart (" + std::to_string(count) +
                    " from " + std::to_string(first) + " to " + std::to_string(last) + ")",
                "sbatch --array=1-8, or say which shard this is: --shard 2/8");
  }
  return {.number = (index - first) / step + 1, .count = count};
}

}  // namespace

StudyShard parse_shard(const std::string& text, const Environment& environment) {
  if (text == "slurm") return slurm_shard(environment);
  StudyShard shard;
  const std::size_t slash = text.find('/');
  const bool read = slash != std::string::npos &&
                    read_number(text.substr(0, slash), shard.number) &&
                    read_number(text.substr(slash + 1), shard.count);
  if (!read || shard.number < 1 || shard.number > shard.count) {
    throw_usage(kFlag, "\"" + text + "\" is neither slurm nor K/N with K from 1 to N",
                "--shard 2/8 is the second of eight");
  }
  return shard;
}

}  // namespace roformer
