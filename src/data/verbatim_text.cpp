#include "data/verbatim_text.h"

#include <algorithm>

namespace roformer {
namespace {

constexpr std::size_t kLongestPart = 1 << 20;

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

}  // namespace

void VerbatimText::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const bool may_end = begins_character(bytes.front());
    if (!cuts_.empty() && position_ >= cuts_.front() && may_end) {
      end_part();
      sink_.end_document();
      cuts_ = cuts_.subspan(1);
    }
    if (pending_.size() >= kLongestPart && may_end) end_part();
    const std::size_t end = bytes.find('\n');
    std::size_t count = end == std::string_view::npos ? bytes.size() : end + 1;
    if (!cuts_.empty()) {
      const std::uint64_t before = cuts_.front() > position_ ? cuts_.front() - position_ : 1;
      count = std::min<std::uint64_t>(count, before);
    }
    pending_ += bytes.substr(0, count);
    position_ += count;
    bytes.remove_prefix(count);
    if (pending_.ends_with('\n')) end_part();
  }
}

void VerbatimText::end_file() {
  end_part();
  sink_.end_document();
}

void VerbatimText::end_part() {
  if (!pending_.empty()) sink_.part(pending_);
  pending_.clear();
}

}  // namespace roformer
