// `roformer predict` for a run of the task tagging: the tags of new sentences. CoNLL and JSON Lines
// come back with the predicted tags and their probabilities added; plain sentences come back as a
// word a line.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "data/tagged_sentences.h"
#include "tasks/tagging/tagging_figures.h"
#include "tasks/tagging/tagging_task.h"

namespace roformer {
namespace {

constexpr std::size_t kTaggedAtATime = 1024;

// The tags of one sentence.
struct SentenceTags {
  std::vector<std::string> tags;
  std::vector<double> probabilities;
};

std::vector<SentenceTags> tag(const TrainedTagger& trained, const std::vector<TaggedLines>& lines) {
  const WordEncoder encoder(*trained.tokenizer, trained.settings.data.length);
  std::vector<TaggedSentence> sentences;
  for (const TaggedLines& each : lines) {
    if (!each.sentence.words.empty()) sentences.push_back(each.sentence);
  }
  std::vector<SentenceTags> results(lines.size());
  if (sentences.empty()) return results;
  const PredictedTags predicted =
      predicted_tags(trained.model->predict(windows_of(sentences, encoder)));
  const std::vector<std::string>& classes = trained.settings.tagging.classes;
  std::size_t word = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t j = 0; j < lines[i].sentence.words.size(); ++j, ++word) {
      results[i].tags.push_back(classes[static_cast<std::size_t>(predicted.tags[word])]);
      results[i].probabilities.push_back(predicted.probabilities[word]);
    }
  }
  return results;
}

std::string dump(const nlohmann::json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

// The object of the line, or the words of a sentence, with the tags.
std::string json_line(const TaggedLines& lines, const SentenceTags& found) {
  nlohmann::json object = lines.object;
  if (!object.is_object()) object = {{"tokens", lines.sentence.words}};
  object["predicted"] = found.tags;
  object["probabilities"] = found.probabilities;
  return dump(object);
}

std::string columns(const std::string& line, char separator, const SentenceTags& found,
                    std::size_t word) {
  return fmt::format("{}{}{}{}{:.4f}\n", line, separator, found.tags[word], separator,
                     found.probabilities[word]);
}

// The lines of a CoNLL file, with two columns after those of each word.
std::string conll_lines(const TaggedLines& lines, const SentenceTags& found) {
  std::string text;
  std::size_t word = 0;
  for (const TaggedLines::Line& line : lines.lines) {
    text += line.is_word ? columns(line.text, lines.separator, found, word++) : line.text + '\n';
  }
  return text;
}

// A plain sentence as a word a line, and a blank line.
std::string word_lines(const TaggedLines& lines, const SentenceTags& found) {
  std::string text;
  for (std::size_t word = 0; word < found.tags.size(); ++word) {
    text += columns(lines.sentence.words[word], '\t', found, word);
  }
  return text + '\n';
}

std::string answer(TaggedFormat format, bool json, const TaggedLines& lines,
                   const SentenceTags& found) {
  if (format == TaggedFormat::jsonl && lines.object.is_null()) return "\n";  // left out
  if (format == TaggedFormat::jsonl) return json_line(lines, found);
  if (json && found.tags.empty()) return format == TaggedFormat::text ? "\n" : "";
  if (json) return json_line(lines, found);
  return format == TaggedFormat::text ? word_lines(lines, found) : conll_lines(lines, found);
}

}  // namespace

void predict_tags(OpenedRun run, const PredictionRequest& request) {
  const TrainedTagger trained(std::move(run));
  const TaggingSettings& settings = trained.settings.tagging;
  TaggedReader reader(request.file, {.format = tagged_format(request.format),
                                     .tokens = settings.tokens,
                                     .tags = settings.tags,
                                     .classes = settings.classes,
                                     .labelled = false,
                                     .skip_broken = request.skip_broken});
  std::vector<TaggedLines> chunk;
  bool has_words = false;
  const auto answer_chunk = [&] {
    const std::vector<SentenceTags> found = tag(trained, chunk);
    std::string text;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      has_words = has_words || !found[i].tags.empty();
      text += answer(reader.format(), request.json, chunk[i], found[i]);
    }
    request.print(text);
    chunk.clear();
  };
  for (TaggedLines lines; reader.next(lines);) {
    chunk.push_back(std::move(lines));
    if (chunk.size() == kTaggedAtATime) answer_chunk();
  }
  if (!chunk.empty()) answer_chunk();
  reader.lines().warn_of_replaced();
  if (!has_words) log::warn("{}: there are no words in it", reader.lines().name());
}

}  // namespace roformer
