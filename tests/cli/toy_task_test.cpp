// Makes a task of its two parts, the facts for config/ and the definition for tasks/, and registers
// them. Every command then knows the task, as if it had a line in config/tasks/list.h.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/random.h"
#include "catch.h"
#include "cli/run_command.h"
#include "config/schema_row.h"
#include "data/line_reader.h"
#include "experiments/declaration/study_settings.h"
#include "experiments/study.h"
#include "has.h"
#include "runs/train.h"
#include "tasks/data_record.h"
#include "tasks/task_definition.h"
#include "tasks/untrained.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

// The task: find the plane y = 2 a - b + 1 from points (a, b, y) that are made on the fly.
struct PlaneSettings {
  double noise = 0.1;
  std::int64_t points = 64;
};

const PlaneSettings& plane(const Settings& settings) {
  return settings.registered_task.of<PlaneSettings>();
}

std::vector<Key> plane_keys() {
  const std::vector<TaskKind> tasks{find_task("plane")->task};
  return {make_key("plane.noise", member_of([](auto& settings) -> auto& {
                     return settings.registered_task.template of<PlaneSettings>().noise;
                   }),
                   {.range = between(0, 1), .help = "of the points' heights", .tasks = tasks}),
          make_key("plane.points", member_of([](auto& settings) -> auto& {
                     return settings.registered_task.template of<PlaneSettings>().points;
                   }),
                   {.unit = "points",
                    .range = between(1, 1000),
                    .help = "of a validation",
                    .tasks = tasks})};
}

const TaskKind kPlane = register_task_facts(
    {.name = "plane",
     .title = "plane through points",
     .keys = plane_keys,
     .figures = [](const Settings&) -> std::vector<TaskFigure> {
       return {{"loss", "validation_loss"}, {"explained", "explained"}};
     },
     .ranked_by = [](const Settings&) -> std::string_view { return "explained"; },
     .metrics = {{.name = "explained",
                  .title = "variance explained",
                  .unit = "%",
                  .digits = 1,
                  .higher_is_better = true}},
     .columns = {"explained"}});

struct Points : TrainingBatch {
  at::Tensor places;   // [N, 2]
  at::Tensor heights;  // [N]
};

Points make_points(std::uint64_t key, std::int64_t count, double noise) {
  Points points;
  points.places = at::empty({count, 2});
  points.heights = at::empty({count});
  points.target_count = points.tokens = count;
  Random random(random_key({key, random_word("plane")}));
  for (std::int64_t i = 0; i < count; ++i) {
    const double a = random.normal(), b = random.normal();
    points.places.data_ptr<float>()[2 * i] = static_cast<float>(a);
    points.places.data_ptr<float>()[2 * i + 1] = static_cast<float>(b);
    points.heights.data_ptr<float>()[i] =
        static_cast<float>(2 * a - b + 1 + noise * random.normal());
  }
  return points;
}

class PlaneModel : public TaskModel {
 public:
  static constexpr std::string_view kNoun = "plane";

  PlaneModel(const Settings& settings, const ComputePlan& plan)
      : plan_(plan),
        parameters_(settings.seed),
        slope_(parameters_.add({.name = "slope", .shape = {2}, .initial = zeros()})),
        height_(parameters_.add({.name = "height", .shape = {1}, .initial = zeros()})) {
    parameters_.flatten();
  }
  ParameterStore& parameters() override { return parameters_; }
  const ComputePlan& plan() const override { return plan_; }
  at::Tensor heights(const at::Tensor& places) const { return (places * slope_).sum(1) + height_; }
  // Sum over the points.
  at::Tensor loss(const Points& points) const {
    return (heights(points.places) - points.heights).square().sum();
  }

 private:
  ComputePlan plan_;
  ParameterStore parameters_;
  at::Tensor slope_, height_;
};

struct PlaneFigures {
  double loss, explained;
};

PlaneFigures measure(const PlaneModel& model, std::int64_t count, double noise) {
  const c10::AutoGradMode no_gradient(false);
  const Points points = make_points(7, count, noise);
  const double loss = model.loss(points).item<double>() / static_cast<double>(count);
  const at::Tensor centred = points.heights - points.heights.mean();
  return {loss, 1 - loss / centred.square().mean().item<double>()};
}

