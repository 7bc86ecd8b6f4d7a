// `roformer`: runs the subcommands that read no tensor and starts roformer-torch for the others. It
// must not be linked with LibTorch (a test checks).
#include "base/log.h"
#include "base/process.h"
#include "cli/command.h"

int main(int argc, char** argv) {
  using namespace roformer;
  prepare_process();
  log::initialize();
  const auto program = make_program({{"config", add_config_command},
                                     {"data", add_data_command},
                                     {"gpu-check", add_gpu_check_command},
                                     {"quickstart", add_quickstart_command},
                                     {"score", add_score_command},
                                     {"tokenizer", add_tokenizer_command}},
                                    [argv] { continue_with_torch(argv); });
  // `config check` tells what a run will export as, which only roformer-torch knows.
  program->get_subcommand("config")->get_subcommand("check")->callback(
      [argv] { continue_with_torch(argv); });
  // The script has the flags of all commands, which only roformer-torch knows; a build writes it.
  program->get_subcommand("completion")->callback([argc, argv] {
    if (!print_installed_completion(argc, argv)) continue_with_torch(argv);
  });
  return run_program(*program, argc, argv);
}
