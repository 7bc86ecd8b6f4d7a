#include "data/pair_writer.h"

#include <algorithm>

#include "base/cores.h"
#include "base/error.h"
#include "base/file.h"
#include "data/description_json.h"
#include "text/utf8.h"

namespace roformer {
namespace {

// The rules that need a tokenizer.
constexpr std::array kRulesAboutPieces = {PairRule::too_many_pieces, PairRule::length_ratio};

std::vector<std::pair<std::uint64_t, PairRule>> removed_from_json(const JsonFields& fields) {
  std::vector<std::pair<std::uint64_t, PairRule>> removed;
  for (const PairRule rule : kRulesAboutPieces) {
    const std::string name(to_string(rule));
    for (const nlohmann::json& number : fields.list(name)) {
      if (!number.is_number_unsigned()) fields.refuse(name, "a list of numbers of pairs");
      removed.emplace_back(number.get<std::uint64_t>(), rule);
    }
  }
  std::ranges::sort(removed);
  return removed;
}

void describe_finished_pairs(auto& stored, auto& finished) {
  stored.count("pairs", finished.pairs);
  stored.hash("text", finished.text);
  stored.map("so_far", finished.so_far, [](auto& inner, auto& split) {
    describe_parallel_split(inner, split, /*with_text=*/false);
  });
}

constexpr std::size_t kPairsPerBlock = 1024;
constexpr std::size_t kPairBlocksPerThread = 4;
// A block of very long sentences ends earlier.
constexpr std::size_t kBytesPerBlock = std::size_t{4} << 20;

}  // namespace

nlohmann::ordered_json to_json(const FinishedPairs& finished) {
  nlohmann::ordered_json removed;
  for (const PairRule rule : kRulesAboutPieces) {
    removed[std::string(to_string(rule))] = nlohmann::ordered_json::array();
  }
  for (const auto& [number, rule] : finished.removed) {
    removed[std::string(to_string(rule))].push_back(number);
  }
  StoredWriter stored;
  describe_finished_pairs(stored, finished);
  stored.object["removed"] = removed;
  return stored.object;
}

std::vector<FinishedShard> read_finished(const JsonFields& state, FinishedPairs& finished) {
  StoredReader stored(state);
  describe_finished_pairs(stored, finished);
  finished.removed = removed_from_json(state.object("removed"));
  std::vector<FinishedShard> shards;
  for (const Side side : kSides) {
    const std::vector<std::uint64_t>& checksums = finished.so_far[side].shard_checksums;
    for (std::size_t i = 0; i < checksums.size(); ++i) {
      shards.push_back(
          {.name = parallel_shard_name(Split::train, side, i), .checksum = checksums[i]});
    }
  }
  return shards;
}

struct PairWriter::Block {
  std::uint64_t first = 0;  // number of its first pair among all that were added
  std::vector<Entry> entries;
  std::vector<BySide<std::vector<TokenId>>> ids;  // of each entry
  std::size_t bytes = 0;
};

PairWriter::PairWriter(Options options, const Tokenizer& source, const Tokenizer& target)
    : options_(std::move(options)),
      tokenizers_{&source, &target},
      ends_{sentence_tokens(source).end, sentence_tokens(target).end} {
  splits_[Split::train] = options_.finished.so_far;
}

PairWriter::~PairWriter() = default;

void PairWriter::add(Entry entry) {
  const bool full = !blocks_.empty() && (blocks_.back().entries.size() >= kPairsPerBlock ||
                                         blocks_.back().bytes >= kBytesPerBlock);
  if (full && blocks_.size() == static_cast<std::size_t>(options_.threads) * kPairBlocksPerThread) {
    write_blocks();
  }
  if (blocks_.empty() || full) blocks_.emplace_back(Block{.first = added_});
  ++added_;
  blocks_.back().bytes += entry.source.size() + entry.target.size();
  blocks_.back().entries.push_back(std::move(entry));
}

bool PairWriter::is_finished(std::uint64_t number, const Entry& entry) const {
  return entry.split == Split::train && number < options_.finished.pairs;
}

std::optional<PairRule> PairWriter::removed_before(std::uint64_t number) const {
  const auto& removed = options_.finished.removed;
  const auto found =
      std::ranges::lower_bound(removed, number, {}, &std::pair<std::uint64_t, PairRule>::first);
  if (found == removed.end() || found->first != number) return std::nullopt;
  return found->second;
}

void PairWriter::encode(Block& block) const {
  block.ids.resize(block.entries.size());
  for (std::size_t i = 0; i < block.entries.size(); ++i) {
    if (is_finished(block.first + i, block.entries[i])) continue;
    tokenizers_[0]->encode(block.entries[i].source, block.ids[i][0]);
    tokenizers_[1]->encode(block.entries[i].target, block.ids[i][1]);
  }
}

void PairWriter::write_blocks() {
  on_threads(blocks_.size(), options_.threads, [&](std::size_t i) { encode(blocks_[i]); });
  for (const Block& block : blocks_) {
    for (std::size_t i = 0; i < block.entries.size(); ++i) {
      write_entry(block.first + i, block.entries[i], block.ids[i]);
    }
  }
  blocks_.clear();
}

void PairWriter::write_entry(std::uint64_t number, const Entry& entry,
                             const BySide<std::vector<TokenId>>& ids) {
  const std::string text = entry.source + '\n' + entry.target + '\n';
  const std::string line =
      text + entry.reference.value_or("") + '\n' + std::string(to_string(entry.split)) + '\n';
  read_hash_.update(line);
  text_hash_.update(text);
  written_ = number + 1;
  const FinishedPairs& finished = options_.finished;
  if (written_ == finished.pairs && read_hash_.digest() != finished.text) throw CorpusChanged();
  if (counts_.size() <= entry.origin) counts_.resize(entry.origin + 1);
  PairCounts& counts = counts_[entry.origin];
  const bool is_there = is_finished(number, entry);
  if (entry.under_rules) {
    const std::optional<PairRule> broken =
        is_there ? removed_before(number)
                 : broken_by_pieces(options_.rules, ids[0].size(), ids[1].size());
    if (broken) {
      ++counts[*broken];
      if (entry.split == Split::train) removed_.emplace_back(number, *broken);
      return;
    }
  }
  ++counts.kept;
  bool full = false;
  for (std::int64_t copy = 0; copy < entry.copies; ++copy) {
    hash_.update(line);
    if (!is_there) full |= write_pair(entry, ids);
  }
  if (full) finish_shards(entry.split);
}

// Whether a shard is full now.
bool PairWriter::write_pair(const Entry& entry, const BySide<std::vector<TokenId>>& ids) {
  ParallelDescription::OfSplit& of_split = splits_[entry.split];
  bool full = false;
  ++of_split.sentences;
  for (const Side side : kSides) {
    const Tokenizer& tokenizer = *tokenizers_[side];
    Output& output = outputs_[entry.split][side];
    ParallelDescription::OfSide& facts = of_split[side];
    if (output.shard == nullptr) {
      output.shard = std::make_unique<ShardWriter>(
          options_.folder / parallel_shard_name(entry.split, side, facts.shard_checksums.size()),
          vocabulary_of(tokenizer));
    }
    output.shard->add_tokens(ids[side]);
    output.shard->add_tokens(std::span(&ends_[side], 1));
    output.shard->end_document();
    full |= output.shard->tokens() >= options_.shard_tokens;

    const std::string& text = side == Side::source ? entry.source : entry.target;
    const std::uint64_t tokens = ids[side].size() + 1;
    facts.tokens += tokens;
    facts.longest = std::max(facts.longest, tokens);
    facts.words += static_cast<std::uint64_t>(count_words(text));
    facts.characters += count_characters(text);
    if (tokenizer.special().unknown >= 0) {
      facts.unknown +=
          static_cast<std::uint64_t>(std::ranges::count(ids[side], tokenizer.special().unknown));
    }
    if (entry.split == Split::train) continue;
    if (output.text == nullptr) {
      output.text =
          std::make_unique<AtomicFile>(options_.folder / parallel_text_name(entry.split, side));
    }
    const std::string line = (side == Side::target ? entry.reference.value_or(text) : text) + '\n';
    output.text->write(line);
    output.text_hash.update(line);
  }
  return full;
}

void PairWriter::finish_shards(Split split) {
  if (outputs_[split].front().shard == nullptr) return;
  for (const Side side : kSides) {
    std::unique_ptr<ShardWriter>& shard = outputs_[split][side].shard;
    splits_[split][side].shard_checksums.push_back(shard->finish());
    shard.reset();
  }
  if (split != Split::train || !options_.on_finished) return;
  options_.on_finished({.pairs = written_,
                        .text = read_hash_.digest(),
                        .so_far = splits_[split],
                        .removed = removed_});
}

BySplit<ParallelDescription::OfSplit> PairWriter::finish(
    std::vector<ParallelDescription::Origin>& origins) {
  write_blocks();
  if (options_.finished.pairs > written_) throw CorpusChanged();
  counts_.resize(origins.size());
  for (std::size_t i = 0; i < origins.size(); ++i) {
    origins[i].counts = origins[i].counts + counts_[i];
  }
  for (const Split split : kSplits) {
    finish_shards(split);
    for (const Side side : kSides) {
      Output& output = outputs_[split][side];
      if (output.text == nullptr) continue;
      output.text->commit();
      splits_[split][side].text_checksum = output.text_hash.digest();
    }
  }
  return splits_;
}

}  // namespace roformer
