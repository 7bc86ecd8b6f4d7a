// `roformer embed`: writes the vectors of texts.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/trained_model_flags.h"
#include "config/words.h"
#include "report/vector_file.h"
#include "runs/open_embedder.h"
#include "tasks/embedding/embed_texts.h"

namespace roformer {
namespace {

struct EmbedOptions {
  std::string model;
  TextsToEmbed texts;
  bool no_header = false;
  std::string output = "-";
  std::string format;  // empty: by the ending of the output
  EmbedderOptions opening;
};

void embed_command(const EmbedOptions& options) {
  TextsToEmbed texts = options.texts;
  texts.header = !options.no_header;
  if (options.no_header && texts.column.empty()) {
    throw_usage("--no-header", "is for a table", "--column NUMBER, the column of the texts");
  }
  const VectorFormat format = options.format.empty() ? format_of_vector_file(options.output)
                                                     : vector_format(options.format);
  require_vector_output(options.output, format);
  if (options.output != "-") require_output(options.output, {texts.file});
  const OpenedEmbedder opened = open_embedder(options.model, options.opening);
  const EmbeddingSettings& embedding = opened.settings.embedding;
  const std::int64_t length = opened.settings.data.length;
  log::info("{}: {}{}, texts of up to {} tokens", options.model,
            embedding.pooling == TextPooling::mean ? "the mean of all tokens" : "the first token",
            embedding.normalize ? ", normalised" : "", length);
  VectorFile output(options.output, format, opened.model->outputs());
  const EmbeddedTexts done = embed_texts(*opened.model, *opened.tokenizer, length, texts, output);
  output.commit();
  if (done.cut > 0) {
    log::warn("{} of {} texts are longer than {} tokens and were cut", format_count(done.cut),
              format_count(done.texts), length);
  }
  if (options.output == "-") return;
  fmt::print("{}: {} vectors of {} numbers\n", options.output, format_count(done.texts),
             opened.model->outputs());
}

}  // namespace

void add_embed_command(CLI::App& program) {
  auto options = std::make_shared<EmbedOptions>();
  CLI::App* command = add_listed_command(
      program, "embed",
      "roformer embed runs/embedder --input sentences.txt --output vectors.npy\n"
      "Takes a run with task embedding, mlm, classification, glue, tagging or matching, or the "
      "folder of an encoder of Hugging Face or sentence-transformers. Each line is a text and gets "
      "a vector, empty lines too; with --column, each row of a CSV, TSV or JSON Lines file.\n"
      "A .npy file is a float32 array [texts, width] for numpy.load.\n");
  command->add_option("model", options->model, "folder of a run, of a checkpoint or of an encoder")
      ->required();
  command->add_option("--input", options->texts.file, "texts, compressed or not; -: standard input")
      ->capture_default_str();
  command->add_option("--column", options->texts.column,
                      "the input is a table with its texts in this column, by name or number");
  command->add_flag("--no-header", options->no_header, "the first line of the table is no header");
  command->add_option("--output", options->output, "-: standard output")->capture_default_str();
  command
      ->add_option("--format", options->format,
                   "npy, jsonl or tsv; default: by the output's ending, jsonl on standard output")
      ->check(CLI::IsMember({"npy", "jsonl", "tsv"}));
  command
      ->add_option_function<std::string>(
          "--pooling",
          [options](const std::string& word) {
            options->opening.pooling = word == "mean" ? TextPooling::mean : TextPooling::first;
          },
          "mean of all tokens, or the first token; default: as the model was trained, else mean")
      ->check(CLI::IsMember({"mean", "first"}));
  command
      ->add_option("--normalize", options->opening.normalize,
                   "true: vectors of length 1; default: true, unless an embedder says otherwise")
      ->type_name("true|false");
  command
      ->add_option("--length", options->opening.length,
                   "tokens of the longest text that is not cut; default: as the model was trained")
      ->check(positive());
  add_opening_flags(*command, options->opening.opening);
  accept_settings(*command, options->opening.opening.overrides, trained_model_flags());
  command->callback([options] { embed_command(*options); });
}

}  // namespace roformer
