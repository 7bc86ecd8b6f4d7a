// Standard input for a test: a text that is there, or a pipe whose other end the test writes into.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace roformer {

// While it lives, standard input is this file.
class InputFrom {
 public:
  explicit InputFrom(int descriptor) : terminal_(::dup(STDIN_FILENO)) {
    ::dup2(descriptor, STDIN_FILENO);
  }
  ~InputFrom() {
    ::dup2(terminal_, STDIN_FILENO);
    ::close(terminal_);
  }
  InputFrom(const InputFrom&) = delete;
  InputFrom& operator=(const InputFrom&) = delete;

 private:
  int terminal_;
};

class GivenInput {
 public:
  explicit GivenInput(std::string_view text) : file_(file_of(text)), input_(::fileno(file_)) {}
  ~GivenInput() { std::fclose(file_); }
  GivenInput(const GivenInput&) = delete;
  GivenInput& operator=(const GivenInput&) = delete;

 private:
  std::FILE* file_;
  InputFrom input_;

  static std::FILE* file_of(std::string_view text) {
    std::FILE* const file = std::tmpfile();
    std::fwrite(text.data(), 1, text.size(), file);
    std::rewind(file);
    return file;
  }
};

class InputPipe {
 public:
  InputPipe() : input_(opened(ends_)) { ::close(ends_[0]); }
  ~InputPipe() { end(); }
  InputPipe(const InputPipe&) = delete;
  InputPipe& operator=(const InputPipe&) = delete;

  // At most what a pipe holds, as nobody reads meanwhile.
  bool write(std::string_view text) const {
    return ::write(ends_[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  void end() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
  InputFrom input_;

  static int opened(int (&ends)[2]) { return ::pipe(ends) == 0 ? ends[0] : -1; }
};

}  // namespace roformer
