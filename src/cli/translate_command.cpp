// `roformer translate`: translates the lines of a file or of standard input to standard output.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/blank.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/process.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/trained_model_flags.h"
#include "data/line_reader.h"
#include "tasks/translation/text_translator.h"
#include "training/signals.h"

namespace roformer {
namespace {

struct TranslationFormat {
  std::string name = "text";  // text, json or marian
  bool alignment = false;     // "||| 0-0 1-2" after the text, or a list in JSON
  std::int64_t n_best = 1;    // lines of text per source; empty ones if fewer were found
};

// Prints translations as lines of text, as JSON or in Marian's n-best format. Writes them to
// standard output, or into a file that is written whole or not at all.
class TranslationPrinter {
 public:
  // Without a file name: standard output.
  TranslationPrinter(TranslationFormat format, const std::string& file);

  // Prints the next line.
  void print(const std::string& source, const TranslatedLine& line);
  // Passes on what was printed. Throws Error (failure) if it cannot be written.
  void flush();
  // Completes the file; without this call there is no file.
  void finish();

 private:
  TranslationFormat format_;
  std::optional<AtomicFile> file_;
  std::string text_;
  std::int64_t number_ = 0;

  void add_json(const std::string& source, const TranslatedLine& line);
  void add_marian(const TranslatedText& text);
};

// "0-0 1-2": source and target token of each pair.
std::string words_of(const Alignment& alignment) {
  std::string words;
  for (const auto& [source, target] : alignment) {
    words += fmt::format("{}{}-{}", words.empty() ? "" : " ", source, target);
  }
  return words;
}

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

struct TranslateOptions {
  std::vector<std::string> runs;
  TrainedModelOptions opening;
  std::string format = "text";
  std::string input = "-";
  std::string output;
  bool score = false;
  bool sample = false;
  SamplingSettings sampling;
  std::int64_t lines_at_a_time = 4096;
  TranslationRequest request;
};

// A flag that users of other translators know, for a key of the configuration.
struct ShortFlag {
  const char* name;
  const char* key;
  const char* help;
};
constexpr ShortFlag kShortFlags[] = {
    {"--beam", "decoding.beam", "hypotheses kept open; 1: greedy"},
    {"--length-penalty", "decoding.length_penalty", "wu: ((5+n)/6)^alpha; average: n^alpha"},
    {"--alpha", "decoding.alpha", "exponent of the length penalty"},
    {"--batch-tokens", "decoding.batch_tokens", "source tokens times beam at a time"},
};

// Splits "SOURCE<tab>TRANSLATION" into its two parts. A blank line has two empty ones.
void split_pair(const std::string& where, std::string& line, std::string& translation) {
  if (is_blank(line)) return line.clear();
  const auto tabs = std::ranges::count(line, '\t');
  if (tabs != 1) {
    throw_failure(where, fmt::format("has {}, wanted one: a source, a tab and a translation",
                                     format_counted(tabs, "tab")));
  }
  const std::size_t tab = line.find('\t');
  translation = line.substr(tab + 1);
  line.resize(tab);
}

void translate_command(const TranslateOptions& options) {
  if (!options.output.empty()) require_output(options.output, {options.input});
  if (options.score && options.format == "text") {
    throw_usage("--score", "prints probabilities, which text has no place for",
                "--format json or marian");
  }
  TranslationRequest request = options.request;
  if (options.sample) {
    check_sampling(options.sampling);
    request.sampling = options.sampling;
  }
  TrainedModelOptions opening = options.opening;
  opening.among_others = options.runs.size() > 1;
  std::vector<TrainedTranslator> runs;
  for (const std::string& run : options.runs) {
    runs.push_back(open_run_of<Translator>(run, opening));
  }
  const TextTranslator translator(std::move(runs));
  if (!options.sample && request.n_best > translator.settings().decoding.beam) {
    throw_usage("--n-best",
                fmt::format("{} translations cannot come from a beam of {}", request.n_best,
                            translator.settings().decoding.beam),
                fmt::format("--beam {}", request.n_best));
  }
  // Drops the rest of a longer line, because no model reads that far.
  LineReader reader(options.input, LineReader::kLongestLine);
  TranslationPrinter printer(
      {.name = options.format, .alignment = request.alignment, .n_best = request.n_best},
      options.output);
  // A signal must not leave half a file. In a pipe, the lines so far have arrived.
  std::optional<StopSignals> signals;
  if (!options.output.empty()) signals.emplace("leaving after these lines");
  StatusLine status;
  std::int64_t number = 0, cut = 0;
  for (bool more = true; more;) {
    if (const int stopped = signals ? StopSignals::received() : 0) {
      status.clear();
      std::cerr << fmt::format("stopped by a signal after {} lines: {} is not written\n",
                               format_count(number), options.output);
      throw CLI::RuntimeError(kSignalExit + stopped);
    }
    std::vector<std::string> lines, given;
    std::string_view read;
    request.first_line = static_cast<std::uint64_t>(number);
    while (std::ssize(lines) < options.lines_at_a_time && (more = reader.next_text(read))) {
      std::string line(read), translation;
      if (options.score) split_pair(reader.location(), line, translation);
      ++number;
      lines.push_back(std::move(line));
      given.push_back(std::move(translation));
    }
    const auto found = options.score ? translator.score(lines, given, request)
                                     : translator.translate(lines, request);
    status.clear();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      cut += found[i].cut ? 1 : 0;
      printer.print(lines[i], found[i]);
    }
    printer.flush();
    if (more && status.due()) status.show(fmt::format("{} lines", format_count(number)));
  }
  status.clear();
  printer.finish();
  if (cut > 0) {
    const std::int64_t longest = translator.longest_source(request);
    log::warn(
        "{} cut at {} tokens{}", format_counted(cut, "line"), longest,
        longest < request.longest_source ? ", where the model's table of positions ends" : "");
  }
  reader.warn_of_replaced();
}

}  // namespace

