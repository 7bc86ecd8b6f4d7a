// Archives as torch.save writes them, around any pickle.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roformer::fuzz {

inline std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// Members in this order, stored without compression, with a directory (APPNOTE.TXT 4.3).
inline std::string zip_of(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string bytes, directory;
  for (const auto& [name, data] : members) {
    const std::string sizes = little_endian(0, 4) + little_endian(data.size(), 4) +
                              little_endian(data.size(), 4) + little_endian(name.size(), 2) +
                              little_endian(0, 2);
    const std::string common = little_endian(0, 2) + little_endian(0, 2) + little_endian(0, 4);
    directory += "PK\1\2" + little_endian(20, 2) + little_endian(20, 2) + common + sizes +
                 std::string(10, '\0') + little_endian(bytes.size(), 4) + name;
    bytes += "PK\3\4" + little_endian(20, 2) + common + sizes + name + data;
  }
  const std::size_t begin = bytes.size();
  return bytes + directory + "PK\5\6" + std::string(4, '\0') + little_endian(members.size(), 2) +
         little_endian(members.size(), 2) + little_endian(directory.size(), 4) +
         little_endian(begin, 4) + little_endian(0, 2);
}

// Two storages, "0" and "1", of 24 and 8 bytes.
inline std::string torch_archive(std::string_view pickle) {
  return zip_of({{"archive/data.pkl", std::string(pickle)},
                 {"archive/byteorder", "little"},
                 {"archive/data/0", std::string(24, '\1')},
                 {"archive/data/1", std::string(8, '\2')}});
}

}  // namespace roformer::fuzz