class PlaneTask : public TrainingTask {
 public:
  PlaneTask(const Settings& settings, std::shared_ptr<const Tokenizer> tokenizer,
            const ComputePlan& plan)
      : settings_(settings), tokenizer_(std::move(tokenizer)), model_(settings, plan) {}

  ParameterStore& parameters() override { return model_.parameters(); }
  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    return std::make_unique<Points>(make_points(1000 + static_cast<std::uint64_t>(number),
                                                settings_.training.batch, plane(settings_).noise));
  }
  double batches_per_epoch() const override { return std::numeric_limits<double>::infinity(); }
  double tokens_per_batch() const override { return static_cast<double>(settings_.training.batch); }
  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode&) override {
    return model_.loss(static_cast<const Points&>(batch));
  }
  Figures validate(Processes&) override {
    const PlaneFigures found = measure(model_, plane(settings_).points, plane(settings_).noise);
    return {{"loss", found.loss}, {"explained", found.explained}};
  }
  void save_assets(const InnerPath& folder) const override { save_tokenizer(*tokenizer_, folder); }

 private:
  Settings settings_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  PlaneModel model_;
};

OpenedTask open_plane(const TaskSources& sources) {
  const std::shared_ptr<const Tokenizer> tokenizer = open_tokenizer({.kind = TokenizerKind::bytes});
  return {.task = std::make_unique<PlaneTask>(sources.settings, tokenizer, sources.plan),
          .tokenizer = tokenizer,
          .data = data_record(sources.settings)};
}

EvaluationResult evaluate_plane(OpenedRun run, const EvaluationRequest& request) {
  const RunOf<PlaneModel> trained(std::move(run));
  const PlaneSettings& settings = plane(trained.settings);
  const std::int64_t count = request.questions > 0 ? request.questions : settings.points;
  const PlaneFigures found = measure(*trained.model, count, settings.noise);
  EvaluationResult result{.json = {{"loss", found.loss}, {"explained", found.explained}}};
  if (!request.against.empty()) {
    const RunOf<PlaneModel> other(request.open_other());
    result.json["against"] = measure(*other.model, count, settings.noise).loss - found.loss;
  }
  if (request.text != nullptr) {
    Table table({figure_column("explained")});
    table.add_row({found.explained});
    request.text->line(trained.checkpoint.filename().string() + with_overrides(trained));
    request.text->table(table);
  }
  return result;
}

void predict_plane(OpenedRun run, const PredictionRequest& request) {
  const c10::AutoGradMode no_gradient(false);
  const RunOf<PlaneModel> trained(std::move(run));
  LineReader lines(request.file, LineReader::kAnyLength);
  for (std::string_view line; lines.next_text(line);) {
    std::istringstream numbers{std::string(line)};
    at::Tensor place = at::empty({1, 2});
    numbers >> place.data_ptr<float>()[0] >> place.data_ptr<float>()[1];
    request.print(fmt::format("{:.2f}\n", trained.model->heights(place).item<double>()));
  }
}

const bool plane_is_registered = [] {
  register_task({.task = kPlane,
                 .noun = PlaneModel::kNoun,
                 .open = open_plane,
                 .data_record = [](const Settings&) -> nlohmann::json {
                   return {{"name", "plane"}, {"fingerprint", "0"}};
                 },
                 .make_model = [](const Settings& settings, const TranslationVocabularies&,
                                  const ComputePlan& plan) -> std::unique_ptr<TaskModel> {
                   return std::make_unique<PlaneModel>(settings, plan);
                 },
                 .evaluate_flags = {"--questions", "--against"},
                 .evaluate = evaluate_plane,
                 .predict = predict_plane});
  return true;
}();

struct PlaneFolder : TemporaryFolder {
  std::string file = (path / "plane.yaml").string();

