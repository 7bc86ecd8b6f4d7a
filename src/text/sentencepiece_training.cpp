#include "text/sentencepiece_training.h"

#include <fmt/format.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "text/utf8.h"

namespace roformer {

void SentenceSample::add(std::string_view line) {
  const ValidText valid(line);
  line = valid.text;
  while (line.size() > kLongestSentence) {
    std::size_t end = line.rfind(' ', kLongestSentence);
    if (end == std::string_view::npos || end == 0) {
      end = kLongestSentence;
      while (is_continuation_byte(line[end])) --end;
    }
    add_sentence(line.substr(0, end));
    line.remove_prefix(end);
  }
  add_sentence(line);
}

// Reservoir sampling: the n-th sentence replaces a kept sentence with probability limit / n.
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
  std::ranges::replace(sentences_[slot], '\0', ' ');
}

namespace {

class VectorIterator final : public sentencepiece::SentenceIterator {
 public:
  explicit VectorIterator(const std::vector<std::string>& sentences) : sentences_(sentences) {}
  bool done() const override { return position_ == sentences_.size(); }
  void Next() override { ++position_; }
  const std::string& value() const override { return sentences_[position_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& sentences_;
  std::size_t position_ = 0;
};

// The number after `words` in the library's message, or "".
std::string number_behind(std::string_view message, std::string_view words) {
  const std::size_t begin = message.find(words);
  if (begin == std::string_view::npos) return "";
  const std::string_view rest = message.substr(begin + words.size());
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789")));
}

[[noreturn]] void throw_training_failure(const SentencePieceTraining& training,
                                         const std::string& message) {
  const std::string location = "training of the tokenizer";
  if (const std::string most = number_behind(message, "a value <= "); !most.empty()) {
    throw_failure(
        location,
        fmt::format("the text yields at most {} pieces, {} are wanted", most, training.pieces),
        "give more text or fewer --pieces");
  }
  const std::string few = number_behind(message, fmt::format("{} vs ", training.pieces));
  if (!few.empty()) {
    throw_failure(location,
                  fmt::format("{} pieces are too few: the text has {} characters and "
                              "special tokens that need one",
                              training.pieces, few),
                  "give more --pieces or a lower --coverage");
  }
  throw_failure(location, message);
}

}  // namespace

std::string train_sentencepiece(const std::vector<std::string>& sentences,
                                const SentencePieceTraining& training) {
  if (sentences.empty()) throw_failure("training of the tokenizer", "there is no text");
  const std::unordered_map<std::string, std::string> arguments = {
      {"model_type", training.algorithm == SentencePieceAlgorithm::bpe ? "bpe" : "unigram"},
      {"vocab_size", std::to_string(training.pieces)},
      {"character_coverage", fmt::format("{}", training.character_coverage)},
      {"normalization_rule_name", training.normalization},
      {"byte_fallback", training.byte_fallback ? "true" : "false"},
      {"pad_id", "0"},
      {"unk_id", "1"},
      {"bos_id", "2"},
      {"eos_id", "3"},
      {"pad_piece", "[PAD]"},
      {"unk_piece", "[UNK]"},
      {"bos_piece", "[CLS]"},
      {"eos_piece", "[SEP]"},
      {"control_symbols", "[MASK]"},
      {"num_threads", "1"},
      {"minloglevel", "2"},
  };
  VectorIterator iterator(sentences);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(arguments, &iterator, &model);
  if (!status.ok()) throw_training_failure(training, status.message());
  return model;
}

}  // namespace roformer
