#include "data/shard_sink.h"

#include <algorithm>

#include "base/cores.h"
#include "base/error.h"
#include "data/description_json.h"
#include "text/utf8.h"

namespace roformer {
namespace {

constexpr std::size_t kBatchBytes = 1 << 18;
constexpr std::size_t kBlocksPerThread = 4;

void describe_finished(auto& stored, auto& finished) {
  for (const Split split : kSplits) {
    stored.map(std::string(to_string(split)).c_str(), finished[split],
               [](auto& inner, auto& shards) {
                 inner.count("documents_of_corpus", shards.documents);
                 inner.hash("text", shards.text);
                 inner.map("so_far", shards.so_far,
                           [](auto& one, auto& of_split) { describe_split(one, of_split); });
               });
  }
}

}  // namespace

nlohmann::ordered_json to_json(const FinishedSplits& finished) {
  StoredWriter stored;
  describe_finished(stored, finished);
  return stored.object;
}

std::vector<FinishedShard> read_finished(const JsonFields& state, FinishedSplits& finished) {
  StoredReader stored(state);
  describe_finished(stored, finished);
  std::vector<FinishedShard> shards;
  for (const Split split : kSplits) {
    const std::vector<std::uint64_t>& checksums = finished[split].so_far.shard_checksums;
    for (std::size_t i = 0; i < checksums.size(); ++i) {
      shards.push_back({.name = shard_name(split, i), .checksum = checksums[i]});
    }
  }
  return shards;
}

// Text of consecutive documents. A section is one document's part of the block.
struct ShardSink::Block {
  struct Section {
    std::size_t line_end = 0;    // in `lines`
    std::uint64_t document = 0;  // its number in the corpus
    bool ends_document = false;
    std::size_t text_end = 0;   // in `text`
    std::size_t token_end = 0;  // in `ids`, known after encode()
  };

  std::string text;
  std::vector<std::size_t> lines;  // end of each line in `text`
  std::vector<Section> sections;
  std::vector<TokenId> ids;

