#include "base/checksummed_json.h"

#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"
#include "base/json.h"

namespace roformer {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kChecksum = "checksum";

// Names in alphabetical order and numbers in their shortest form, whatever the file looks like.
std::string checksum_of(const json& object) {
  const std::string text = object.dump();
  return hexadecimal(XXH3_64bits(text.data(), text.size()));
}

}  // namespace

std::string checksummed_text(const ordered_json& object) {
  ROFORMER_ASSERT(object.is_object() && !object.contains(kChecksum));
  const auto text = [](const ordered_json& value) {
    return value.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  };
  ordered_json checksummed = object;
  checksummed[kChecksum] = checksum_of(json::parse(text(object)));
  return text(checksummed);
}

void write_checksummed_json(const InnerPath& file, const ordered_json& object) {
  write_file_atomically(file, checksummed_text(object));
}

json read_checksummed_json(const std::filesystem::path& file) {
  json value =
      parse_json(read_file(file, kLargestDescription), file.string(), RepeatedNames::refused);
  if (!value.is_object()) return value;
  const auto found = value.find(kChecksum);
  if (found == value.end()) return value;
  const json checksum = *found;
  value.erase(found);
  if (checksum != checksum_of(value)) {
    throw_failure(file.string(), "is damaged: its contents do not fit their checksum");
  }
  return value;
}

}  // namespace roformer
