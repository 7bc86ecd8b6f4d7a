// The subcommands, each in the file of its name; main.cpp and main_torch.cpp register them.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "config/settings.h"

namespace roformer {

// The line that says what a run with these settings will export as; empty: print nothing.
using ExportLine = std::function<std::string(const Settings&)>;

void add_average_command(CLI::App& program);
void add_bench_command(CLI::App& program);
void add_config_command(CLI::App& program);
// With what only a program that is linked with LibTorch can tell.
void add_config_command(CLI::App& program, const ExportLine& export_line);
void add_data_command(CLI::App& program);
void add_doctor_command(CLI::App& program);
void add_evaluate_command(CLI::App& program);
void add_explain_command(CLI::App& program);
void add_export_command(CLI::App& program);
void add_fill_mask_command(CLI::App& program);
void add_generate_command(CLI::App& program);
void add_import_command(CLI::App& program);
void add_positions_command(CLI::App& program);
void add_predict_command(CLI::App& program);
void add_score_command(CLI::App& program);
void add_study_command(CLI::App& program);
void add_tokenizer_command(CLI::App& program);
void add_train_command(CLI::App& program);
void add_translate_command(CLI::App& program);

}  // namespace roformer