  void close_section(std::uint64_t document, bool ends_document) {
    sections.push_back({.line_end = lines.size(),
                        .document = document,
                        .ends_document = ends_document,
                        .text_end = text.size(),
                        .token_end = 0});
  }
};

ShardSink::ShardSink(Options options, const Tokenizer& tokenizer)
    : options_(std::move(options)),
      tokenizer_(tokenizer),
      keeps_line_ends_(tokenizer.keeps_line_ends()),
      finished_(options_.finished) {
  for (std::size_t i = 0; i < splits_.size(); ++i) splits_[i] = finished_[i].so_far;
}

ShardSink::~ShardSink() = default;

void ShardSink::choose_split(SplitChoice choice) {
  write_blocks();
  choice_ = std::move(choice);
}

ShardSink::Block& ShardSink::open_block() {
  const auto full = static_cast<std::size_t>(options_.threads) * kBlocksPerThread;
  if (!blocks_.empty() && blocks_.back().text.size() >= kBatchBytes) {
    Block& last = blocks_.back();
    if (last.sections.empty() || last.sections.back().line_end < last.lines.size()) {
      last.close_section(document_read_, false);
    }
    if (blocks_.size() == full) write_blocks();
    blocks_.emplace_back();
  }
  if (blocks_.empty()) blocks_.emplace_back();
  return blocks_.back();
}

void ShardSink::line(std::string_view text) {
  Block& block = open_block();
  block.text += text;
  block.text += '\n';
  block.lines.push_back(block.text.size());
}

void ShardSink::part(std::string_view text) {
  Block& block = open_block();
  block.text += text;
  block.lines.push_back(block.text.size());
}

void ShardSink::end_document() {
  // Does not call open_block(): the end belongs to the block of the document's last line.
  ROFORMER_ASSERT(!blocks_.empty());
  blocks_.back().close_section(document_read_++, true);
}

bool ShardSink::is_finished(std::uint64_t document) const {
  return document < options_.finished[choice_(document)].documents;
}

void ShardSink::encode(Block& block) const {
  block.ids.reserve(block.text.size());  // nearly every id is of at least one byte
  std::size_t line = 0;
  std::size_t start = 0;
  std::uint64_t invalid = 0;
  std::string repaired;
  for (Block::Section& section : block.sections) {
    const bool finished = is_finished(section.document);
    for (; line < section.line_end; ++line) {
      const std::size_t end = block.lines[line];
      std::string_view text = std::string_view(block.text).substr(start, end - start);
      start = end;
      if (!keeps_line_ends_ && text.ends_with('\n')) text.remove_suffix(1);
      if (!finished) {
        if (!text.empty()) tokenizer_.encode(text, block.ids);
      } else if (tokenizer_.kind() != TokenizerKind::bytes) {
        repair_utf8(text, repaired, invalid);
      }
    }
    section.token_end = block.ids.size();
  }
  invalid_in_finished_ += invalid;
}

void ShardSink::write(const Block& block) {
  std::size_t text_start = 0;
  std::size_t token_start = 0;
  for (const Block::Section& section : block.sections) {
    const std::string_view text =
        std::string_view(block.text).substr(text_start, section.text_end - text_start);
    const auto ids = std::span(block.ids).subspan(token_start, section.token_end - token_start);
    text_start = section.text_end;
    token_start = section.token_end;
    hash_.update(text);

    const Split split = choice_(document_);
    const bool finished = is_finished(document_);
    // Line ends that the tokenizer never sees do not count as text that a model pays for.
    const auto line_ends =
        static_cast<std::uint64_t>(keeps_line_ends_ ? 0 : std::ranges::count(text, '\n'));
    of_document_.characters += count_characters(text) - line_ends;
    of_document_.bytes += text.size() - line_ends;
    of_document_.unknown +=
        static_cast<std::uint64_t>(std::ranges::count(ids, tokenizer_.special().unknown));
    of_document_.tokens += ids.size();
    if (!ids.empty()) write_tokens(split, ids);
    if (!section.ends_document) continue;
    hash_.update("\f");
    ++document_;
    compare_with_finished();
    if (!finished && of_document_.tokens > 0) end_written_document(split);
    of_document_ = {};
  }
}

void ShardSink::write_tokens(Split split, std::span<const TokenId> ids) {
  std::unique_ptr<ShardWriter>& writer = writers_[split];
  if (writer == nullptr) {
    writer = std::make_unique<ShardWriter>(
        options_.folder / shard_name(split, splits_[split].shard_checksums.size()),
        vocabulary_of(tokenizer_));
  }
  writer->add_tokens(ids);
}

void ShardSink::end_written_document(Split split) {
  writers_[split]->end_document();
  of_document_.documents = 1;
  splits_[split].counts += of_document_;
  if (writers_[split]->tokens() >= options_.shard_tokens) finish_shard(split);
}

void ShardSink::compare_with_finished() const {
  for (const FinishedShards& split : options_.finished) {
    if (split.documents == document_ && split.text != fingerprint()) throw CorpusChanged();
  }
}

void ShardSink::write_blocks() {
  on_threads(blocks_.size(), options_.threads, [&](std::size_t i) { encode(blocks_[i]); });
  for (const Block& block : blocks_) write(block);
  blocks_.clear();
}

void ShardSink::finish_shard(Split split) {
  splits_[split].shard_checksums.push_back(writers_[split]->finish());
  writers_[split].reset();
  finished_[split] = {.so_far = splits_[split], .documents = document_, .text = fingerprint()};
  if (options_.on_finished) options_.on_finished(finished_);
}

BySplit<DatasetDescription::OfSplit> ShardSink::finish() {
  write_blocks();
  for (const FinishedShards& split : options_.finished) {
    if (split.documents > document_) throw CorpusChanged();
  }
  for (const Split split : kSplits) {
    if (writers_[split] != nullptr) finish_shard(split);
  }
  return splits_;
}

}  // namespace roformer
