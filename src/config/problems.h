// All that is wrong with a configuration, collected so that the user mends it in one go and not
// one message at a time.
#pragma once

#include <string>
#include <vector>

namespace roformer {

// Where a value was given: "file:line" or the flag ("--seed").
using SourceLocation = std::string;

struct Problem {
  SourceLocation where;  // "default" for a default, empty: nowhere
  std::string key;       // left out of the line where that is a flag, which names it
  std::string message;   // "got X, wanted Y"
  std::string hint;      // the way out; may be empty

  // "WHERE: KEY: MESSAGE (hint: HINT)", without the parts that are empty.
  std::string line() const;
};

class Problems {
 public:
  // A problem that is already listed (each run of a study finds it) is listed once.
  void add(const Problem& problem);
  void add(SourceLocation where, std::string key, std::string message, std::string hint = "");
  void add_all(const Problems& others);
  bool empty() const { return lines_.empty(); }
  const std::vector<std::string>& lines() const { return lines_; }
  // Throws one Error (usage) whose message has one line a problem, if there is any.
  void throw_if_any() const;

 private:
  std::vector<std::string> lines_;

  void add_line(const std::string& line);
};

}  // namespace roformer
