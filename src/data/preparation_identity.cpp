#include "data/preparation_identity.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "base/hexadecimal.h"
#include "base/version.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

std::string digest_of(const std::string& text) {
  return hexadecimal(XXH3_64bits(text.data(), text.size()));
}

bool can_be_read_again(const std::vector<fs::path>& files) {
  return std::ranges::all_of(files, [](const fs::path& file) {
    std::error_code error;
    return fs::is_regular_file(file, error);
  });
}

// Names, sizes and times of change.
std::string state_of(const std::vector<fs::path>& files) {
  std::string state;
  for (const fs::path& file : files) {
    std::error_code error;
    state +=
        fmt::format("{}\n{} {}\n", fs::absolute(file, error).string(), fs::file_size(file, error),
                    fs::last_write_time(file, error).time_since_epoch().count());
  }
  return digest_of(state);
}

std::string program() {
  return fmt::format("{} {}", kVersion, kCommit);
}

// Which files of folders and archives are read, and which of them are held out.
std::string choice_of_files(const PrepareOptions& options) {
  std::string choice = fmt::format("{} {}", options.corpus.skip_binary, options.corpus.skip_broken);
  for (const std::string& pattern : options.corpus.include) choice += '\n' + pattern;
  for (const auto* const inputs : {&options.validation_inputs, &options.test_inputs}) {
    choice += "\n\n";
    for (const fs::path& input : *inputs) choice += input.string() + '\n';
  }
  return digest_of(choice);
}

// Every source, with the set that it is of and how often its pairs are taken.
std::string choice_of_sources(const ParallelCorpus& corpus) {
  std::string choice;
  const auto add = [&](const char* set, const PairSource& source, const fs::path& reference) {
    choice += fmt::format("{} {} {} {}\n{}\n{}\n{}\n", set, to_string(source.format), source.weight,
                          source.skip_broken, source.source.string(), source.target.string(),
                          reference.string());
  };
  for (const PairSource& source : corpus.train) add("train", source, "");
  if (corpus.validation) add("validation", corpus.validation->pairs, corpus.validation->reference);
  if (corpus.test) add("test", corpus.test->pairs, corpus.test->reference);
  return digest_of(choice);
}

std::string text_of(const PairRules& rules) {
  return fmt::format("{} {} {} {} {} {} {}", rules.shortest_words, rules.longest_words,
                     rules.longest_pieces, rules.length_ratio, rules.remove_identical,
                     rules.remove_duplicates, rules.script_share);
}

std::vector<fs::path> files_of(const ParallelCorpus& corpus) {
  std::vector<fs::path> files;
  const auto add = [&](const std::vector<fs::path>& more) {
    files.insert(files.end(), more.begin(), more.end());
  };
  for (const PairSource& source : corpus.train) add(pair_files(source));
  for (const auto* const set : {&corpus.validation, &corpus.test}) {
    if (!*set) continue;
    add(pair_files((*set)->pairs));
    if (!(*set)->reference.empty()) add({(*set)->reference});
  }
  return files;
}

}  // namespace

PreparationIdentity identity_of(const PrepareOptions& options, const Tokenizer& tokenizer,
                                const std::vector<fs::path>& files) {
  if (!can_be_read_again(files)) return {};
  const CorpusOptions& corpus = options.corpus;
  return {
      {"program", program()},
      {"tokenizer", hexadecimal(tokenizer.fingerprint())},
      {"reader", to_string(corpus.reader)},
      {"document separator", to_string(corpus.separator)},
      {"field of JSON Lines", corpus.text_field},
      {"choice to remove repeats", fmt::format("{}", corpus.remove_repeats)},
      {"choice of files", choice_of_files(options)},
      {"validation fraction", fmt::format("{}", options.validation_fraction)},
      {"test fraction", fmt::format("{}", options.test_fraction)},
      {"division by bytes", fmt::format("{}", fmt::join(options.shares.bytes, " "))},
      {"seed", fmt::format("{}", options.seed)},
      {"size of shards", fmt::format("{}", options.shard_tokens)},
      {"corpus", state_of(files)},
  };
}

PreparationIdentity identity_of(const PreparePairsOptions& options, const Tokenizer& source,
                                const Tokenizer& target) {
  const ParallelCorpus& corpus = options.corpus;
  const std::vector<fs::path> files = files_of(corpus);
  if (!can_be_read_again(files)) return {};
  return {
      {"program", program()},
      {"source tokenizer", hexadecimal(source.fingerprint())},
      {"target tokenizer", hexadecimal(target.fingerprint())},
      {"pair of languages", corpus.languages.source + " " + corpus.languages.target},
      {"choice of sources", choice_of_sources(corpus)},
      {"set of rules", text_of(corpus.rules)},
      {"validation fraction", fmt::format("{}", corpus.validation_fraction)},
      {"test fraction", fmt::format("{}", corpus.test_fraction)},
      {"seed", fmt::format("{}", corpus.seed)},
      {"size of shards", fmt::format("{}", options.shard_tokens)},
      {"corpus", state_of(files)},
  };
}

}  // namespace roformer
