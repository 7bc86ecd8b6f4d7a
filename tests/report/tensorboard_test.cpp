#include "report/tensorboard.h"

#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> files_in(const fs::path& directory) {
  std::vector<fs::path> paths{fs::directory_iterator(directory), fs::directory_iterator()};
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::int64_t> steps_in(const fs::path& path) {
  const std::string contents = read_file(path);
  std::string_view rest = contents;
  std::vector<std::int64_t> steps;
  while (const auto event = take_record(rest)) steps.push_back(event_step(*event));
  return steps;
}

}  // namespace

TEST_CASE("events are byte for byte those of TensorBoard's own writer") {
  std::string long_text = "| key | value |\n|---|---|\n";
  for (int i = 0; i < 40; ++i) long_text += "| position | rope – 旋转 |\n";
  const float infinity = std::numeric_limits<float>::infinity();
  const std::string events =
      record_of(version_event({.wall_time = 1700000000.25})) +
      record_of(scalar_event({.wall_time = 1700000001.5, .step = 1}, "training/loss", 9.25f)) +
      record_of(scalar_event({.wall_time = 1700000002, .step = 300}, "training/loss", -0.0f)) +
      record_of(scalar_event({.wall_time = 1700000003, .step = 5000000000}, "x", infinity)) +
      record_of(text_event({.wall_time = 1700000004}, "configuration", long_text)) +
      record_of(session_start_event({.wall_time = 1700000005, .step = 301}));
  CHECK(events == read_file(FIXTURES "/events.tfevents"));
}

TEST_CASE("the checksum is CRC-32C") {
  // RFC 3720, B.4: 32 bytes of zeros have the CRC 0x8a9136aa; masked as TFRecord does.
  const std::uint32_t crc = 0x8a9136aa;
  CHECK(masked_crc32c(std::string(32, '\0')) == ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

TEST_CASE("resuming removes later events and begins a new session in a new file") {
  const TemporaryFolder folder;
  const fs::path directory = folder.path / "tensorboard";
  {
    TensorBoardWriter writer(directory);
    for (int step = 1; step <= 5; ++step) writer.scalar("loss", 10.0 / step, step);
  }
  const fs::path first = files_in(directory).at(0);
  CHECK(steps_in(first) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
  // The process was killed within a record.
  write_file_atomically(first, read_file(first) + record_of("half of it").substr(0, 15));
  {
    TensorBoardWriter writer(directory, {.resume_after_step = 3});
    writer.scalar("loss", 1, 4);
  }
  CHECK(steps_in(first) == std::vector<std::int64_t>{0, 1, 2, 3});
  const std::vector<fs::path> files = files_in(directory);
  REQUIRE(files.size() == 2);
  CHECK(files[0] == first);
  CHECK(steps_in(files[1]) == std::vector<std::int64_t>{0, 4, 4});
}

TEST_CASE("a new file sorts after those of a later clock, and other programs' do not count") {
  const TemporaryFolder folder;
  write_file_atomically(folder.path / "events.out.tfevents.9999999990.roformer", "");
  write_file_atomically(folder.path / "old-events.out.tfevents.1", "");
  { TensorBoardWriter writer(folder.path, {}); }
  CHECK(std::filesystem::exists(folder.path / "events.out.tfevents.9999999991.roformer"));
}

TEST_CASE("a damaged event file is refused and left as it was") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "events.out.tfevents.1.x";
  std::string contents = record_of(scalar_event({.wall_time = 1, .step = 1}, "loss", 1)) +
                         record_of(scalar_event({.wall_time = 2, .step = 2}, "loss", 1));
  for (const std::size_t place : {0u, 9u, 20u, static_cast<unsigned>(contents.size() - 1)}) {
    INFO("byte " << place);
    std::string damaged = contents;
    damaged[place] ^= 0x10;
    write_file_atomically(path, damaged);
    CHECK_THROWS_WITH(truncate_events_after(folder.path, 1), Catch::Contains("damaged"));
    CHECK(read_file(path) == damaged);
  }
  write_file_atomically(path, record_of("\x0a\xff\xff\xff\xff\x0fshort"));
  CHECK_THROWS_WITH(truncate_events_after(folder.path, 1), Catch::Contains("ends too early"));
  CHECK_NOTHROW(truncate_events_after(folder.path / "missing", 1));
}
