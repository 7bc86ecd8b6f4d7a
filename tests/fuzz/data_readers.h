// The readers of data files and of the program's own sealed files that are fuzzed.
#pragma once

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/checksums.h"
#include "data/corpus.h"
#include "data/document_readers.h"
#include "data/glue.h"
#include "data/help_page.h"
#include "data/matching.h"
#include "data/parallel_recipe.h"
#include "data/recipe.h"
#include "data/sentence_pairs.h"
#include "data/shard.h"
#include "fuzz/memory_file.h"
#include "fuzz/reader.h"
#include "text/subword_tokenizer.h"
#include "text/utf8.h"

namespace roformer::fuzz {

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

// A text of known pieces keeps its letters. A merge of a whole word and its end makes the word a
// part of the next one, as in subword-nmt.
inline void read_codes(std::string_view input) {
  const auto tokenizer =
      make_subword_tokenizer(subword_model({.codes = std::string(input),
                                            .codes_location = kFile,
                                            .vocabulary = "a 9\nb 8\nab 7\na@@ 6\nb@@ 5\n",
                                            .vocabulary_location = "vocabulary",
                                            .threshold = 0}),
                             kFile);
  const std::vector<TokenId> ids = tokenizer->encode("ab ba aab");
  const auto unknown = tokenizer->special().unknown;
  for (const TokenId id : ids) ROFORMER_ASSERT(id >= 0 && id < tokenizer->vocabulary_size());
  std::string letters = tokenizer->decode(ids);
  std::erase(letters, ' ');
  ROFORMER_ASSERT(letters == "abbaaab" || std::ranges::count(ids, unknown) > 0);
}

// What is sealed again reads as the same.
inline void read_checksummed(std::string_view input) {
  const MemoryFile file(input);
  const nlohmann::json value = read_checksummed_json(file.path());
  if (!value.is_object()) return;
  const MemoryFile again(checksummed_text(value));
  ROFORMER_ASSERT(read_checksummed_json(again.path()) == value);
}

// A manifest names files of its folder only.
inline void read_manifest(std::string_view input) {
  static const InputFolder folder;
  folder.write("manifest.json", input);
  const std::optional<Manifest> manifest = Manifest::read(folder.path());
  ROFORMER_ASSERT(manifest);
  for (const std::string& name : manifest->names()) {
    ROFORMER_ASSERT(name.find('/') == std::string::npos && name != ".." && name != ".");
    ROFORMER_ASSERT(manifest->check(name));  // none of them is there
  }
}

// Puts the checksums of shard.h where they belong, which no fuzzer would find.
inline void repair_checksums(std::string& shard) {
  constexpr std::size_t kHeader = 64;
  constexpr std::size_t kBlock = 1 << 16;
  if (shard.size() < kHeader) return;
  const auto field = [&](std::size_t offset) {
    std::uint64_t value = 0;
    std::memcpy(&value, shard.data() + offset, sizeof value);
    return value;
  };
  const auto store = [&](std::size_t offset, std::uint64_t value) {
    std::memcpy(shard.data() + offset, &value, sizeof value);
  };
  const std::uint64_t version = field(8) & 0xffffffff;
  const std::uint64_t room = shard.size() - kHeader;
  if (version == 1) store(48, XXH3_64bits(shard.data() + kHeader, room));
  // Of the blocks' checksums, as many as the payload before them asks for.
  const std::uint64_t blocks = (room + kBlock + 7) / (kBlock + 8);
  if (version == 2 && room >= 8 * blocks) {
    const std::size_t payload = room - 8 * blocks;
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::size_t begin = std::min(i * kBlock, payload);
      store(kHeader + payload + 8 * i,
            XXH3_64bits(shard.data() + kHeader + begin, std::min(kBlock, payload - begin)));
    }
    store(48, XXH3_64bits(shard.data() + kHeader + payload, 8 * blocks));
  }
  store(56, XXH3_64bits(shard.data(), 56));
}

// A first byte says whether the checksums are the input's own. Every token is in the vocabulary and
// every document has some.
inline void read_shard(std::string_view input) {
  std::string bytes(input.substr(std::min<std::size_t>(1, input.size())));
  if (!input.empty() && input[0] % 2 == 0) repair_checksums(bytes);
  const MemoryFile file(bytes);
  const Shard shard(file.path());
  const std::span<const std::uint64_t> starts = shard.document_starts();
  ROFORMER_ASSERT(starts.size() == shard.documents() + 1 && starts.back() == shard.tokens());
  ROFORMER_ASSERT(shard.tokens() <= bytes.size());
  std::vector<TokenId> ids(shard.tokens());
  for (std::size_t i = 0; i < shard.documents(); ++i) {
    ROFORMER_ASSERT(starts[i] < starts[i + 1]);
    shard.copy_tokens(starts[i], std::span(ids).subspan(starts[i], starts[i + 1] - starts[i]));
  }
  for (const TokenId id : ids) {
    ROFORMER_ASSERT(id >= 0 && static_cast<std::uint64_t>(id) < shard.vocabulary().size);
  }
  shard.verify_checksum();
}

