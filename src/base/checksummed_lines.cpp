#include "base/checksummed_lines.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"

namespace roformer {
namespace {

constexpr std::string_view kBegin = "# checksum of what follows: ";

std::string first_line(std::string_view rest) {
  return fmt::format("{}{}\n", kBegin, hexadecimal(XXH3_64bits(rest.data(), rest.size())));
}

}  // namespace

std::string checksummed_lines(std::string_view lines) {
  return first_line(lines).append(lines);
}

bool begins_with_seal(std::string_view text) {
  return text.starts_with(kBegin);
}

void check_checksummed_lines(const std::filesystem::path& file) {
  const std::string text = read_file(file, kLargestDescription);
  if (!begins_with_seal(text)) return;
  const std::string_view whole = text;
  const std::string wanted =
      first_line(whole.substr(std::min(whole.size(), first_line("").size())));
  if (whole.starts_with(wanted)) return;
  throw_failure(file.string(), "was changed after it was written, or is damaged",
                "change keys by flags (--training.steps 1000); if the change was meant, remove "
                "the first line");
}

}  // namespace roformer
