// A library that is preloaded into the program (LD_PRELOAD) and lets a chosen system call fail,
// stop half-way or be the process's last. It counts the calls that change or read files of the
// user's, not those of standard input, output and error, and not what the C library calls inside
// itself.
//
//   FAULT_CALLS   names with commas between: write,fsync,rename,unlink,mkdir,read,open,ftruncate
//   FAULT_AT      the number of the call, from 1, over all these names; 0: none
//   FAULT_ACTION  kill (before the call), killed (after it), ENOSPC or EIO (from that call on),
//                 EINTR (every second call from there on), short (each call from there on moves
//                 half of its bytes)
//   FAULT_FLOCK   the number of the error that flock answers with: a file system without locks
//   FAULT_COUNT   a file to which the number of calls is written at the end
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>

namespace {

enum class Action { none, kill, killed, error, interrupt, shorten };

struct Plan {
  const char* calls = nullptr;
  long at = 0;
  Action action = Action::none;
  int error_number = 0;
  const char* count_file = nullptr;
};

std::atomic<long> counter{0};

Plan read_plan() {
  Plan plan;
  plan.calls = getenv("FAULT_CALLS");
  if (const char* at = getenv("FAULT_AT")) plan.at = atol(at);
  plan.count_file = getenv("FAULT_COUNT");
  const char* action = getenv("FAULT_ACTION");
  if (action == nullptr) return plan;
  if (strcmp(action, "kill") == 0) plan.action = Action::kill;
  if (strcmp(action, "killed") == 0) plan.action = Action::killed;
  if (strcmp(action, "EINTR") == 0) plan.action = Action::interrupt;
  if (strcmp(action, "short") == 0) plan.action = Action::shorten;
  if (strcmp(action, "ENOSPC") == 0)
    plan = {plan.calls, plan.at, Action::error, ENOSPC, plan.count_file};
  if (strcmp(action, "EIO") == 0) plan = {plan.calls, plan.at, Action::error, EIO, plan.count_file};
  return plan;
}

const Plan& plan() {
  static const Plan read = read_plan();
  return read;
}

struct AtEnd {
  ~AtEnd() {
    if (plan().count_file == nullptr) return;
    const long descriptor =
        syscall(SYS_openat, AT_FDCWD, plan().count_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    char text[32];
    const int length = snprintf(text, sizeof text, "%ld\n", counter.load());
    syscall(SYS_write, descriptor, text, static_cast<size_t>(length));
    syscall(SYS_close, descriptor);
  }
} at_end;

bool is_watched(const char* name) {
  if (plan().calls == nullptr) return false;
  const size_t length = strlen(name);
  for (const char* found = strstr(plan().calls, name); found != nullptr;
       found = strstr(found + 1, name)) {
    const bool begins = found == plan().calls || found[-1] == ',';
    if (begins && (found[length] == ',' || found[length] == '\0')) return true;
  }
  return false;
}

// A file that lies on a disk: not what the kernel itself answers (/proc, /sys), by which LibTorch
// looks for the processor's instructions.
bool is_file(int descriptor) {
  struct stat status;
  struct statfs system;
  return descriptor > 2 && fstat(descriptor, &status) == 0 &&
         (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) &&
         fstatfs(descriptor, &system) == 0 && system.f_type != PROC_SUPER_MAGIC &&
         system.f_type != SYSFS_MAGIC;
}

// What becomes of this call; kill does not return.
Action next(const char* name) {
  if (!is_watched(name)) return Action::none;
  const long number = ++counter;
  if (plan().at <= 0 || number < plan().at) return Action::none;
  switch (plan().action) {
    case Action::kill:
      if (number == plan().at) raise(SIGKILL);
      return Action::none;
    case Action::killed:
      return number == plan().at ? Action::killed : Action::none;
    case Action::interrupt:
      return (number - plan().at) % 2 == 0 ? Action::interrupt : Action::none;
    default:
      return plan().action;
  }
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// A call without bytes to shorten.
template <typename Call>
int simple(const char* name, Call call) {
  const Action action = next(name);
  if (action == Action::error) {
    errno = plan().error_number;
    return -1;
  }
  const int result = call();
  if (action == Action::killed) raise(SIGKILL);
  return result;
}

template <typename Call>
ssize_t transfer(const char* name, int descriptor, size_t bytes, Call call) {
  const Action action = is_file(descriptor) ? next(name) : Action::none;
  if (action == Action::error || action == Action::interrupt) {
    errno = action == Action::error ? plan().error_number : EINTR;
    return -1;
  }
  if (action == Action::killed && bytes > 1) bytes /= 2;  // torn
  if (action == Action::shorten && bytes > 1) bytes = (bytes + 1) / 2;
  const ssize_t result = call(bytes);
  if (action == Action::killed) raise(SIGKILL);
  return result;
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, size_t bytes) {
  static const auto call = real<ssize_t (*)(int, const void*, size_t)>("write");
  return transfer("write", descriptor, bytes, [&](size_t n) { return call(descriptor, data, n); });
}

ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off64_t offset) {
  static const auto call = real<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  return transfer("write", descriptor, bytes,
                  [&](size_t n) { return call(descriptor, data, n, offset); });
}

ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  return pwrite64(descriptor, data, bytes, offset);
}

ssize_t read(int descriptor, void* data, size_t bytes) {
  static const auto call = real<ssize_t (*)(int, void*, size_t)>("read");
  return transfer("read", descriptor, bytes, [&](size_t n) { return call(descriptor, data, n); });
}

int fsync(int descriptor) {
  static const auto call = real<int (*)(int)>("fsync");
  return simple("fsync", [&] { return call(descriptor); });
}

int ftruncate64(int descriptor, off64_t size) {
  static const auto call = real<int (*)(int, off64_t)>("ftruncate64");
  return simple("ftruncate", [&] { return call(descriptor, size); });
}

int ftruncate(int descriptor, off_t size) {
  return ftruncate64(descriptor, size);
}

int rename(const char* from, const char* to) {
  static const auto call = real<int (*)(const char*, const char*)>("rename");
  return simple("rename", [&] { return call(from, to); });
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  static const auto call = real<int (*)(int, const char*, int, const char*)>("renameat");
  return simple("rename", [&] { return call(from_folder, from, to_folder, to); });
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  static const auto call = real<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  if (getenv("FAULT_NO_EXCHANGE") != nullptr) {  // an older file system
    errno = EINVAL;
    return -1;
  }
  return simple("rename", [&] { return call(from_folder, from, to_folder, to, flags); });
}

int unlink(const char* path) noexcept {
  static const auto call = real<int (*)(const char*)>("unlink");
  return simple("unlink", [&] { return call(path); });
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  static const auto call = real<int (*)(int, const char*, int)>("unlinkat");
  return simple("unlink", [&] { return call(folder, path, flags); });
}

int rmdir(const char* path) noexcept {
  static const auto call = real<int (*)(const char*)>("rmdir");
  return simple("unlink", [&] { return call(path); });
}

int remove(const char* path) noexcept {
  static const auto call = real<int (*)(const char*)>("remove");
  return simple("unlink", [&] { return call(path); });
}

int mkdir(const char* path, mode_t mode) noexcept {
  static const auto call = real<int (*)(const char*, mode_t)>("mkdir");
  return simple("mkdir", [&] { return call(path, mode); });
}

int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  static const auto call = real<int (*)(int, const char*, mode_t)>("mkdirat");
  return simple("mkdir", [&] { return call(folder, path, mode); });
}

int flock(int descriptor, int operation) noexcept {
  static const auto call = real<int (*)(int, int)>("flock");
  const char* const error = getenv("FAULT_FLOCK");
  if (error == nullptr) return call(descriptor, operation);
  errno = atoi(error);
  return -1;
}

int openat64(int folder, const char* path, int flags, ...) {
  static const auto call = real<int (*)(int, const char*, int, ...)>("openat64");
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return (flags & O_CREAT) ? simple("open", [&] { return call(folder, path, flags, mode); })
                           : call(folder, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return openat64(folder, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  static const auto call = real<int (*)(const char*, int, ...)>("open64");
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return (flags & O_CREAT) ? simple("open", [&] { return call(path, flags, mode); })
                           : call(path, flags, mode);
}

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return open64(path, flags, mode);
}

}  // extern "C"
