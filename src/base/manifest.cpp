#include "base/manifest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>

#include "base/checksummed_json.h"
#include "base/cores.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFile = "manifest.json";
constexpr const char* kFormat = "roformer manifest";
constexpr int kManifestVersion = 1;
constexpr std::size_t kBlockBytes = 1 << 18;
constexpr std::int64_t kThreads = 4;

// A manifest may only name files of its folder and subfolders.
bool is_inside(const fs::path& name) {
  return name.is_relative() && name.has_filename() &&
         name.native() == name.lexically_normal().native() && *name.begin() != ".." &&
         *name.begin() != ".";
}

}  // namespace

Manifest::File Manifest::measure(const fs::path& path) {
  const MappedFile mapped(path);
  const std::span<const std::byte> bytes = mapped.bytes();
  File file{.bytes = bytes.size()};
  file.blocks.resize((bytes.size() + kBlockBytes - 1) / kBlockBytes);
  // Most of the time goes to the pages of the file, which several threads find faster.
  on_threads(file.blocks.size(), kThreads, [&](std::size_t number) {
    const std::size_t begin = number * kBlockBytes;
    const auto block = bytes.subspan(begin, std::min(kBlockBytes, bytes.size() - begin));
    file.blocks[number] = XXH3_64bits(block.data(), block.size());
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
  // Before it is read: a sparse file may claim any size.
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

}  // namespace roformer
