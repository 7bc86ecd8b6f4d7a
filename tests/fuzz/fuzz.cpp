// A program of libFuzzer's for the reader that ROFORMER_FUZZED names.
#include <algorithm>
#include <iterator>

#include ROFORMER_FUZZ_HEADER

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace roformer::fuzz;
  const auto* const reader = std::find_if(
      std::begin(kReaders), std::end(kReaders),
      [](const Reader& known) { return std::string_view(known.name) == ROFORMER_FUZZED; });
  accepts(*reader, {reinterpret_cast<const char*>(data), size});
  return 0;
}
