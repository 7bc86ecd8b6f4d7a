#include "tensor/gpu/driver.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"

namespace roformer::gpu {
namespace {

using Result = int;  // of NVIDIA's libraries, 0: done

// Fills function pointers with a library's functions. If one is missing, it is the reason why the
// library cannot be used.
struct FunctionFinder {
  void* library;
  const char* owner;  // "NVRTC"
  std::string& reason;

  template <typename Function>
  void operator()(Function& function, const char* name) const {
    void* const symbol = dlsym(library, name);
    if (symbol == nullptr && reason.empty()) reason = fmt::format("{} has no {}", owner, name);
    function = reinterpret_cast<Function>(symbol);
  }
};

// NVRTC's interface (nvrtc.h of CUDA 12 and 13, which only a toolkit contains).
using Program = struct OpaqueProgram*;

struct Nvrtc {
  std::string reason;  // why there is none
  Result (*version)(int* major, int* minor) = nullptr;
  Result (*create)(Program*, const char* source, const char* name, int headers,
                   const char* const* texts, const char* const* names) = nullptr;
  Result (*destroy)(Program*) = nullptr;
  Result (*add_expression)(Program, const char* expression) = nullptr;
  Result (*compile)(Program, int options, const char* const* values) = nullptr;
  Result (*log_size)(Program, std::size_t*) = nullptr;
  Result (*log)(Program, char*) = nullptr;
  Result (*image_size)(Program, std::size_t*) = nullptr;
  Result (*image)(Program, char*) = nullptr;
  Result (*lowered_name)(Program, const char* expression, const char** symbol) = nullptr;
  const char* (*error_text)(Result) = nullptr;
};

// PyTorch's wheels beside LibTorch come first, then the system's, which may be too old for the GPU.
std::vector<std::string> nvrtc_paths() {
  std::vector<std::string> paths;
  Dl_info library = {};
  if (dladdr(reinterpret_cast<const void*>(&at::globalContext), &library) != 0) {
    const auto packages =
        std::filesystem::path(library.dli_fname).parent_path() / ".." / ".." / "nvidia";
    paths.push_back(packages / "cu13" / "lib" / "libnvrtc.so.13");
    paths.push_back(packages / "cuda_nvrtc" / "lib" / "libnvrtc.so.12");
  }
  paths.insert(paths.end(), {"libnvrtc.so.13", "libnvrtc.so.12"});
  return paths;
}

// NVRTC opens a second library by name alone, which works if that library is already open.
void open_builtins_beside(const std::filesystem::path& library) {
  if (!library.has_parent_path()) return;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(library.parent_path(), error)) {
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so.")) {
      dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    }
  }
}

Nvrtc open_nvrtc() {
  Nvrtc found;
  void* library = nullptr;
  for (const std::string& path : nvrtc_paths()) {
    open_builtins_beside(path);
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    found.reason =
        "NVRTC (libnvrtc.so.13 or .12) is neither where the system looks for libraries nor beside "
        "LibTorch";
    return found;
  }
  const FunctionFinder find{library, "NVRTC", found.reason};
  find(found.version, "nvrtcVersion");
  find(found.create, "nvrtcCreateProgram");
  find(found.destroy, "nvrtcDestroyProgram");
  find(found.add_expression, "nvrtcAddNameExpression");
  find(found.compile, "nvrtcCompileProgram");
  find(found.log_size, "nvrtcGetProgramLogSize");
  find(found.log, "nvrtcGetProgramLog");
  find(found.image_size, "nvrtcGetCUBINSize");
  find(found.image, "nvrtcGetCUBIN");
  find(found.lowered_name, "nvrtcGetLoweredName");
  find(found.error_text, "nvrtcGetErrorString");
  return found;
}

const Nvrtc& nvrtc() {
  static const Nvrtc opened = open_nvrtc();
  return opened;
}

// Headers that the run-time compiler lacks; sources/device_library.h replaces each.
constexpr std::array kLibraryHeaders = {"cmath", "cstdint", "cstring", "type_traits",
                                        "c10/util/BFloat16.h"};
constexpr const char* kLibrary = "tensor/gpu/sources/device_library.h";

constexpr const char* kPreamble =
    "#define ROFORMER_KERNELS_NAMESPACE device\n"
    "#define ROFORMER_GPU\n"
    "#define ROFORMER_INLINE __device__ __forceinline__\n";

const SourceFile& source_file(std::string_view name) {
  for (const SourceFile& file : source_files()) {
    if (file.name == name) return file;
  }
  assertion_failed("a source of that name", __FILE__, __LINE__);
}

// A hash of all that affects the result besides the names of kernel and architecture.
std::uint64_t hash_of_sources() {
  static const std::uint64_t hash = [] {
    std::string all = kPreamble + compiler_version();
    for (const SourceFile& file : source_files()) all.append(file.name).append(file.text);
    return XXH3_64bits(all.data(), all.size());
  }();
  return hash;
}

