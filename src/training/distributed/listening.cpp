#include "training/distributed/listening.h"

#include <fmt/format.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "base/error.h"

namespace roformer {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const std::string& host, std::int64_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const bool known = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) == 0;
  return {known ? found : nullptr, ::freeaddrinfo};
}

std::string in_figures(const addrinfo& one) {
  char text[NI_MAXHOST] = {};
  ::getnameinfo(one.ai_addr, one.ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

bool is_loopback(const addrinfo& one) {
  if (one.ai_family == AF_INET) {
    const auto* const address = reinterpret_cast<const sockaddr_in*>(one.ai_addr);
    return (ntohl(address->sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
  }
  const auto* const address = reinterpret_cast<const sockaddr_in6*>(one.ai_addr);
  return one.ai_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address->sin6_addr);
}

// -1, with errno set, on failure.
int listening_socket(const addrinfo& one) {
  const int descriptor = ::socket(one.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  const int yes = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(descriptor, one.ai_addr, one.ai_addrlen) == 0 &&
      ::listen(descriptor, SOMAXCONN) == 0) {
    return descriptor;
  }
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  return -1;
}

}  // namespace

ListeningPlace listen_at(const std::string& host, std::int64_t port, bool others_elsewhere) {
  const Addresses addresses = resolve(host, port);
  std::vector<const addrinfo*> candidates;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    candidates.push_back(one);
  }
  // Many systems give their own name an address that only they can reach (127.0.1.1); other
  // machines find another of these addresses under that name, if any. "localhost" and 127.0.0.1 are
  // taken literally. IPv4 comes first, since all systems have it.
  const bool named =
      host != "localhost" && !candidates.empty() && in_figures(*candidates.front()) != host;
  if (others_elsewhere && named) {
    std::erase_if(candidates, [](const addrinfo* one) { return is_loopback(*one); });
  }
  std::ranges::stable_sort(candidates, {},
                           [](const addrinfo* one) { return one->ai_family != AF_INET; });
  for (const addrinfo* one : candidates) {
    const int descriptor = listening_socket(*one);
    if (descriptor >= 0) return {.descriptor = descriptor, .address = in_figures(*one)};
    if (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) continue;  // another machine's
    throw_failure(fmt::format("{}:{}", host, port),
                  errno == EADDRINUSE
                      ? "another program, perhaps another training run, already listens there"
                      : "process 0 cannot listen there: " + system_message(errno),
                  "set MASTER_PORT to a different free port for each run");
  }
  if (addresses == nullptr) return {};  // the connection says so
  return {.remark = fmt::format("MASTER_ADDR {} is no address of this machine that others can "
                                "reach: process 0 listens on all its interfaces",
                                host)};
}

void close_to_newcomers() {
  // Drops every packet to a listening socket before it becomes a connection. Gloo and the store own
  // these sockets and do not hand them out, so all descriptors are tried.
  sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{.len = 1, .filter = &drop};
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  constexpr rlim_t kMost = 65'536;
  const int end = static_cast<int>(std::min(limit.rlim_cur, kMost));
  for (int descriptor = 0; descriptor < end; ++descriptor) {
    int listens = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) continue;
    if (listens == 0) continue;
    ::setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
  }
}

void allow_many_descriptors() {
  constexpr rlim_t kMany = 65'536;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, kMany);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::optional<std::string> address_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "1", &hints, &found) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const int descriptor = ::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) continue;
    // Sends nothing: the kernel only chooses the route.
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    const bool known = ::connect(descriptor, one->ai_addr, one->ai_addrlen) == 0 &&
                       ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) == 0;
    ::close(descriptor);
    char text[NI_MAXHOST] = {};
    if (known && ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof text, nullptr,
                               0, NI_NUMERICHOST) == 0) {
      return text;
    }
  }
  return std::nullopt;
}

}  // namespace roformer
