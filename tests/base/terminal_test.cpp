#include "base/terminal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/progress.h"
#include "catch.h"
#include "has.h"
#include "in_terminal.h"

using namespace roformer;

namespace {

// The most columns that are taken between two line starts.
std::size_t widest(const std::string& shown) {
  std::size_t widest = 0, width = 0;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto byte = static_cast<unsigned char>(shown[i]);
    if (shown.compare(i, 3, "\x1b[K") == 0) {
      i += 2;
    } else if (byte == '\r' || byte == '\n') {
      width = 0;
    } else if ((byte & 0xc0) != 0x80) {
      widest = std::max(widest, ++width);
    }
  }
  return widest;
}

}  // namespace

TEST_CASE("a text is cut to the columns that there are") {
  CHECK(cut_to_columns("12345", 5) == "12345");
  CHECK(cut_to_columns("123456", 5) == "1234…");
  CHECK(cut_to_columns("äöüß", 3) == "äö…");
  CHECK(cut_to_columns("äöüß", 4) == "äöüß");
  CHECK(cut_to_columns("12", 1) == "…");
  CHECK(cut_to_columns("12", 0).empty());
  CHECK(cut_to_columns("旋转位置", 5) == "旋转…");
  CHECK(cut_to_columns("旋转位置", 8) == "旋转位置");
  CHECK(columns_of("e\xcc\x81") == 1);
}

TEST_CASE("a text is broken at blanks into lines that fit") {
  CHECK(wrapped("one two three", 7) == "one two\nthree");
  CHECK(wrapped("äöü äöü", 7) == "äöü äöü");
  CHECK(wrapped("unbreakable", 4) == "unbreakable");
  CHECK(wrapped("", 4).empty());
}

TEST_CASE("a status line never wraps, however narrow the terminal") {
  if (!terminals_exist()) {
    WARN("not run: no pseudo-terminals here");
    return;
  }
  for (const unsigned short columns : {80, 20, 2}) {
    CAPTURE(columns);
    const std::string shown = in_terminal(columns, [] {
      StatusLine line;
      line.show(
          "step 1,234 (56 %)  loss 4.7551  learning rate 1.00e-04  gradient 0.51  12,345 "
          "tokens/s  3m 10s left");
      line.clear();
      ProgressBar bar("preparing", 100, "B");
      bar.advance_to(50);
    });
    CHECK(has(shown, columns == 2 ? "…" : "step 1,234"));
    CHECK(widest(shown) < columns);
  }
}

TEST_CASE("a status line leaves out whole what does not fit, and cuts no number") {
  if (!terminals_exist()) {
    WARN("not run: no pseudo-terminals here");
    return;
  }
  const std::vector<std::string> parts{"step 125,000 (12 %), 10h 05m left", "loss 3.1234",
                                       "123,456 tokens/s", "learning rate 1.00e-03",
                                       "gradient 0.52"};
  const auto shown = [&](unsigned short columns) {
    return in_terminal(columns, [&] {
      StatusLine line;
      line.show(parts);
    });
  };
  CHECK(has(shown(80), "12 %), 10h 05m left  loss 3.1234  123,456 tokens/s  gradient 0.52"));
  CHECK(!has(shown(80), "…"));
  CHECK(!has(shown(80), "learning"));
  CHECK(has(shown(120), "learning rate 1.00e-03  gradient 0.52"));
  CHECK(has(shown(50), "left  loss 3.1234\r"));
}

TEST_CASE("a bar has the room that its numbers leave") {
  if (!terminals_exist()) {
    WARN("not run: no pseudo-terminals here");
    return;
  }
  const auto shown = [](const char* title) {
    return in_terminal(80, [title] {
      ProgressBar bar(title, 1'000'000, "tokens");
      bar.begin();
      ::usleep(150'000);
      bar.advance_to(500'000);
    });
  };
  for (const char* title : {"evaluating", "masking each token in turn"}) {
    const std::string line = shown(title);
    CAPTURE(line);
    CHECK(has(line, std::string(title) + "    0 %"));
    CHECK(has(line, " 50 %"));
    CHECK(has(line, "0s left"));
    CHECK(widest(line) < 80);
  }
  CHECK(has(shown("evaluating"), "[############------------]"));
}

TEST_CASE("work that says nothing of itself is shown from its second second on") {
  if (!terminals_exist()) {
    WARN("not run: no pseudo-terminals here");
    return;
  }
  const auto shown = [](unsigned seconds) {
    return in_terminal(80, [seconds] {
      const ElapsedLine elapsed("training the tokenizer");
      ::usleep(seconds * 1'000'000 + 200'000);
    });
  };
  CHECK(shown(0).empty());
  const std::string line = shown(2);
  CHECK(has(line, "training the tokenizer  2s"));
  CHECK(line.ends_with("\r\x1b[K"));
}

TEST_CASE("slow work has a rate") {
  if (!terminals_exist()) {
    WARN("not run: no pseudo-terminals here");
    return;
  }
  const std::string shown = in_terminal(80, [] {
    ProgressBar bar("evaluating", 3, "passes");
    ::usleep(500'000);
    bar.finish(1);
  });
  CHECK(has(shown, "evaluating: 1 passes in "));
  CHECK(!has(shown, "(0 passes/s)"));
  CHECK(format_counted(1, "thread") == "1 thread");
  CHECK(format_counted(1200, "thread") == "1,200 threads");
}

TEST_CASE("NO_COLOR is heeded") {
  if (!terminals_exist()) {
    WARN("not run: no pseudo-terminals here");
    return;
  }
  const auto warn = [] {
    log::initialize();
    log::warn("a warning");
  };
  ::unsetenv("NO_COLOR");
  CHECK(has(in_terminal(80, warn), "\x1b["));
  ::setenv("NO_COLOR", "1", 1);
  const std::string plain = in_terminal(80, warn);
  CHECK(has(plain, "a warning"));
  CHECK(!has(plain, "\x1b["));
  ::unsetenv("NO_COLOR");
}

TEST_CASE("progress that nobody can see any more ends no work") {
  // As after a terminal was closed: each write to standard error fails.
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int full = ::open("/dev/full", O_WRONLY);
    ::dup2(full, STDERR_FILENO);
    std::setvbuf(stderr, nullptr, _IONBF, 0);
    {
      StatusLine line(std::chrono::milliseconds(0));
      line.show("step 1");
      line.clear();
      ProgressBar bar("reading", 10, "pages");
      bar.advance_to(5);
      bar.finish(10);
    }
    ::_exit(7);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("a message erases the live line before it, from any thread") {
  if (!terminals_exist()) return;
  const std::string shown = in_terminal(80, [] {
    ::setenv("NO_COLOR", "1", 1);
    log::initialize();
    StatusLine line;
    line.show("step 12");
    log::info("one");
    log::info("two");
  });
  CHECK(has(shown, "step 12\r\x1b[Kone\r\n"));
  CHECK(has(shown, "\ntwo"));
}

TEST_CASE("a terminal that cannot rewrite a line gets neither a live line nor colours") {
  if (!terminals_exist()) return;
  const std::string shown = in_terminal(80, [] {
    ::setenv("TERM", "dumb", 1);
    log::initialize();
    log::warn("careful");
    StatusLine line;
    if (!line.is_terminal()) line.show("plain");
  });
  CHECK(shown == "careful\r\nplain\r\n");
}
