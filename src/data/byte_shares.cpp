#include "data/byte_shares.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/sha1.h"
#include "data/corpus_stream.h"

namespace roformer {
namespace {

constexpr std::uint64_t kShortestShare = 8;  // bytes: a cut moves by less, to a character's begin

std::string counted(std::uint64_t bytes) {
  return format_count(static_cast<std::int64_t>(bytes));
}

}  // namespace

DividedFile divide_file(const CorpusOptions& corpus, const ByteShares& shares) {
  const std::vector<std::filesystem::path> files = list_corpus_files(corpus);
  const std::string location = files.front().string();
  const char* const wanted = "one file is divided by its bytes";
  if (files.size() > 1) {
    throw_usage(location, fmt::format("and {} more: {}", files.size() - 1, wanted));
  }
  if (files.front() == "-") {
    throw_usage("standard input", "can be read only once, and is not divided by its bytes",
                "write it into a file");
  }
  CorpusStream stream(files.front());
  DividedFile result;
  Sha1 hash;
  std::string begin;
  for (std::size_t inside = 0; stream.next_file(); ++inside) {
    if (inside > 0) throw_usage(location, fmt::format("holds several files: {}", wanted));
    for (std::string_view bytes = stream.read(); !bytes.empty(); bytes = stream.read()) {
      result.bytes += bytes.size();
      hash.update(bytes);
      begin += bytes.substr(0, shares.begins_with.size() - begin.size());
    }
  }
  if (!shares.begins_with.starts_with(begin)) {
    throw_failure(location, "is neither the recipe's file nor a prefix of it: it begins otherwise",
                  "fetch it again; `roformer data prepare FILE --reader verbatim` takes any file");
  }
  if (result.bytes > shares.whole()) {
    throw_failure(location, fmt::format("has {} bytes, the recipe's file has {}",
                                        counted(result.bytes), counted(shares.whole())));
  }
  if (result.bytes == shares.whole() && !shares.sha1.empty()) {
    const std::string found = hash.finish();
    if (found != shares.sha1) {
      throw_failure(
          location,
          fmt::format("is not the recipe's file: SHA-1 {}, wanted {}", found, shares.sha1),
          "fetch it again");
    }
  }
  // Exact where the file is whole; a prefix is rounded down.
  const auto share = [&](std::uint64_t bytes) {
    return static_cast<std::uint64_t>(
        static_cast<double>(result.bytes) *
        (static_cast<double>(bytes) / static_cast<double>(shares.whole())));
  };
  const bool whole = result.bytes == shares.whole();
  const std::uint64_t train = whole ? shares.bytes[0] : share(shares.bytes[0]);
  const std::uint64_t validation = whole ? shares.bytes[1] : share(shares.bytes[1]);
  if (train < kShortestShare || validation < kShortestShare ||
      result.bytes - train - validation < kShortestShare) {
    throw_failure(location, fmt::format("is too short to be divided: {} bytes", result.bytes));
  }
  result.cuts = {train, train + validation};
  return result;
}

}  // namespace roformer
