#include "base/error.h"

#include <cstring>
#include <utility>

namespace roformer {
namespace {

std::string compose(const Error::Parts& parts) {
  std::string text;
  if (!parts.location.empty()) text += parts.location + ": ";
  text += parts.message;
  if (!parts.hint.empty()) text += " (hint: " + parts.hint + ")";
  return text;
}

}  // namespace

Error::Error(Parts parts) : std::runtime_error(compose(parts)), parts_(std::move(parts)) {}

void throw_failure(std::string location, std::string message, std::string hint) {
  throw Error({.kind = ErrorKind::failure,
               .message = std::move(message),
               .location = std::move(location),
               .hint = std::move(hint)});
}

void throw_usage(std::string location, std::string message, std::string hint) {
  throw Error({.kind = ErrorKind::usage,
               .message = std::move(message),
               .location = std::move(location),
               .hint = std::move(hint)});
}

std::string system_message(int error_number) {
  return std::strerror(error_number);
}

void assertion_failed(const char* expression, const char* file, int line) {
  throw std::logic_error(std::string(expression) + " does not hold at " + file + ":" +
                         std::to_string(line));
}

}  // namespace roformer
