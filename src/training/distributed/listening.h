// Where process 0 listens for the others: at the address that MASTER_ADDR means, and nowhere else.
// A store that listens on all interfaces talks to the whole network.
#pragma once

#include <cstdint>
#include <string>

namespace roformer {

struct ListeningPlace {
  int descriptor = -1;  // of a socket that listens; -1: all interfaces, nothing is opened yet
  std::string address;  // in figures; empty for all interfaces
  std::string remark;   // why all interfaces; "" where nobody needs to know
};

// `host` as MASTER_ADDR says it; `others_elsewhere`: processes of other machines have to come
// here. Throws Error (failure) where another program listens there already.
ListeningPlace listen_at(const std::string& host, std::int64_t port, bool others_elsewhere);

// From now on nobody gets a new connection to what this process listens at; those that there are
// stay. Nothing happens where the system cannot do that.
void close_to_newcomers();

// Lets this process have as many open files as the system allows it: connections of strangers then
// leave enough for its own.
void allow_many_descriptors();

}  // namespace roformer
