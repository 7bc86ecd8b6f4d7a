#include "data/document_splitter.h"
#include "base/blank.h"

namespace roformer {
namespace {

constexpr std::size_t kLongestTextLine = 1 << 20;
constexpr std::string_view kTextMark = "\xef\xbb\xbf";

// Where an endless line is cut: after a space when there is one, else between two characters.
std::size_t cut_position(std::string_view line) {
  const std::size_t space = line.find_last_of(" \t");
  if (space != std::string_view::npos && space > line.size() / 2) return space + 1;
  std::size_t cut = line.size();
  for (int step = 0; step < 3 && (static_cast<unsigned char>(line[cut - 1]) & 0xc0) == 0x80;
       ++step) {
    --cut;
  }
  return static_cast<unsigned char>(line[cut - 1]) >= 0xc0 ? cut - 1 : line.size();
}

}  // namespace

void DocumentSplitter::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      hold(bytes);
      return;
    }
    if (pending_.empty() && !inside_line_) {
      take_line(bytes.substr(0, end));
    } else {
      hold(bytes.substr(0, end));
      end_line();
    }
    bytes.remove_prefix(end + 1);
  }
}

void DocumentSplitter::hold(std::string_view bytes) {
  pending_.append(bytes);
  while (pending_.size() >= kLongestTextLine) {
    const std::size_t cut = cut_position(std::string_view(pending_).substr(0, kLongestTextLine));
    take_part(std::string_view(pending_).substr(0, cut));
    pending_.erase(0, cut);
    inside_line_ = true;
  }
}

// Of a line that was cut where it ends nothing is left, and its end is still to come.
void DocumentSplitter::end_line() {
  if (!pending_.empty() || inside_line_) {
    take_line(pending_);
  } else if (separator_ == DocumentSeparator::line) {
    end_document();
  }
  pending_.clear();
  inside_line_ = false;
}

void DocumentSplitter::end_file() {
  end_line();
  end_document();
  blank_lines_ = 0;
  at_file_start_ = true;
}

void DocumentSplitter::take_line(std::string_view given) {
  if (given.ends_with('\r')) given.remove_suffix(1);
  const std::string_view line = without_mark(given);
  if (is_blank(line) && !inside_line_) {
    ++blank_lines_;
    const bool ends = separator_ == DocumentSeparator::blank_line ||
                      (separator_ == DocumentSeparator::two_blank_lines && blank_lines_ >= 2);
    if (ends) end_document();
  } else {
    begin_text();
    sink_.line(line);
  }
  if (separator_ == DocumentSeparator::line) end_document();
}

void DocumentSplitter::take_part(std::string_view part) {
  const std::string_view text = without_mark(part);
  begin_text();
  sink_.part(text);
}

// Blank lines are held back until text follows in the same document.
void DocumentSplitter::begin_text() {
  if (in_document_) {
    for (; blank_lines_ > 0; --blank_lines_) sink_.line({});
  }
  blank_lines_ = 0;
  in_document_ = true;
  had_text_ = true;
}

std::string_view DocumentSplitter::without_mark(std::string_view text) {
  if (at_file_start_ && text.starts_with(kTextMark)) {
    text.remove_prefix(kTextMark.size());
  }
  at_file_start_ = false;
  return text;
}

void DocumentSplitter::end_document() {
  if (in_document_) sink_.end_document();
  in_document_ = false;
}

}  // namespace roformer
