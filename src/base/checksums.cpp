#include "base/checksums.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>

#include "base/cores.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"
#include "base/json.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFile = "manifest.json";
constexpr const char* kFormat = "roformer manifest";
constexpr int kManifestVersion = 1;
constexpr std::size_t kBlockBytes = 1 << 18;
constexpr std::int64_t kThreads = 4;

// A manifest may only name files in its folder and subfolders.
bool is_inside(const fs::path& name) {
  return name.is_relative() && name.has_filename() &&
         name.native() == name.lexically_normal().native() && *name.begin() != ".." &&
         *name.begin() != ".";
}

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kChecksum = "checksum";

// Uses names in alphabetical order and numbers in their shortest form, whatever the file's layout.
std::string checksum_of(const json& object) {
  const std::string text = object.dump();
  return hexadecimal(XXH3_64bits(text.data(), text.size()));
}

constexpr std::string_view kBegin = "# checksum of what follows: ";

std::string first_line(std::string_view rest) {
  return fmt::format("{}{}\n", kBegin, hexadecimal(XXH3_64bits(rest.data(), rest.size())));
}

}  // namespace

Manifest::File Manifest::measure(const fs::path& path) {
  const MappedFile mapped(path);
  const std::span<const std::byte> bytes = mapped.bytes();
  File file{.bytes = bytes.size()};
  file.blocks.resize((bytes.size() + kBlockBytes - 1) / kBlockBytes);
  // Reading the file's pages takes most of the time, and several threads read them faster.
  on_threads(file.blocks.size(), kThreads, [&](std::size_t number) {
    const std::size_t begin = number * kBlockBytes;
    const auto block = bytes.subspan(begin, std::min(kBlockBytes, bytes.size() - begin));
    file.blocks[number] = XXH3_64bits(block.data(), block.size());
    mapped.release(begin, begin + block.size());
  });
  return file;
}

Manifest Manifest::of(const InnerPath& folder) {
  Manifest manifest;
  manifest.folder_ = folder;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder.path())) {
    const std::string name = entry.path().lexically_relative(folder.path()).generic_string();
    if (entry.is_regular_file() && name != kFile) manifest.files_[name] = measure(entry.path());
  }
  return manifest;
}

void Manifest::write() const {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  for (const auto& [name, file] : files_) {
    std::vector<std::string> blocks;
    for (const std::uint64_t block : file.blocks) blocks.push_back(hexadecimal(block));
    files[name] = {{"bytes", file.bytes}, {"xxh3", blocks}};
  }
  write_checksummed_json(folder_ / kFile, {{"format", kFormat},
                                           {"version", kManifestVersion},
                                           {"block_bytes", kBlockBytes},
                                           {"files", files}});
}

std::optional<Manifest> Manifest::read(const fs::path& folder) {
  const fs::path path = folder / kFile;
  std::error_code error;
  if (fs::status(path, error).type() == fs::file_type::not_found) return std::nullopt;
  const std::string location = path.string();
  const auto refuse = [&] {
    throw_failure(location, "is damaged: not a manifest of this program");
  };
  const nlohmann::json json = read_checksummed_json(path);
  if (!json.is_object() || json.value("format", nlohmann::json()) != kFormat) refuse();
  if (json.value("version", nlohmann::json()) != kManifestVersion ||
      json.value("block_bytes", nlohmann::json()) != kBlockBytes) {
    throw_failure(location, "is of another version than this program reads");
  }
  Manifest manifest;
  manifest.folder_ = folder;
  const auto files = json.find("files");
  if (files == json.end() || !files->is_object()) refuse();
  for (const auto& [name, entry] : files->items()) {
    if (!is_inside(name)) refuse();
    if (!entry.is_object() || !entry.contains("bytes") || !entry["bytes"].is_number_unsigned() ||
        !entry.contains("xxh3") || !entry["xxh3"].is_array()) {
      refuse();
    }
    File& file = manifest.files_[name];
    file.bytes = entry["bytes"].get<std::uint64_t>();
    for (const nlohmann::json& block : entry["xxh3"]) {
      const auto value =
          block.is_string() ? parse_hexadecimal(block.get_ref<const std::string&>()) : std::nullopt;
      if (!value) refuse();
      file.blocks.push_back(*value);
    }
    if (file.blocks.size() != file.bytes / kBlockBytes + (file.bytes % kBlockBytes != 0)) refuse();
  }
  return manifest;
}

std::vector<std::string> Manifest::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : files_) names.push_back(name);
  return names;
}

bool Manifest::describes_folder() const {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder_.path(), error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().lexically_relative(folder_.path()).generic_string();
    const bool named = entry->is_regular_file(error) && (name == kFile || files_.contains(name));
    if (!named && (entry->is_symlink(error) || !entry->is_directory(error))) return false;
  }
  return !error && std::ranges::none_of(
                       names(), [&](const std::string& name) { return check(name).has_value(); });
}

std::optional<Damage> Manifest::check(const std::string& name) const {
  const auto found = files_.find(name);
  if (found == files_.end()) return std::nullopt;
  const File& written = found->second;
  Damage damage{.file = folder_ / name};
  std::error_code error;
  if (fs::status(damage.file, error).type() == fs::file_type::not_found) {
    damage.message = "is not there";
    return damage;
  }
  // Checks the size before reading: a sparse file may claim any size.
  if (const std::uint64_t bytes = MappedFile(damage.file).bytes().size(); bytes != written.bytes) {
    damage.message = fmt::format("has {} bytes, {} were written", bytes, written.bytes);
    return damage;
  }
  const File present = measure(damage.file);
  const auto [bad, wanted] =
      std::mismatch(present.blocks.begin(), present.blocks.end(), written.blocks.begin());
  if (bad == present.blocks.end()) return std::nullopt;
  damage.begin = static_cast<std::uint64_t>(bad - present.blocks.begin()) * kBlockBytes;
  damage.end = std::min<std::uint64_t>(damage.begin + kBlockBytes, present.bytes);
  damage.message = fmt::format("is damaged: bytes {} to {} are not what was written", damage.begin,
                               damage.end - 1);
  return damage;
}

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
                "override keys with flags (--training.steps 1000); if you meant the change, remove "
                "the first line");
}

}  // namespace roformer
