// Preparations that are killed: a tokenizer that lets its process die where it is given a certain
// text, and what is left.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "catch.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace roformer {

// As the tokenizer that it is made of; counts what it is given.
class MortalTokenizer : public Tokenizer {
 public:
  MortalTokenizer(std::unique_ptr<Tokenizer> tokenizer, std::string death)
      : tokenizer_(std::move(tokenizer)), death_(std::move(death)) {}

  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<TokenId>& ids) const override {
    if (!death_.empty() && text.find(death_) != std::string_view::npos) ::raise(SIGKILL);
    tokenizer_->encode(text, ids);
    std::string repaired;
    std::uint64_t invalid = 0;
    if (kind() != TokenizerKind::bytes) repair_utf8(text, repaired, invalid);
    count_invalid_sequences(invalid);
    bytes_ += text.size();
  }
  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    return tokenizer_->decode(ids, with_special);
  }
  std::int64_t vocabulary_size() const override { return tokenizer_->vocabulary_size(); }
  std::string piece(TokenId id) const override { return tokenizer_->piece(id); }
  const SpecialTokens& special() const override { return tokenizer_->special(); }
  bool begins_word(TokenId id) const override { return tokenizer_->begins_word(id); }
  TokenizerKind kind() const override { return tokenizer_->kind(); }
  const std::string& file_contents() const override { return tokenizer_->file_contents(); }
  std::string description() const override { return tokenizer_->description(); }

  std::uint64_t bytes() const { return bytes_.load(); }

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::string death_;
  mutable std::atomic<std::uint64_t> bytes_{0};
};

// Runs the action in a child process, in which it is killed.
inline void dies(const auto& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    action();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
}

inline std::map<std::string, std::string> files_in(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename()] = read_file(entry.path());
  }
  return files;
}

}  // namespace roformer