// A corpus of one file, packed or not: lines without line ends, documents with text.
inline void read_archive(std::string_view input) {
  struct Sink : CorpusSink {
    CorpusCounts counts;
    bool has_text = false;
    void line(std::string_view text) override {
      ROFORMER_ASSERT(text.size() <= (1 << 20) && text.find('\n') == std::string_view::npos);
      has_text = has_text || !text.empty();
    }
    void end_document() override {
      ROFORMER_ASSERT(std::exchange(has_text, false));
      ++counts.documents;
    }
  } sink;
  const MemoryFile file(input);
  const CorpusCounts counts = read_corpus({.inputs = {file.path()}}, sink);
  ROFORMER_ASSERT(counts.documents == sink.counts.documents && !sink.has_text);
}

inline bool is_utf8(std::string_view text) {
  std::string repaired;
  std::uint64_t replaced = 0;
  repair_utf8(text, repaired, replaced);
  return replaced == 0;
}

// A file that is read whole gives what its halves do, and no text is longer than the file.
inline void read_json_documents(std::string_view input) {
  struct Sink : CorpusSink {
    std::string all;
    void line(std::string_view text) override { all += std::string(text) + '\n'; }
    void end_document() override { all += '\0'; }
  };
  const auto read = [&](std::size_t piece) {
    Sink sink;
    JsonDocuments documents(kFile, "text", sink);
    for (std::size_t at = 0; at < input.size(); at += piece)
      documents.feed(input.substr(at, piece));
    documents.end_file();
    return sink.all;
  };
  const std::string whole = read(std::max<std::size_t>(1, input.size()));
  ROFORMER_ASSERT(whole.size() <= 3 * input.size());
  ROFORMER_ASSERT(read(7) == whole);
}

inline void read_help(std::string_view input) {
  for (const HelpParagraph& paragraph : parse_help_page(input)) {
    ROFORMER_ASSERT(paragraph.id.starts_with("par_id") || paragraph.id.starts_with("hd_id"));
    ROFORMER_ASSERT(!paragraph.text.empty() && is_utf8(paragraph.text));
    ROFORMER_ASSERT(!paragraph.text.starts_with(' ') && !paragraph.text.ends_with(' '));
  }
}

inline void read_matching_examples(const std::filesystem::path& file) {
  const MatchingExamples read = read_matching_file(file);
  ROFORMER_ASSERT(!read.examples.empty());
  for (const MatchingExample& example : read.examples) {
    ROFORMER_ASSERT(!example.anchor.empty() && !example.closer.empty());
    ROFORMER_ASSERT(example.farther.empty() != read.triplets);
  }
  if (!read.triplets) return;
  const auto more = augmented(read.examples, {.swap = true, .transitivity = true});
  ROFORMER_ASSERT(more.size() >= 2 * read.examples.size() && more.size() % 2 == 0);
  for (const MatchingExample& triplet : more) {
    ROFORMER_ASSERT(triplet_line(triplet).ends_with("}\n"));
  }
}
// JSON lines are known by the file's name; any other is TSV.
inline void read_triplets(std::string_view input) {
  static const InputFolder folder;
  read_matching_examples(folder.write("input.jsonl", input));
}
inline void read_matching_tsv(std::string_view input) {
  const MemoryFile file(input);
  read_matching_examples(file.path());
}

// The first byte chooses the task.
inline void read_glue_table(std::string_view input) {
  static const InputFolder folder;
  if (input.empty()) return;
  const auto task = static_cast<GlueTask>(static_cast<unsigned char>(input[0]) % 9);
  const GlueTaskFacts& facts = glue_task_facts(task);
  folder.write("train.tsv", input.substr(1));
  for (const LabelledText& example : read_glue(folder.path(), task, GlueSplit::train).examples) {
    ROFORMER_ASSERT(
        facts.is_regression() ||
        (example.label >= -1 && example.label < static_cast<std::int64_t>(facts.labels.size())));
  }
}

inline void read_data_recipe(std::string_view input) {
  const MemoryFile file(input);
  if (is_parallel_recipe(file.path())) {
    read_parallel_recipe(file.path());
  } else {
    const Recipe recipe = read_recipe(file.path());
    ROFORMER_ASSERT(recipe.validation_fraction >= 0 && recipe.validation_fraction < 1);
  }
}

inline constexpr Reader kReaders[] = {{"tmx", read_tmx_file},
                                      {"tsv", read_tsv_file},
                                      {"jsonl", read_jsonl_file},
                                      {"codes", read_codes},
                                      {"sealed", read_checksummed},
                                      {"manifest", read_manifest},
                                      {"shard", read_shard},
                                      {"archive", read_archive},
                                      {"help", read_help},
                                      {"triplets", read_triplets},
                                      {"matching", read_matching_tsv},
                                      {"glue", read_glue_table},
                                      {"recipe", read_data_recipe},
                                      {"documents", read_json_documents}};

}  // namespace roformer::fuzz
