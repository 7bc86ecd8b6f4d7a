#include "data/zip.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>

#include "base/error.h"
#include "base/file.h"

namespace roformer {
namespace {

using Archive = std::unique_ptr<archive, decltype(&archive_write_free)>;
using Entry = std::unique_ptr<archive_entry, decltype(&archive_entry_free)>;

}  // namespace

void write_zip(const std::filesystem::path& path, const std::vector<ZipMember>& members) {
  std::string bytes;
  const Archive zip(archive_write_new(), &archive_write_free);
  const auto check = [&](auto result) {
    if (result >= 0) return;
    throw_failure(path.string(), std::string("cannot write: ") + archive_error_string(zip.get()));
  };
  check(archive_write_set_format_zip(zip.get()));
  const auto write = [](archive*, void* target, const void* data, std::size_t size) -> la_ssize_t {
    static_cast<std::string*>(target)->append(static_cast<const char*>(data), size);
    return static_cast<la_ssize_t>(size);
  };
  check(archive_write_open(zip.get(), &bytes, nullptr, write, nullptr));
  for (const ZipMember& member : members) {
    const Entry entry(archive_entry_new(), &archive_entry_free);
    archive_entry_set_pathname(entry.get(), member.name.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(member.contents.size()));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    check(archive_write_header(zip.get(), entry.get()));
    check(archive_write_data(zip.get(), member.contents.data(), member.contents.size()));
  }
  check(archive_write_close(zip.get()));
  write_file_atomically(path, bytes);
}

}  // namespace roformer
