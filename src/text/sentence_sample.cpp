#include "text/sentence_sample.h"

#include <algorithm>

#include "text/utf8.h"

namespace roformer {

void SentenceSample::add(std::string_view line) {
  std::string storage;
  std::uint64_t replaced = 0;
  line = repair_utf8(line, storage, replaced);
  while (line.size() > kLongestSentence) {
    std::size_t end = line.rfind(' ', kLongestSentence);
    if (end == std::string_view::npos || end == 0) {
      end = kLongestSentence;
      while ((static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
    }
    add_sentence(line.substr(0, end));
    line.remove_prefix(end);
  }
  add_sentence(line);
}

// Reservoir sampling: the n-th sentence replaces one of the kept with probability limit / n.
void SentenceSample::add_sentence(std::string_view sentence) {
  if (sentence.find_first_not_of(" \t\r") == std::string_view::npos) return;
  ++seen_;
  std::size_t slot = sentences_.size();
  if (limit_ > 0 && sentences_.size() == limit_) {
    slot = random_.below(seen_);
    if (slot >= limit_) return;
  } else {
    sentences_.emplace_back();
  }
  sentences_[slot] = sentence;
  // The trainer leaves out sentences with a NUL.
  std::replace(sentences_[slot].begin(), sentences_[slot].end(), '\0', ' ');
}

}  // namespace roformer
