#include "tensor/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/few_of.h"
#include "base/file.h"
#include "tensor/aten.h"
#include "tensor/pickled_tensors.h"

namespace roformer {

namespace fs = std::filesystem;
namespace {

constexpr std::pair<SafetensorsType, at::ScalarType> kScalarTypes[] = {
    {SafetensorsType::f64, at::kDouble}, {SafetensorsType::f32, at::kFloat},
    {SafetensorsType::f16, at::kHalf},   {SafetensorsType::bf16, at::kBFloat16},
    {SafetensorsType::i64, at::kLong},   {SafetensorsType::i32, at::kInt},
    {SafetensorsType::i16, at::kShort},  {SafetensorsType::i8, at::kChar},
    {SafetensorsType::u8, at::kByte},    {SafetensorsType::boolean, at::kBool},
};

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kModelIndex = "model.safetensors.index.json";
constexpr const char* kPickle = ".bin";

}  // namespace

at::ScalarType scalar_type(SafetensorsType type) {
  return std::find_if(std::begin(kScalarTypes), std::end(kScalarTypes),
                      [&](const auto& pair) { return pair.first == type; })
      ->second;
}

SafetensorsType safetensors_type(at::ScalarType type) {
  const auto found = std::find_if(std::begin(kScalarTypes), std::end(kScalarTypes),
                                  [&](const auto& pair) { return pair.second == type; });
  ROFORMER_ASSERT(found != std::end(kScalarTypes));
  return found->first;
}

void write_safetensors(const InnerPath& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<const NamedTensor*> ordered;
  for (const NamedTensor& tensor : tensors) ordered.push_back(&tensor);
  // Wide types first, so that every tensor is aligned to its elements.
  std::ranges::stable_sort(ordered, [](const NamedTensor* a, const NamedTensor* b) {
    return a->value.element_size() > b->value.element_size();
  });
  SafetensorsHeader header{.metadata = metadata};
  std::size_t offset = 0;
  for (const NamedTensor* tensor : ordered) {
    const std::size_t bytes = tensor->value.nbytes();
    header.entries.push_back({.name = tensor->name,
                              .type = safetensors_type(tensor->value.scalar_type()),
                              .shape = tensor->value.sizes().vec(),
                              .begin = offset,
                              .end = offset + bytes});
    offset += bytes;
  }
  AtomicFile file(path);
  file.write(format_safetensors_header(header));
  for (const NamedTensor* tensor : ordered) {
    const at::Tensor value = tensor->value.detach().to(at::kCPU).contiguous();
    file.write(value.const_data_ptr(), value.nbytes());
  }
  file.commit();
}

struct Safetensors::File {
  MappedFile map;
  std::size_t data_offset = 0;
};

Safetensors::Safetensors(const fs::path& path) : path_(path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    path_ = path / kModelFile;
    if (!fs::exists(path_, error)) path_ = path / kModelIndex;
    if (!fs::exists(path_, error)) {
      throw_failure(path.string(),
                    std::string("holds neither ") + kModelFile + " nor " + kModelIndex);
    }
  }
  if (path_.extension() == ".json") {
    add_index(path_);
  } else {
    add_file(path_);
  }
}

void Safetensors::add_file(const fs::path& path) {
  const auto file = std::make_shared<File>();
  file->map = MappedFile(path);
  SafetensorsHeader header;
  if (path.extension() == kPickle) {
    header.entries = parse_pickled_tensors(file->map.bytes(), path.string());
  } else {
    header = parse_safetensors_header(file->map.bytes(), path.string());
  }
  file->data_offset = header.data_offset;
  if (metadata_.empty()) metadata_ = std::move(header.metadata);
  for (SafetensorsEntry& entry : header.entries) {
    const std::string name = entry.name;
    if (!entries_.try_emplace(name, Location{file, std::move(entry)}).second) {
      throw_failure(path.string(), "holds \"" + name + "\", which another shard holds too");
    }
  }
}

void Safetensors::add_index(const fs::path& path) {
  const std::map<std::string, std::string> files =
      parse_safetensors_index(read_file(path, kLargestDescription), path.string());
  std::set<std::string> shards;
  for (const auto& [name, shard] : files) shards.insert(shard);
  for (const std::string& shard : shards) add_file(path.parent_path() / shard);
  for (const auto& [name, shard] : files) {
    if (!contains(name)) {
      throw_failure((path.parent_path() / shard).string(),
                    "lacks \"" + name + "\", which the index places there");
    }
  }
}

std::vector<std::string> Safetensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, location] : entries_) names.push_back(name);
  return names;
}

const Safetensors::Location& Safetensors::location_of(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw_failure(path_.string(), "has no tensor \"" + name + "\"");
  }
  return found->second;
}

const SafetensorsEntry& Safetensors::entry(const std::string& name) const {
  return location_of(name).entry;
}

at::Tensor Safetensors::tensor(const std::string& name) const {
  const auto& [file, entry] = location_of(name);
  const std::byte* const data = file->map.bytes().data() + file->data_offset + entry.begin;
  const auto options = at::TensorOptions().dtype(scalar_type(entry.type));
  // from_blob takes a mutable pointer; the map itself stays read-only.
  void* const address = const_cast<std::byte*>(data);
  if (reinterpret_cast<std::uintptr_t>(data) % safetensors_bytes(entry.type) != 0) {
    const auto bytes = static_cast<std::int64_t>(entry.end - entry.begin);
    const at::Tensor copy = at::from_blob(address, {bytes}, at::TensorOptions().dtype(at::kByte))
                                .clone()
                                .view(scalar_type(entry.type));
    return entry.strides.empty() ? copy.view(entry.shape)
                                 : copy.as_strided(entry.shape, entry.strides);
  }
  const auto keep = [file = file](void*) {};
  return entry.strides.empty() ? at::from_blob(address, entry.shape, keep, options)
                               : at::from_blob(address, entry.shape, entry.strides, keep, options);
}

void Safetensors::release(const std::string& name) const {
  const auto& [file, entry] = location_of(name);
  file->map.release(file->data_offset + entry.begin, file->data_offset + entry.end);
}

std::string describe_damage(const Damage& damage) {
  std::vector<std::string> names;
  if (damage.file.extension() == ".safetensors" && damage.end > damage.begin) {
    try {
      const MappedFile file(damage.file);
      const SafetensorsHeader header = parse_safetensors_header(file.bytes(), damage.file.string());
      for (const SafetensorsEntry& entry : header.entries) {
        const bool apart = header.data_offset + entry.end <= damage.begin ||
                           header.data_offset + entry.begin >= damage.end;
        if (!apart) names.push_back(entry.name);
      }
    } catch (const Error&) {
      names.clear();  // the header itself is damaged
    }
  }
  if (names.empty()) return damage.message;
  return fmt::format("{}, part of {}", damage.message, few_of(names, 3));
}

}  // namespace roformer
