// Errors that a user can cause. A command throws Error with one readable line; main prints it and
// turns its kind into the exit code. Bugs of this program are asserts instead (ROFORMER_ASSERT).
#pragma once

#include <stdexcept>
#include <string>

namespace roformer {

enum class ErrorKind {
  failure,  // exit code 1: the command was right but something failed (missing file, full disk)
  usage,    // exit code 2: the command line or the configuration is wrong
};

// what() is "LOCATION: MESSAGE (hint: HINT)", without the empty parts.
class Error : public std::runtime_error {
 public:
  struct Parts {
    ErrorKind kind = ErrorKind::failure;
    std::string message;   // what is wrong: the value and what is allowed
    std::string location;  // where: file, file:line, flag
    std::string hint;      // how to fix it
  };
  explicit Error(Parts parts);
  ErrorKind kind() const { return parts_.kind; }
  const Parts& parts() const { return parts_; }

 private:
  Parts parts_;
};

// Shorthands for the two kinds.
[[noreturn]] void throw_failure(std::string location, std::string message, std::string hint = "");
[[noreturn]] void throw_usage(std::string location, std::string message, std::string hint = "");

// The text of errno after a failed system call, for instance "No space left on device".
std::string system_message(int error_number);

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace roformer

// An assert for our own bugs. Active in every build, because a wrong number is worse than a stop.
#define ROFORMER_ASSERT(expression) \
  ((expression) ? void(0) : ::roformer::assertion_failed(#expression, __FILE__, __LINE__))
