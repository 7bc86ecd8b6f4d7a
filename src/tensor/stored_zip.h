// Where the members of a zip archive lie, for archives whose members are stored and not compressed,
// as torch.save writes them (APPNOTE.TXT of PKWARE, with ZIP64). A pure function over bytes that
// trusts nothing, so that it can be fuzzed without files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

struct StoredMember {
  std::string_view name;  // in the archive's bytes
  std::size_t begin = 0;  // of its data in the archive
  std::size_t size = 0;
};

// True if the bytes begin as those of an archive with at least one member.
bool is_zip(std::span<const std::byte> bytes);

// The members in the order of the archive's directory. Throws Error (failure, location `file`) for
// an archive that is cut short or compressed, and for a member outside it.
std::vector<StoredMember> stored_members(std::span<const std::byte> bytes, const std::string& file);

}  // namespace roformer
