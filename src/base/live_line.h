// Whether a status line (base/progress.h) is on the terminal, so that messages can erase it first.
#pragma once

#include <atomic>

namespace roformer {

inline std::atomic<bool> live_line_shown{false};
// Returns to the first column and erases the line.
inline constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace roformer
