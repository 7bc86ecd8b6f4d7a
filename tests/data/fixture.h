// What the tests of this module share: text files, a tokenizer without a file, prepared folders.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/corpus.h"
#include "data/prepare.h"
#include "text/tokenizer.h"

namespace roformer {

inline void write_text(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::unique_ptr<Tokenizer> byte_tokenizer() {
  return open_tokenizer({.kind = TokenizerKind::bytes});
}

// Documents as text: lines joined by "|".
struct CollectingSink : CorpusSink {
  std::vector<std::string> documents;
  std::string current;
  bool open = false;
  void line(std::string_view text) override {
    if (open) current += '|';
    current += text;
    open = true;
  }
  void end_document() override {
    documents.push_back(current);
    current.clear();
    open = false;
  }
};

inline std::vector<std::string> documents_of(CorpusOptions options) {
  CollectingSink sink;
  read_corpus(options, sink);
  return sink.documents;
}

}  // namespace roformer
