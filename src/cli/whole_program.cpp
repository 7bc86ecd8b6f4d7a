#include "cli/command.h"

#include "base/error.h"
#include "runs/export_prospect.h"

namespace roformer {
namespace {

void add_config_command_with_exports(CLI::App& program) {
  add_config_command(program, export_line);
}

}  // namespace

std::unique_ptr<CLI::App> make_whole_program() {
  return make_program({{"average", add_average_command},
                       {"bench", add_bench_command},
                       {"completion", add_completion_command},
                       {"config", add_config_command_with_exports},
                       {"data", add_data_command},
                       {"doctor", add_doctor_command},
                       {"embed", add_embed_command},
                       {"estimate", add_estimate_command},
                       {"evaluate", add_evaluate_command},
                       {"explain", add_explain_command},
                       {"export", add_export_command},
                       {"fill-mask", add_fill_mask_command},
                       {"generate", add_generate_command},
                       {"gpu-check", add_gpu_check_command},
                       {"import", add_import_command},
                       {"positions", add_positions_command},
                       {"predict", add_predict_command},
                       {"quickstart", add_quickstart_command},
                       {"report", add_report_command},
                       {"runs", add_runs_command},
                       {"score", add_score_command},
                       {"study", add_study_command},
                       {"tokenizer", add_tokenizer_command},
                       {"train", add_train_command},
                       {"translate", add_translate_command}},
                      [] { ROFORMER_ASSERT(false && "a command of nobody"); });
}

}  // namespace roformer
