// The objects of JSON Lines as other programs write them, for every command that reads such lines.
// Malformed UTF-8 and halves of surrogate pairs ("\ud83d") become U+FFFD and are counted. NaN,
// Infinity and numbers that fit no type become null, since a number is never a text. A repeated
// name in an object is an error, since one of its values would be lost.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace roformer {

struct JsonLineOptions {
  std::string file;          // for messages
  std::string hint;          // the contents of a line, for errors
  bool skip_broken = false;  // a line that is no JSON object is left out with a warning
};

class JsonLineParser {
 public:
  explicit JsonLineParser(JsonLineOptions options);

  // The object in line `number`, counted from 1; empty for a line that is left out. Throws Error
  // (failure, FILE:NUMBER) with the reason why a line is not a JSON object.
  std::optional<nlohmann::json> parse(std::string_view line, std::int64_t number);
  // How many malformed sequences became U+FFFD in this text of the last parsed line.
  std::uint64_t replaced_in(std::string_view text) const;
  // Call it at the end of the file: logs how many lines were left out.
  void finish();

 private:
  JsonLineOptions options_;
  std::uint64_t replaced_ = 0;  // in the line parsed last
  std::int64_t left_out_ = 0;
};

}  // namespace roformer
