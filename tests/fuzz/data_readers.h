// The readers of data files and of the program's own sealed files that are fuzzed.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/manifest.h"
#include "base/sealed_json.h"
#include "data/pair_source.h"
#include "fuzz/reader.h"
#include "text/subword_tokenizer.h"

namespace roformer::fuzz {

// A file of these bytes that lives in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("input", 0)) {
    ROFORMER_ASSERT(::write(descriptor_, bytes.data(), bytes.size()) ==
                    static_cast<ssize_t>(bytes.size()));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// As many pairs come as are counted, a line each where lines are pairs, none longer than the input.
inline void read_pairs_of(std::string_view input, PairFormat format) {
  struct Sink : PairSink {
    std::size_t most = 0;
    std::uint64_t pairs = 0;
    bool lines = false;
    void pair(const SentencePair& pair) override {
      ++pairs;
      for (const std::string_view text : {pair.source, pair.target}) {
        ROFORMER_ASSERT(text.size() <= most);
        ROFORMER_ASSERT(!lines || text.find('\n') == std::string_view::npos);
      }
    }
  } sink;
  // A character is written in at least a third of the bytes that it takes in UTF-8.
  sink.most = 3 * input.size();
  sink.lines = format == PairFormat::tsv;
  const MemoryFile file(input);
  const PairReading reading =
      read_pairs({.format = format, .source = file.path()}, {.source = "en", .target = "de"}, sink);
  ROFORMER_ASSERT(reading.pairs == sink.pairs);
}

inline void read_tmx_file(std::string_view input) {
  read_pairs_of(input, PairFormat::tmx);
}
inline void read_tsv_file(std::string_view input) {
  read_pairs_of(input, PairFormat::tsv);
}
inline void read_jsonl_file(std::string_view input) {
  read_pairs_of(input, PairFormat::jsonl);
}

// Whatever the merges are, a text goes there and back.
inline void read_codes(std::string_view input) {
  const auto tokenizer =
      make_subword_tokenizer(subword_model({.codes = std::string(input),
                                            .codes_place = kFile,
                                            .vocabulary = "a 9\nb 8\nab 7\na@@ 6\nb@@ 5\n",
                                            .vocabulary_place = "vocabulary",
                                            .threshold = 0}),
                             kFile);
  const std::vector<TokenId> ids = tokenizer->encode("ab ba aab");
  for (const TokenId id : ids) ROFORMER_ASSERT(id >= 0 && id < tokenizer->vocabulary_size());
  ROFORMER_ASSERT(tokenizer->decode(ids) == "ab ba aab");
}

// What is sealed again reads as the same.
inline void read_sealed(std::string_view input) {
  const MemoryFile file(input);
  const nlohmann::json value = read_sealed_json(file.path());
  if (!value.is_object()) return;
  const MemoryFile again(sealed_text(value));
  ROFORMER_ASSERT(read_sealed_json(again.path()) == value);
}

// A manifest names files of its folder only.
inline void read_manifest(std::string_view input) {
  struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("roformer-fuzz-" + std::to_string(::getpid()));
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder folder;
  std::ofstream(folder.path / "manifest.json", std::ios::binary) << input;
  const std::optional<Manifest> manifest = Manifest::read(folder.path);
  ROFORMER_ASSERT(manifest);
  for (const std::string& name : manifest->names()) {
    ROFORMER_ASSERT(name.find('/') == std::string::npos && name != ".." && name != ".");
    ROFORMER_ASSERT(manifest->check(name));  // none of them is there
  }
}

inline constexpr Reader kReaders[] = {{"tmx", read_tmx_file},     {"tsv", read_tsv_file},
                                      {"jsonl", read_jsonl_file}, {"codes", read_codes},
                                      {"sealed", read_sealed},    {"manifest", read_manifest}};

}  // namespace roformer::fuzz
