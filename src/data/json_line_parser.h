// The objects of JSON Lines as other programs write them, for every command that reads such lines.
// Bytes that are no UTF-8 and halves of character pairs ("\ud83d") become U+FFFD and are counted;
// NaN, Infinity and numbers that no type holds become null, as a number is never a text. A name
// that is twice in an object is an error, since one of its values would be lost.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace roformer {

struct JsonLineOptions {
  std::string file;          // for messages
  std::string hint;          // what a line holds, for errors
  bool skip_broken = false;  // a line that is no JSON object is left out with a warning
};

class JsonLineParser {
 public:
  explicit JsonLineParser(JsonLineOptions options);

  // The object of line `number`, from 1; nothing for a line that is left out. Throws Error
  // (failure, FILE:NUMBER) that says why a line is no JSON object.
  std::optional<nlohmann::json> parse(std::string_view line, std::int64_t number);
  // How many malformed sequences of the line parsed last became U+FFFD in this text of it.
  std::uint64_t replaced_in(std::string_view text) const;
  // The end of the file: logs how many lines were left out.
  void finish();

 private:
  JsonLineOptions options_;
  std::uint64_t replaced_ = 0;  // in the line parsed last
  std::int64_t left_out_ = 0;
};

}  // namespace roformer
