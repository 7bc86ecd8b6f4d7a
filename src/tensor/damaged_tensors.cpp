#include "tensor/damaged_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/few_of.h"
#include "base/file.h"
#include "tensor/safetensors_header.h"

namespace roformer {

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