void add_translate_command(CLI::App& program) {
  auto options = std::make_shared<TranslateOptions>();
  CLI::App* command = add_listed_command(
      program, "translate",
      "roformer translate runs/en-de < in.txt > out.txt\n"
      "A line in, a line out, in order (N lines with --n-best N); blank lines stay\n"
      "blank. Lines may be compressed or UTF-16 with its mark. Several runs with one vocabulary "
      "form an ensemble. With --score, each\n"
      "line is a source, a tab and a translation, and its probability is printed\n"
      "(--format json or marian).\n"
      "--sample draws translations in place of the search, --n-best N of each line.\n"
      "--alignment writes \" ||| 0-0 1-2\" after each translation: pairs of a source token and\n"
      "the target token that attended to it. Tokens are the vocabulary's pieces (--format json "
      "lists\n"
      "them), counted from 0, without the ends.\n");
  command->add_option("runs", options->runs, "folders of runs or checkpoints")->required();
  command->add_option("--input", options->input, "file of lines; -: standard input")
      ->capture_default_str();
  add_opening_flags(*command, options->opening);
  command->add_option("--output", options->output,
                      "file to write, whole or not at all; default: standard output");
  command->add_option("--format", options->format, "text, json or marian")
      ->check(CLI::IsMember({"text", "json", "marian"}))
      ->capture_default_str();
  CLI::Option* const n_best = command
                                  ->add_option("--n-best", options->request.n_best,
                                               "translations (or samples) of each line")
                                  ->check(positive())
                                  ->capture_default_str();
  command
      ->add_option("--longest-source", options->request.longest_source,
                   "tokens of a line that are read, its end counted")
      ->check(CLI::Range(2, 1 << 20))
      ->capture_default_str();
  CLI::Option* const prefix =
      command->add_option("--prefix", options->request.prefix, "every translation begins with it");
  command
      ->add_option("--lines", options->lines_at_a_time,
                   "lines that are read before they are translated; 1 answers each at once")
      ->check(positive())
      ->capture_default_str();
  CLI::Option* const score =
      command->add_flag("--score", options->score, "score given translations")
          ->excludes(n_best)
          ->excludes(prefix);
  add_int8_flag(*command, options->opening.int8);
  command->add_flag("--alignment", options->request.alignment,
                    "print the source token that each target token attended to");
  CLI::Option* const sample =
      command->add_flag("--sample", options->sample, "draw translations at random")
          ->excludes(score);
  for (CLI::Option* option :
       add_sampling_flags(*command, options->sampling, options->request.seed)) {
    option->needs(sample);
  }
  for (const ShortFlag& flag : kShortFlags) {
    CLI::Option* const option = command->add_option_function<std::string>(
        flag.name,
        [options, key = flag.key](const std::string& text) {
          options->opening.overrides.push_back({key, text});
        },
        flag.help);
    if (std::string_view(flag.name) == "--beam") option->excludes(sample);
  }
  accept_settings(*command, options->opening.overrides, trained_model_flags());
  command->callback([options] { translate_command(*options); });
}

}  // namespace roformer
