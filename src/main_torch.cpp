// `roformer-torch`: every subcommand, linked with LibTorch. `roformer` starts it.
#include "base/file.h"
#include "base/log.h"
#include "base/process.h"
#include "cli/command.h"

int main(int argc, char** argv) {
  roformer::prepare_process();
  roformer::log::initialize();
  roformer::explain_bus_errors();
  return roformer::run_program(*roformer::make_whole_program(), argc, argv);
}