  explicit PlaneFolder(const std::string& more = "") {
    write_file_atomically(
        path / "plane.yaml",
        "task: plane\nruns: runs\nplane: {noise: 0.2}\ntraining: {steps: 60, batch: 16, "
        "learning_rate: 0.1, schedule: constant, warmup: 0, weight_decay: 0, precision: fp32, "
        "validate_every: 20, save_every: 20}\n" +
            more);
  }
  std::string run(const std::string& name) const { return (path / "runs" / name).string(); }
};

}  // namespace

TEST_CASE("a registered task is a word of the key, and brings its keys") {
  REQUIRE(plane_is_registered);
  CHECK(has(run({"config", "keys", "plane"}).output,
            "plane.points\n    integer from 1 to 1000, in points; default: 64\n"));
  const PlaneFolder folder;
  const Outcome dump = run({"config", "dump", folder.file, "--plane.points", "32"});
  CHECK(has(dump.output, "task: plane"));
  CHECK(has(dump.output, "  points: 32"));
  CHECK(has(run({"config", "dump", "--task", "plan"}).errors, "did you mean plane"));
  CHECK(has(run({"config", "dump", folder.file, "--plane.noise", "2"}).errors, "plane.noise"));
}

TEST_CASE("a registered task trains, goes on as if it had not stopped, evaluates and predicts") {
  const PlaneFolder folder;
  CHECK(run({"train", folder.file, "--smoke"}).code == 0);
  REQUIRE(run({"train", folder.file, "--run", "whole"}).code == 0);
  REQUIRE(run({"train", folder.file, "--run", "two", "--training.steps", "20"}).code == 0);
  REQUIRE(run({"train", folder.file, "--run", "two", "--training.steps", "60", "--resume"}).code ==
          0);
  const Outcome whole = run({"evaluate", folder.run("whole"), "--json"});
  REQUIRE(whole.code == 0);
  CHECK(whole.output == run({"evaluate", folder.run("two"), "--json"}).output);
  CHECK(nlohmann::json::parse(whole.output)["explained"].get<double>() > 0.9);

  CHECK(has(run({"evaluate", folder.run("whole")}).output, "variance explained"));
  const Outcome paired = run({"evaluate", folder.run("whole"), "--against", folder.run("two"),
                              "--questions", "9", "--json"});
  CHECK(nlohmann::json::parse(paired.output)["against"] == 0);
  const Outcome foreign = run({"evaluate", folder.run("whole"), "--tokens", "9"});
  CHECK(has(foreign.errors, "--tokens: is not for the run of a plane"));
  CHECK(has(foreign.errors, "it takes --questions, --against"));
  CHECK(run({"export", folder.run("whole"), folder.run("out")}).code == 2);

  const Outcome answers = run({"predict", folder.run("whole")}, "0 0\n1 1\n");
  REQUIRE(answers.code == 0);
  const std::vector<std::string> lines = lines_of(answers.output);
  REQUIRE(lines.size() == 2);
  CHECK(std::stod(lines[0]) == Approx(1).margin(0.3));
  CHECK(std::stod(lines[1]) == Approx(2).margin(0.3));
  CHECK(has(run({"fill-mask", folder.run("whole"), "a [MASK]"}).errors,
            "is not a language model's run"));
}

TEST_CASE("a registered task is ranked and shown in a study by its own figure") {
  const PlaneFolder folder("matrix: {plane.noise: [0.1, 0.5]}\nstudy: {metric: explained}\n");
  const StudySettings study = load_study(folder.file);
  for (const StudyRun& one : study.runs) train_run(one.settings, ExistingRun::refuse);
  // The runs are finished as if this study had started them.
  std::filesystem::create_directories(folder.run("plane/configs"));
  const StudyOutcome outcome = run_study(study, {.program = "/bin/false"});
  CHECK(outcome.failed == 0);
  REQUIRE(outcome.rows.size() == 2);
  for (const StudyRow& row : outcome.rows) {
    CHECK(row.runs.front().figures.at("explained") > 0.5);
    CHECK(row.runs.front().figures.contains("validation_loss"));
  }
  CHECK(has(read_file(folder.run("plane/table.md")), "variance explained"));
}
