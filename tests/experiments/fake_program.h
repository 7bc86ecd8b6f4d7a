// A study of fake_study.h with a shell script that stands for `roformer train CONFIG`: it
// writes the files of a run without training anything. What it does depends on the run's name:
// `t5` fails, `deberta` diverges, `alibi` trains until it is told to stop and can be resumed, the
// others finish.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "experiments/fake_study.h"
#include "experiments/study.h"
#include "report/json_lines.h"

namespace roformer {

inline constexpr const char* kFakeTrain = R"script(#!/bin/sh
config=$2
name=$(basename "$config" .yaml)
run=$(dirname "$(dirname "$config")")/$name
mkdir -p "$run"
cp "$config" "$run/config.partial"
mv "$run/config.partial" "$run/config.yaml"
echo "$*" >> "$run/arguments"
seed=${name##*seed}
case $seed in [0-9]) ;; *) seed=1 ;; esac
case $name in rope*) first=3 ;; sinusoidal*) first=5 ;; *) first=4 ;; esac
validation() {
  printf '{"step":%s,"minutes":1,"figures":{"loss":%s,"accuracy":0.25,"perplexity":50},' "$1" "$2"
  printf '"ranked_by":"loss","higher_is_better":false,"tokens":1000}'
}
summary() {
  printf '{"format":"roformer training summary","version":1,"reason":"%s","signal":0,' "$1"
  printf '"steps":100,"epochs":1,"tokens":409600,"minutes":2,"parameters":1000,"skipped_steps":0,'
  printf '"tokens_per_second":12000,"validations":[%s,%s,%s,%s]}' \
    "$(validation 20 8.0)" "$(validation 50 7.0)" "$(validation 75 6.0)" \
    "$(validation 100 "$first.$seed")"
}
finish() {  # whole or not there, as the program writes it
  summary finished > "$run/summary.partial"
  mv "$run/summary.partial" "$run/summary.json"
}
echo '{"commit":"abc","command":"train it","machine":{"cores":2},' \
  '"data":{"fingerprint":"000000000000f00d"}}' > "$run/run.partial"
mv "$run/run.partial" "$run/run.json"
case $name in
  t5*)
    echo "step 1" >&2
    echo "error: out of luck" >&2
    exit 1 ;;
  deberta*)
    summary diverged | sed 's/"signal":0/"signal":0,"divergence":"the loss is nan"/' \
      > "$run/summary.json"
    echo "error: the loss is nan" >&2
    exit 1 ;;
  alibi*)
    if [ "$3" = "--resume" ]; then finish; exit 0; fi
    trap 'summary signal > "$run/summary.json"; exit 143' TERM
    echo '{"kind":"training","step":30,"loss":6.5}' > "$run/metrics.jsonl"
    for _ in $(seq 100); do sleep 0.05; done
    exit 9 ;;
  *)
    finish ;;
esac
)script";

// The script, unless a test has written another.
inline std::filesystem::path fake_program_of(const FakeStudy& study) {
  const std::filesystem::path script = study.path / "train";
  if (std::filesystem::exists(script)) return script;
  write_file_atomically(script, kFakeTrain);
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  return script;
}

struct FakeProgram : FakeStudy {
  explicit FakeProgram(const std::string& positions) : FakeStudy(positions) {
    fake_program_of(*this);
  }
};

// Runs the study by that script.
inline StudyOptions fake_options(const FakeStudy& study) {
  return {.origin = {.command = "roformer study tiny.yaml", .version = "1", .commit = "abc"},
          .program = fake_program_of(study).string()};
}

// How often a run was started, and with which arguments after its configuration file.
inline std::vector<std::string> starts_of(const FakeStudy& study, const std::string& run) {
  std::vector<std::string> result;
  std::error_code error;
  const std::filesystem::path file = study.runs() / run / "arguments";
  if (!std::filesystem::exists(file, error)) return result;
  const std::string text = read_file(file);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    const std::string line = text.substr(start, end - start);
    result.push_back(line.substr(line.find(".yaml") + 5));
    start = end + 1;
  }
  return result;
}

// Sends this process a signal as soon as the file is there.
inline std::thread signal_when(const std::filesystem::path& file, int signal) {
  return std::thread([file, signal] {
    while (!std::filesystem::exists(file)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ::kill(::getpid(), signal);
  });
}

}  // namespace roformer
