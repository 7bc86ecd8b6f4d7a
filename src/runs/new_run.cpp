#include "runs/new_run.h"

#include "base/checksummed_json.h"
#include "base/checksummed_lines.h"
#include "base/file.h"
#include "base/origin.h"
#include "config/dump.h"
#include "training/checkpoint.h"

namespace roformer {
namespace fs = std::filesystem;

fs::path write_new_run(const NewRun& in, ExistingRun existing, const std::string& otherwise) {
  fs::path path = in.settings.runs / in.settings.run;
  refuse_existing(path, existing, otherwise);
  const RunDirectory run(path, existing);
  const std::string config = checksummed_lines(dump(in.settings, DumpStyle::compact));
  write_file_atomically(run.config(), config);
  write_checksummed_json(run.record(), run_record(this_program(), in.data));
  save_weights(run.checkpoints(), in.tensors, in.state, [&](const InnerPath& checkpoint) {
    write_file_atomically(checkpoint / "config.yaml", config);
    in.save_assets(checkpoint);
  });
  run.confirm();
  return path;
}

}  // namespace roformer
