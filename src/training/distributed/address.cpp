#include "training/distributed/address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

namespace roformer {

std::optional<std::string> address_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "1", &hints, &found) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const int descriptor = ::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) continue;
    // Sends nothing: the kernel only chooses the way.
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
