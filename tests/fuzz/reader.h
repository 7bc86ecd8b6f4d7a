// A reader of foreign bytes as one function over one input. Whatever the input is, a reader returns
// or throws Error; what it returns is then held against what it promises (ROFORMER_ASSERT).
#pragma once

#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"

namespace roformer::fuzz {

inline const std::string kFile = "input";

struct Reader {
  const char* name;
  void (*read)(std::string_view input);
};

// True when the input was read, false when it was refused.
inline bool accepts(const Reader& reader, std::string_view input) {
  try {
    reader.read(input);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The inputs that fuzzing kept, tests/fuzz/READER.txt, one a line in hexadecimal: how many were
// read and how many refused.
struct Replay {
  int read = 0;
  int refused = 0;
};
inline Replay replay(const Reader& reader, const std::string& folder) {
  std::ifstream file(folder + "/" + reader.name + ".txt");
  Replay result;
  for (std::string line; std::getline(file, line);) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    }
    ++(accepts(reader, bytes) ? result.read : result.refused);
  }
  return result;
}

}  // namespace roformer::fuzz
