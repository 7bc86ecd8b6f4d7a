// Registers the subcommands; everything else is in cli/.
#include <fmt/format.h>

#include "base/log.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/commands.h"

int main(int argc, char** argv) {
  using namespace roformer;
  log::initialize();
  CLI::App program(
      "Trains and compares Transformers whose positional scheme is a switch (RoFormer and others).",
      "roformer");
  program.set_version_flag("--version", fmt::format("roformer {} ({})", kVersion, kCommit),
                           "print version and commit");
  add_train_command(program);
  add_evaluate_command(program);
  add_predict_command(program);
  add_fill_mask_command(program);
  add_generate_command(program);
  add_translate_command(program);
  add_score_command(program);
  add_average_command(program);
  add_import_command(program);
  add_export_command(program);
  add_bench_command(program);
  add_study_command(program);
  add_positions_command(program);
  add_config_command(program);
  add_data_command(program);
  add_tokenizer_command(program);
  add_doctor_command(program);
  return run_program(program, argc, argv);
}
