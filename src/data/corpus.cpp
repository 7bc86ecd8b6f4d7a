#include "data/corpus.h"

#include <xxhash.h>

#include <set>

#include "base/log.h"
#include "base/progress.h"
#include "data/corpus_stream.h"
#include "data/document_readers.h"

namespace roformer {
namespace {

// Counts for the readers, and drops repeated lines before they reach the caller's sink.
class CountingSink : public CorpusSink {
 public:
  CountingSink(bool remove_repeats, LinesMet& lines_met, CorpusSink& sink)
      : remove_repeats_(remove_repeats), lines_met_(lines_met), sink_(sink) {}

  void line(std::string_view text) override {
    if (remove_repeats_ && !text.empty() &&
        !lines_met_.insert(XXH3_64bits(text.data(), text.size())).second) {
      ++counts_.repeats;
      return;
    }
    if (!text.empty()) {
      in_document_ = true;
      ++counts_.lines;
    }
    if (in_document_) sink_.line(text);
  }
  void part(std::string_view text) override {
    in_document_ = true;
    ++counts_.lines;
    sink_.part(text);
  }
  void end_document() override {
    if (!in_document_) return;
    in_document_ = false;
    ++counts_.documents;
    sink_.end_document();
  }

  CorpusCounts& counts() { return counts_; }

 private:
  bool remove_repeats_;
  LinesMet& lines_met_;
  CorpusSink& sink_;
  CorpusCounts counts_;
  bool in_document_ = false;
};

CorpusReader reader_of(const CorpusStream& stream, const std::filesystem::path& file,
                       CorpusReader given) {
  if (given != CorpusReader::automatic) return given;
  const bool json = is_json_lines(stream.inside().empty() ? file.string() : stream.inside());
  return json ? CorpusReader::json_lines : CorpusReader::text;
}

// Warns if the file's ending promises fields, since the text reader does not tell them apart.
void warn_of_fields(const std::filesystem::path& file) {
  const std::string ending = ending_of(file);
  if (ending != ".csv" && ending != ".tsv" && ending != ".json") return;
  log::warn(
      "{} is read as plain text, including everything around its texts; JSON Lines (.jsonl) "
      "and Parquet keep texts in a separate field",
      file.string());
}

// Requires that the target of each hard link was read. A hard link has the text of its target. The
// link itself is left out, so that no document occurs twice. Throws Error if the target was not
// read, since its text would be lost.
void require_targets(const std::filesystem::path& archive, const CorpusStream& stream,
                     const std::set<std::string>& read, const CorpusOptions& options) {
  for (const CorpusStream::HardLink& link : stream.hard_links()) {
    if (read.contains(link.target) || !is_wanted_inside(link.name, options)) continue;
    throw_failure(archive.string() + ":" + link.name,
                  "is a hard link to " + link.target + ", which is not read",
                  "unpack the archive and name the folder");
  }
}

std::string why_no_text(const CorpusOptions& options, const CorpusCounts& counts) {
  if (options.reader == CorpusReader::libreoffice_help) {
    return "holds no paragraph of LibreOffice's help";
  }
  if (counts.files == 0 && !options.include.empty()) {
    return fmt::format("holds no file that fits --include {} ({} left out)",
                       fmt::join(options.include, ", "), format_counted(counts.skipped, "file"));
  }
  return "holds no text: it is empty or blank";
}

}  // namespace

CorpusCounts& CorpusCounts::operator+=(const CorpusCounts& other) {
  files += other.files;
  skipped += other.skipped;
  documents += other.documents;
  lines += other.lines;
  repeats += other.repeats;
  replaced += other.replaced;
  return *this;
}

CorpusCounts read_corpus(const CorpusOptions& options, CorpusSink& sink) {
  LinesMet lines_met;
  return read_corpus(options, sink, lines_met);
}

CorpusCounts read_corpus(const CorpusOptions& options, CorpusSink& sink, LinesMet& lines_met) {
  CorpusFiles files;
  files.paths = list_corpus_files(options, &files.skipped);
  return read_corpus(files, options, sink, lines_met);
}

CorpusCounts read_corpus(const CorpusFiles& listed, const CorpusOptions& options, CorpusSink& sink,
                         LinesMet& lines_met) {
  ROFORMER_ASSERT(!listed.paths.empty());
  if (options.reader == CorpusReader::verbatim && options.remove_repeats) {
    throw_usage("remove_repeats", "removes lines, but the verbatim reader keeps every byte");
  }
  CountingSink counting(options.remove_repeats, lines_met, sink);
  CorpusCounts& counts = counting.counts();
  bool any_text = false;
  std::uint64_t finished_bytes = 0;
  const std::vector<std::filesystem::path>& files = listed.paths;
  counts.skipped = listed.skipped;
  for (const std::filesystem::path& file : files) {
    CorpusStream stream(file);
    const auto report_progress = [&] { sink.progress(finished_bytes + stream.raw_bytes()); };
    bool has_files = false;
    std::set<std::string> read;  // members of the archive
    while (stream.next_file()) {
      has_files = true;
      if (!stream.inside().empty() && !is_wanted_inside(stream.inside(), options)) {
        ++counts.skipped;
        continue;
      }
      if (!stream.inside().empty()) read.insert(stream.inside());
      const CorpusReader reader = reader_of(stream, file, options.reader);
      if (options.reader == CorpusReader::automatic && reader == CorpusReader::text) {
        warn_of_fields(file);
      }
      try {
        const auto documents = open_documents(reader, stream.name(), options, counting);
        for (std::string_view bytes = stream.read(); !bytes.empty(); bytes = stream.read()) {
          documents->feed(bytes);
          report_progress();
        }
        documents->end_file();
        any_text |= documents->had_text();
        counts.replaced += documents->replaced();
        ++counts.files;
      } catch (const NotText& problem) {  // none of it was passed on
        const bool alone = files.size() == 1 && stream.inside().empty();
        if (alone) throw;
        if (!options.skip_binary) {
          throw_failure(problem.parts().location, problem.parts().message,
                        problem.parts().hint +
                            ", or leave it out: --skip-binary, or --include "
                            "'*.txt'");
        }
        ++counts.skipped;
        log::warn("{}: {}; it is left out", problem.parts().location, problem.parts().message);
      }
    }
    require_targets(file, stream, read, options);
    if (!has_files) ++counts.files;  // an empty one
    counts.skipped += stream.left_out();
    report_progress();
    finished_bytes += stream.raw_bytes();
  }
  if (!any_text) {
    const std::string name = files.front() == "-" ? "standard input" : files.front().string();
    throw_failure(files.size() == 1 ? name : fmt::format("{} and {} more", name, files.size() - 1),
                  why_no_text(options, counts));
  }
  return counts;
}

}  // namespace roformer
