// The parts of the C++ library and of c10 that kernels use, for the run-time compiler, which has neither:
// this file replaces each of their headers.
#ifndef ROFORMER_DEVICE_LIBRARY
#define ROFORMER_DEVICE_LIBRARY

namespace std {

using size_t = decltype(sizeof(0));
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;

template <bool condition, typename A, typename B>
struct conditional {
  using type = A;
};
template <typename A, typename B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool condition, typename A, typename B>
using conditional_t = typename conditional<condition, A, B>::type;

template <typename A, typename B>
inline constexpr bool is_same_v = false;
template <typename A>
inline constexpr bool is_same_v<A, A> = true;

using ::erfc;
using ::exp;
using ::exp2;
using ::fabs;
using ::isfinite;
using ::log;
using ::memcpy;
using ::nearbyint;
using ::pow;
using ::sqrt;

}  // namespace std

namespace c10 {

struct alignas(2) BFloat16 {
  std::uint16_t x;
};

}  // namespace c10

#endif
