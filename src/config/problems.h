// Collects everything that is wrong with a configuration, so that the user can fix it in one go
// rather than one message at a time.
#pragma once

#include <string>
#include <vector>

namespace roformer {

// The place of a value: "file:line" or the flag ("--seed").
using SourceLocation = std::string;

struct Problem {
  SourceLocation where;  // "default": a default value; empty: unknown
  std::string key;       // left out of the line if it equals the flag in `where`
  std::string message;   // "got X, wanted Y"
  std::string hint;      // how to fix it; may be empty

  // "WHERE: KEY: MESSAGE (hint: HINT)", without the empty parts.
  std::string line() const;
};

class Problems {
 public:
  // Lists a repeated problem, such as one of several runs of a study, only once.
  void add(const Problem& problem);
  void add(SourceLocation where, std::string key, std::string message, std::string hint = "");
  void add_all(const Problems& others);
  bool empty() const { return lines_.empty(); }
  const std::vector<std::string>& lines() const { return lines_; }
  // Throws one Error (usage) with one line per problem if there is any.
  void throw_if_any() const;

 private:
  std::vector<std::string> lines_;

  void add_line(const std::string& line);
};

}  // namespace roformer
