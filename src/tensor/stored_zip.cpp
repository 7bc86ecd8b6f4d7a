#include "tensor/stored_zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "base/printable.h"

namespace roformer {
namespace {

constexpr std::uint32_t kLocalMark = 0x04034b50, kMemberMark = 0x02014b50, kEndMark = 0x06054b50,
                        kLocatorMark = 0x07064b50, kLongEndMark = 0x06064b50;
constexpr std::size_t kLocalBytes = 30, kMemberBytes = 46, kEndBytes = 22, kLocatorBytes = 20,
                      kLongEndBytes = 56, kLongestComment = 65535;
// In a 16- or 32-bit field: the value is in a 64-bit field elsewhere.
constexpr std::uint64_t kElsewhere = 0xffffffff;
constexpr std::uint64_t kLongSizes = 1;  // the extra field with 64-bit sizes
constexpr std::uint64_t kEncrypted = 1;  // a flag of a member

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> bytes, const std::string& file)
      : bytes_(bytes), file_(file) {}

  std::vector<StoredMember> read() {
    const Directory directory = find_directory();
    const std::size_t end = checked_end(directory.begin, directory.size, bytes_.size());
    if (directory.members > directory.size / kMemberBytes) {
      refuse(fmt::format("its directory of {} bytes claims {} members", directory.size,
                         directory.members));
    }
    std::vector<StoredMember> members;
    auto at = static_cast<std::size_t>(directory.begin);
    for (std::uint64_t i = 0; i < directory.members; ++i) at = read_member(at, end, members);
    return members;
  }

 private:
  struct Directory {
    std::uint64_t members = 0, size = 0, begin = 0;
  };
  std::span<const std::byte> bytes_;
  const std::string& file_;

  [[noreturn]] void refuse(const std::string& message) const {
    throw_failure(file_, "is not a whole archive of torch.save: " + message);
  }

  // A number of `width` bytes; they must be there.
  std::uint64_t number(std::uint64_t at, std::size_t width) const {
    if (at > bytes_.size() || width > bytes_.size() - at) {
      refuse(fmt::format("it ends at byte {}, inside a header", bytes_.size()));
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      value |= std::to_integer<std::uint64_t>(bytes_[static_cast<std::size_t>(at) + i]) << (8 * i);
    }
    return value;
  }

  std::size_t checked_end(std::uint64_t begin, std::uint64_t size, std::size_t limit) const {
    if (begin > limit || size > limit - begin) {
      refuse(fmt::format("{} bytes from byte {} on lie outside it", size, begin));
    }
    return static_cast<std::size_t>(begin + size);
  }

  // The end record is last, before a comment whose length it gives.
  std::size_t find_end() const {
    const std::size_t most = std::min(bytes_.size(), kEndBytes + kLongestComment);
    for (std::size_t back = kEndBytes; back <= most; ++back) {
      const std::size_t at = bytes_.size() - back;
      if (number(at, 4) == kEndMark && number(at + 20, 2) == back - kEndBytes) return at;
    }
    refuse("it has no directory of members at its end");
  }

  Directory find_directory() const {
    const std::size_t end = find_end();
    const bool is_long = end >= kLocatorBytes && number(end - kLocatorBytes, 4) == kLocatorMark;
    if (!is_long) {
      return {.members = number(end + 10, 2),
              .size = number(end + 12, 4),
              .begin = number(end + 16, 4)};
    }
    const std::uint64_t at = number(end - kLocatorBytes + 8, 8);
    checked_end(at, kLongEndBytes, end);
    if (number(at, 4) != kLongEndMark) refuse("its ZIP64 record is not where it should be");
    return {.members = number(at + 32, 8), .size = number(at + 40, 8), .begin = number(at + 48, 8)};
  }

  // Returns where the next member's entry begins.
  std::size_t read_member(std::size_t at, std::size_t end,
                          std::vector<StoredMember>& members) const {
    checked_end(at, kMemberBytes, end);
    if (number(at, 4) != kMemberMark) {
      refuse(fmt::format("byte {} of its directory begins no member", at));
    }
    const std::uint64_t name_size = number(at + 28, 2), extra_size = number(at + 30, 2),
                        comment_size = number(at + 32, 2);
    const std::size_t next =
        checked_end(at, kMemberBytes + name_size + extra_size + comment_size, end);
    const std::string_view name = text(at + kMemberBytes, static_cast<std::size_t>(name_size));
    if (number(at + 10, 2) != 0 || (number(at + 8, 2) & kEncrypted) != 0) {
      refuse(fmt::format("its member {} is compressed or encrypted", printable(name)));
    }
    std::uint64_t whole = number(at + 24, 4), stored = number(at + 20, 4),
                  header = number(at + 42, 4);
    read_long_sizes(at + kMemberBytes + static_cast<std::size_t>(name_size),
                    static_cast<std::size_t>(extra_size), {&whole, &stored, &header});
    if (whole != stored) {
      refuse(
          fmt::format("its member {} has {} bytes, stored in {}", printable(name), whole, stored));
    }
    members.push_back(locate(name, header, whole));
    return next;
  }

  // Replaces sizes that are elsewhere by those of the extra field, which has them in this order.
  void read_long_sizes(std::size_t at, std::size_t size,
                       std::initializer_list<std::uint64_t*> sizes) const {
    const std::size_t end = at + size;
    while (end - at >= 4) {
      const std::uint64_t kind = number(at, 2);
      const std::size_t field_end = checked_end(at + 4, number(at + 2, 2), end);
      if (kind == kLongSizes) {
        std::size_t place = at + 4;
        for (std::uint64_t* const value : sizes) {
          if (*value != kElsewhere) continue;
          checked_end(place, 8, field_end);
          *value = number(place, 8);
          place += 8;
        }
        return;
      }
      at = field_end;
    }
  }

  // The local header may have another extra field than the directory.
  StoredMember locate(std::string_view name, std::uint64_t header, std::uint64_t size) const {
    if (number(header, 4) != kLocalMark) {
      refuse(fmt::format("its member {} is not at byte {}", printable(name), header));
    }
    const std::uint64_t name_size = number(header + 26, 2), extra_size = number(header + 28, 2);
    const std::size_t begin =
        checked_end(header, kLocalBytes + name_size + extra_size, bytes_.size());
    if (text(static_cast<std::size_t>(header) + kLocalBytes, static_cast<std::size_t>(name_size)) !=
        name) {
      refuse(fmt::format("its member {} has another name in its own header", printable(name)));
    }
    checked_end(begin, size, bytes_.size());
    return {.name = name, .begin = begin, .size = static_cast<std::size_t>(size)};
  }

  std::string_view text(std::size_t at, std::size_t size) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, size};
  }
};

}  // namespace

bool is_zip(std::span<const std::byte> bytes) {
  constexpr std::string_view kBegin("PK\3\4", 4);
  return bytes.size() >= kBegin.size() &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()), kBegin.size()) == kBegin;
}

std::vector<StoredMember> stored_members(std::span<const std::byte> bytes,
                                         const std::string& file) {
  return ZipReader(bytes, file).read();
}

}  // namespace roformer
