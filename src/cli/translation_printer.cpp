#include "cli/translation_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/process.h"

namespace roformer {
namespace {

// "0-0 1-2": source and target token of each pair.
std::string words_of(const Alignment& alignment) {
  std::string words;
  for (const auto& [source, target] : alignment) {
    words += fmt::format("{}{}-{}", words.empty() ? "" : " ", source, target);
  }
  return words;
}

}  // namespace

TranslationPrinter::TranslationPrinter(TranslationFormat format, const std::string& file)
    : format_(std::move(format)) {
  if (!file.empty()) file_.emplace(InnerPath::named(file));
}

void TranslationPrinter::print(const std::string& source, const TranslatedLine& line) {
  if (format_.name == "json") {
    add_json(source, line);
  } else if (format_.name == "marian") {
    if (line.translations.empty()) add_marian({});
    for (const TranslatedText& text : line.translations) add_marian(text);
  } else {
    for (const TranslatedText& text : line.translations) {
      text_ += as_one_line(text.text);
      if (format_.alignment) text_ += " ||| " + words_of(text.alignment);
      text_ += '\n';
    }
    const std::int64_t missing = format_.n_best - std::ssize(line.translations);
    if (missing > 0) text_.append(static_cast<std::size_t>(missing), '\n');
  }
  ++number_;
}

void TranslationPrinter::add_marian(const TranslatedText& text) {
  text_ += fmt::format("{} ||| {} ||| ", number_, as_one_line(text.text));
  if (format_.alignment) text_ += words_of(text.alignment) + " ||| ";
  text_ += fmt::format("LogProbability= {:.4f} ||| {:.4f}\n", text.log_probability, text.score);
}

void TranslationPrinter::add_json(const std::string& source, const TranslatedLine& line) {
  nlohmann::ordered_json object{{"source", source}};
  if (format_.alignment) object["source_tokens"] = line.pieces;
  object["translations"] = nlohmann::ordered_json::array();
  for (const TranslatedText& text : line.translations) {
    object["translations"].push_back({{"text", text.text},
                                      {"score", text.score},
                                      {"log_probability", text.log_probability},
                                      {"tokens", text.pieces},
                                      {"token_log_probabilities", text.token_log_probabilities}});
    if (format_.alignment) object["translations"].back()["alignment"] = text.alignment;
  }
  text_ += object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

void TranslationPrinter::flush() {
  if (file_) {
    file_->write(text_);
  } else {
    std::cout << text_ << std::flush;
    if (!std::cout) finish_output();  // nobody would read the rest
  }
  text_.clear();
}

void TranslationPrinter::finish() {
  flush();
  if (file_) file_->commit();
}

}  // namespace roformer
