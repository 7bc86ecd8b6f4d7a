// Where process 0 listens for the others. It listens only at the address of MASTER_ADDR, since a
// store that listens on all interfaces talks to the whole network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace roformer {

struct ListeningPlace {
  int descriptor = -1;  // a listening socket; -1: all interfaces, nothing is opened yet
  std::string address;  // numeric; empty for all interfaces
  std::string remark;   // why all interfaces; "" if the user need not know
};

// `host`: the value of MASTER_ADDR; `others_elsewhere`: processes of other machines have to
// connect. Throws Error (failure) if another program already listens there.
ListeningPlace listen_at(const std::string& host, std::int64_t port, bool others_elsewhere);

// Drops new connections to this process's listening sockets from now on; existing ones stay. Does
// nothing if the system cannot do that.
void close_to_newcomers();

// Raises the limit of open files as far as the system allows, so that connections of strangers
// leave enough for our own.
void allow_many_descriptors();

// This machine's numeric address from which it would reach `host`. Empty if it cannot reach it.
// (The machine's name often leads to an address that only the machine itself can reach.)
std::optional<std::string> address_towards(const std::string& host);

}  // namespace roformer
