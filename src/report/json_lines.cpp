#include "report/json_lines.h"

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kEnd = 64 * 1024;  // bytes

// Calls use(object, text of the line) for every whole line of `contents`.
template <typename Use>
void for_each_line(const fs::path& path, std::string_view contents, Use use) {
  std::string_view rest = contents;
  for (std::int64_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const bool last = end == std::string_view::npos;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(last ? rest.size() : end + 1);
    const std::optional<nlohmann::json> object = try_parse_json(line);
    if (object && object->is_object()) {
      use(*object, line);
    } else if (!last) {
      throw_failure(path.string() + ":" + std::to_string(number), "is not a JSON object",
                    "the file is damaged; remove that line, or the file, to go on without it");
    }
  }
}

std::vector<nlohmann::json> objects_of(const fs::path& path, std::string_view contents) {
  std::vector<nlohmann::json> objects;
  for_each_line(path, contents,
                [&](const nlohmann::json& object, std::string_view) { objects.push_back(object); });
  return objects;
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// A last line without its end: removed, or ended where only the end is missing.
void repair_end(const InnerPath& path) {
  if (!fs::exists(path.path())) return;
  const MappedFile file(path);
  const std::string_view contents = text_of(file);
  if (contents.empty() || contents.back() == '\n') return;
  const std::size_t begin = contents.rfind('\n') + 1;  // 0 where there is none
  const std::string_view line = contents.substr(begin);
  const std::optional<nlohmann::json> object = try_parse_json(line);
  const bool whole = object && object->is_object();
  AtomicFile repaired(path);
  repaired.write(whole ? contents : contents.substr(0, begin));
  if (whole) repaired.write("\n");
  repaired.commit();
}

}  // namespace

JsonLinesWriter::JsonLinesWriter(const InnerPath& path, std::chrono::milliseconds flush_interval)
    : file_((repair_end(path), path), flush_interval) {}

void JsonLinesWriter::append(const nlohmann::ordered_json& object) {
  ROFORMER_ASSERT(object.is_object());
  file_.append(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
               "\n");
}

std::vector<nlohmann::json> read_json_lines(const fs::path& path) {
  const MappedFile file(path);
  return objects_of(path, text_of(file));
}

std::vector<nlohmann::json> read_last_json_lines(const fs::path& path) {
  const MappedFile file(path);
  std::string_view contents = text_of(file);
  if (contents.size() > kEnd) {
    contents.remove_prefix(contents.size() - kEnd);
    contents.remove_prefix(std::min(contents.size(), contents.find('\n') + 1));
  }
  return objects_of(path, contents);
}

void truncate_after(const InnerPath& path, std::int64_t step) {
  if (!fs::exists(path.path())) return;
  const MappedFile file(path);
  std::string kept;
  for_each_line(path, text_of(file), [&](const nlohmann::json& object, std::string_view line) {
    const auto found = object.find("step");
    if (found != object.end() && found->is_number() &&
        found->get<double>() > static_cast<double>(step)) {
      return;
    }
    kept.append(line).append("\n");
  });
  write_file_atomically(path, kept);
}

}  // namespace roformer