// The file's content: a checksum of the rest, the symbol, a line end, the image.
std::string with_checksum(const CompiledKernel& kernel) {
  const std::string rest = kernel.symbol + "\n" + kernel.image;
  return hexadecimal(XXH3_64bits(rest.data(), rest.size())) + rest;
}

bool read_kernel(const std::string& text, CompiledKernel& kernel) {
  constexpr std::size_t kDigits = 16;
  if (text.size() < kDigits) return false;
  const std::string_view rest = std::string_view(text).substr(kDigits);
  if (text.substr(0, kDigits) != hexadecimal(XXH3_64bits(rest.data(), rest.size()))) return false;
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) return false;
  kernel = {.image = std::string(rest.substr(end + 1)), .symbol = std::string(rest.substr(0, end))};
  return true;
}

}  // namespace

const std::string& reason_against_compiler() {
  return nvrtc().reason;
}

std::string compiler_version() {
  int major = 0, minor = 0;
  nvrtc().version(&major, &minor);
  return fmt::format("{}.{}", major, minor);
}

CompiledKernel compile_kernel(const std::string& source, const std::string& kernel,
                              const std::string& architecture) {
  const Nvrtc& library = nvrtc();
  if (!library.reason.empty()) throw_failure("", library.reason);
  std::vector<const char*> texts, names;
  for (const SourceFile& file : source_files()) {
    texts.push_back(file.text.data());
    names.push_back(file.name.data());
  }
  for (const char* name : kLibraryHeaders) {
    texts.push_back(source_file(kLibrary).text.data());
    names.push_back(name);
  }
  const std::string name = fmt::format("tensor/gpu/sources/{}.cu", source);
  const std::string text = kPreamble + std::string(source_file(name).text);
  const std::string expression = "roformer::kernels::device::" + kernel;
  Program program = nullptr;
  const auto must = [&](Result result) {
    if (result != 0) throw_failure(name, fmt::format("NVRTC: {}", library.error_text(result)));
  };
  must(library.create(&program, text.c_str(), name.c_str(), static_cast<int>(texts.size()),
                      texts.data(), names.data()));
  must(library.add_expression(program, expression.c_str()));
  const std::string target = "--gpu-architecture=" + architecture;
  // kernels.h also declares functions of the host.
  const std::array options = {target.c_str(), "--std=c++20", "--device-as-default-execution-space"};
  if (library.compile(program, static_cast<int>(options.size()), options.data()) != 0) {
    std::size_t size = 0;
    must(library.log_size(program, &size));
    std::string log(size, '\0');
    must(library.log(program, log.data()));
    library.destroy(&program);
    throw_failure(
        name, fmt::format("{} for {} cannot be compiled: {}", kernel, architecture, log.c_str()));
  }
  const char* symbol = nullptr;
  must(library.lowered_name(program, expression.c_str(), &symbol));
  std::size_t size = 0;
  must(library.image_size(program, &size));
  CompiledKernel compiled{.image = std::string(size, '\0'), .symbol = symbol};
  must(library.image(program, compiled.image.data()));
  library.destroy(&program);
  return compiled;
}

CompiledKernel compiled_kernel(const std::string& source, const std::string& kernel,
                               const std::string& architecture,
                               const std::filesystem::path& folder) {
  if (folder.empty()) return compile_kernel(source, kernel, architecture);
  const std::string key = source + "/" + kernel;
  const auto file = folder / fmt::format("{}-{}-{}", architecture, hexadecimal(hash_of_sources()),
                                         hexadecimal(XXH3_64bits(key.data(), key.size())));
  CompiledKernel found;
  try {
    if (std::filesystem::exists(file) && read_kernel(read_file(file), found)) return found;
  } catch (const Error&) {  // as if it were not there
  } catch (const std::filesystem::filesystem_error&) {
  }
  found = compile_kernel(source, kernel, architecture);
  try {
    make_directories(folder);
    write_file_atomically(file, with_checksum(found));
  } catch (const Error&) {  // compiled again the next time
  }
  return found;
}

std::filesystem::path kernel_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::filesystem::path(cache) / "roformer" / "kernels";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return std::filesystem::path(home) / ".cache" / "roformer" / "kernels";
  }
  return {};
}

