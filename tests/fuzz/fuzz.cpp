// A program of libFuzzer's for the readers of one header; the environment variable READER names
// one.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include ROFORMER_FUZZ_HEADER

namespace {

using namespace roformer::fuzz;

const Reader& named_reader() {
  const char* const name = std::getenv("READER");
  for (const Reader& reader : kReaders) {
    if (name != nullptr && reader.name == std::string_view(name)) return reader;
  }
  std::fputs("READER must name one of these:", stderr);
  for (const Reader& reader : kReaders) std::fprintf(stderr, " %s", reader.name);
  std::fputs("\n", stderr);
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Reader& reader = named_reader();
  accepts(reader, {reinterpret_cast<const char*>(data), size});
  return 0;
}
