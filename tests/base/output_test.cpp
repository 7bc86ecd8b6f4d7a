#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "base/error.h"
#include "catch.h"

using namespace roformer;

namespace {

// What finish_output() says in a process whose standard output is that file; "" where it is
// content.
template <typename Write>
std::string outcome(const char* file, Write write) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::cout.flush();  // what the test program itself has said is not the child's to lose
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open(file, O_WRONLY), STDOUT_FILENO);
    std::string said;
    try {
      write();
      finish_output();
    } catch (const Error& error) {
      said = error.what();
    }
    [[maybe_unused]] const ssize_t written = ::write(ends[1], said.data(), said.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string said(500, '\0');
  const ssize_t length = ::read(ends[0], said.data(), said.size());
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return said.substr(0, static_cast<std::size_t>(length));
}

constexpr const char* kLost =
    "standard output: not all of the result could be written: No space left on device";

}  // namespace

TEST_CASE("a result that standard output lost is a failure") {
  CHECK(outcome("/dev/null", [] { std::cout << "a result\n"; }).empty());
  CHECK(outcome("/dev/full", [] {}).empty());
  CHECK(outcome("/dev/full", [] { std::cout << "a result\n"; }) == kLost);
  CHECK(outcome("/dev/full", [] { fmt::print("a result\n"); }) == kLost);
  // Lost on the way, when nothing is left to be written at the end.
  CHECK(outcome("/dev/full", [] { std::cout << std::string(1 << 16, 'x') << std::flush; }) != "");
  CHECK(outcome("/dev/full",
                [] { std::fwrite(std::string(1 << 16, 'x').data(), 1, 1 << 16, stdout); }) != "");
}
