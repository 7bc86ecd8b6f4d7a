#include "study/run_result.h"

namespace roformer {

std::string state_word(RunResult::State state) {
  switch (state) {
    case RunResult::State::finished:
      return "finished";
    case RunResult::State::failed:
      return "failed";
    case RunResult::State::refused:
      return "cannot be run";
    default:
      return "not finished";
  }
}

}  // namespace roformer
