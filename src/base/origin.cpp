#include "base/origin.h"

#include <fmt/format.h>

#include <fstream>

#include "base/version.h"

namespace roformer {

std::string Origin::footer() const {
  return fmt::format("`{}` · roformer {} ({})", command, version, commit);
}

Origin this_program() {
  return {.command = command_line(), .version = kVersion, .commit = kCommit};
}

std::string shell_word(const std::string& word) {
  constexpr const char* kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./,:=+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string command_line() {
  std::ifstream words("/proc/self/cmdline", std::ios::binary);
  std::string program;
  std::getline(words, program, '\0');
  std::string text = "roformer";
  for (std::string word; std::getline(words, word, '\0');) text += " " + shell_word(word);
  return text;
}

}  // namespace roformer