namespace {

// The driver's interface (cuda.h, which only a toolkit contains).
using Context = void*;
using Module = void*;
using StreamHandle = void*;

constexpr int kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76;
constexpr int kMostDynamicSharedBytes = 8;  // an attribute of functions

struct Driver {
  std::string reason;  // why there is none
  Result (*start)(unsigned flags) = nullptr;
  Result (*error_text)(Result, const char**) = nullptr;
  Result (*count)(int* devices) = nullptr;
  Result (*name)(char* text, int size, int device) = nullptr;
  Result (*identity)(void* sixteen_bytes, int device) = nullptr;
  Result (*attribute)(int* value, int attribute, int device) = nullptr;
  Result (*current_context)(Context*) = nullptr;
  Result (*set_context)(Context) = nullptr;
  Result (*primary_context)(Context*, int device) = nullptr;
  Result (*load_module)(Module*, const void* image) = nullptr;
  Result (*find_function)(Function*, Module, const char* symbol) = nullptr;
  Result (*set_attribute)(Function, int attribute, int value) = nullptr;
  Result (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned shared_bytes, StreamHandle, void** values, void** extra) = nullptr;
};

Driver open_driver() {
  Driver found;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    found.reason = std::string("NVIDIA's driver cannot be opened: ") + dlerror();
    return found;
  }
  const FunctionFinder find{library, "NVIDIA's driver", found.reason};
  find(found.start, "cuInit");
  find(found.error_text, "cuGetErrorString");
  find(found.count, "cuDeviceGetCount");
  find(found.name, "cuDeviceGetName");
  find(found.identity, "cuDeviceGetUuid_v2");
  find(found.attribute, "cuDeviceGetAttribute");
  find(found.current_context, "cuCtxGetCurrent");
  find(found.set_context, "cuCtxSetCurrent");
  find(found.primary_context, "cuDevicePrimaryCtxRetain");
  find(found.load_module, "cuModuleLoadData");
  find(found.find_function, "cuModuleGetFunction");
  find(found.set_attribute, "cuFuncSetAttribute");
  find(found.launch, "cuLaunchKernel");
  if (found.reason.empty() && found.start(0) != 0) found.reason = "NVIDIA's driver cannot start";
  return found;
}

const Driver& driver() {
  static const Driver opened = open_driver();
  return opened;
}

void must(Result result, const char* what) {
  if (result == 0) return;
  const char* text = nullptr;
  driver().error_text(result, &text);
  throw_failure("GPU", fmt::format("{}: {}", what, text == nullptr ? "unknown error" : text));
}

// LibTorch works in each device's primary context, which a new thread does not have yet.
void enter_context(c10::Device device) {
  Context context = nullptr;
  must(driver().current_context(&context), "the current context");
  if (context != nullptr) return;
  must(driver().primary_context(&context, device.index()), "the device's context");
  must(driver().set_context(context), "entering the device's context");
}

}  // namespace

const std::string& reason_against_driver() {
  return driver().reason;
}

std::vector<std::string> card_names() {
  std::vector<std::string> names;
  int count = 0;
  if (!reason_against_driver().empty() || driver().count(&count) != 0) return names;
  for (int device = 0; device < count; ++device) {
    std::array<char, 128> name = {};
    must(driver().name(name.data(), static_cast<int>(name.size()), device), "the name of a GPU");
    names.emplace_back(name.data());
  }
  return names;
}

std::string card_identity(c10::Device device) {
  std::array<std::uint8_t, 16> bytes = {};
  must(driver().identity(bytes.data(), device.index()), "the identity of a GPU");
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

int compute_capability(c10::Device device) {
  int major = 0, minor = 0;
  must(driver().attribute(&major, kComputeCapabilityMajor, device.index()), "compute capability");
  must(driver().attribute(&minor, kComputeCapabilityMinor, device.index()), "compute capability");
  return 10 * major + minor;
}

std::string architecture_of(c10::Device device) {
  return fmt::format("sm_{}", compute_capability(device));
}

Function load_kernel(const CompiledKernel& kernel, c10::Device device) {
  enter_context(device);
  Module module = nullptr;
  must(driver().load_module(&module, kernel.image.data()), "loading a kernel");
  Function function = nullptr;
  must(driver().find_function(&function, module, kernel.symbol.c_str()), kernel.symbol.c_str());
  return function;
}

void allow_shared_memory(Function function, std::int64_t bytes) {
  must(driver().set_attribute(function, kMostDynamicSharedBytes, static_cast<int>(bytes)),
       "shared memory of a kernel");
}

void start_kernel(Function function, const Grid& grid, const void* const* values,
                  c10::Device device) {
  enter_context(device);
  const c10::impl::VirtualGuardImpl guard(device.type());
  const c10::Stream stream = guard.getStream(device);
  must(driver().launch(function, static_cast<unsigned>(grid.blocks_x),
                       static_cast<unsigned>(grid.blocks_y), 1, static_cast<unsigned>(grid.threads),
                       1, 1, static_cast<unsigned>(grid.shared_bytes),
                       guard.getStreamNativeHandle(stream), const_cast<void**>(values), nullptr),
       "starting a kernel");
}

}  // namespace roformer::gpu
