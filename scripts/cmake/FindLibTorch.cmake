# Finds LibTorch inside a PyPI wheel or an unpacked libtorch folder and defines LibTorch::cpu. Torch's own CMake package demands a complete
# CUDA toolkit even for a CPU build, hence this module.
#
# Looks in LIBTORCH_ROOT (-D or environment), then in .venv of the source tree, then in the package torch of the Python that
# builds a package of this project. Where the headers of CUDA
# and NCCL are, too (packages of the wheel, or a toolkit), LIBTORCH_CUDA_FOUND is set and LibTorch::cuda
# defined, for a library that is opened beside LibTorch's GPU half.
set(LIBTORCH_ROOT "$ENV{LIBTORCH_ROOT}" CACHE PATH "Folder that holds include/ and lib/ of LibTorch")
file(GLOB _libtorch_venv "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
set(_libtorch_package "")
if(NOT LIBTORCH_ROOT AND NOT _libtorch_venv AND NOT LIBTORCH_INCLUDE_DIR)
  set(_libtorch_python python3)
  if(PYTHON_EXECUTABLE)  # set by scikit-build-core
    set(_libtorch_python "${PYTHON_EXECUTABLE}")
  endif()
  execute_process(COMMAND "${_libtorch_python}" -c
    "import importlib.util; print(importlib.util.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE _libtorch_package OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
find_path(LIBTORCH_INCLUDE_DIR ATen/ATen.h
          HINTS "${LIBTORCH_ROOT}/include" NO_DEFAULT_PATH
          PATHS ${_libtorch_venv} ${_libtorch_package} PATH_SUFFIXES include)
get_filename_component(_libtorch_root "${LIBTORCH_INCLUDE_DIR}" DIRECTORY)
set(LIBTORCH_LIBRARY_DIR "${_libtorch_root}/lib")
foreach(name c10 torch_cpu)
  find_library(LIBTORCH_${name}_LIBRARY ${name} PATHS "${LIBTORCH_LIBRARY_DIR}" NO_DEFAULT_PATH)
  mark_as_advanced(LIBTORCH_${name}_LIBRARY)
endforeach()

# The other libraries that a copy of LibTorch needs; wheels have NVIDIA's in separate packages.
file(GLOB LIBTORCH_RUNTIME_LIBRARIES "${LIBTORCH_LIBRARY_DIR}/libgomp*.so*"
     "${_libtorch_root}/../nvidia/cu*/lib/libcupti.so.*" "${_libtorch_root}/../nvidia/cu*/lib/libcudart.so.*")
list(APPEND LIBTORCH_RUNTIME_LIBRARIES "${LIBTORCH_c10_LIBRARY}" "${LIBTORCH_torch_cpu_LIBRARY}")

# LibTorch's parallel loops are templates, which are loops of one thread where they are compiled without
# OpenMP. Its own copy of the runtime has to be the only one in the process.
file(GLOB LIBTORCH_OPENMP_LIBRARY "${LIBTORCH_LIBRARY_DIR}/libgomp*.so*" "${LIBTORCH_LIBRARY_DIR}/libiomp5*.so")

set(LibTorch_VERSION "")
foreach(part MAJOR MINOR PATCH)
  if(NOT LIBTORCH_INCLUDE_DIR)
    break()
  endif()
  file(STRINGS "${_libtorch_root}/include/torch/headeronly/version.h" _line
       REGEX "define TORCH_VERSION_${part} [0-9]+")
  string(REGEX REPLACE ".* ([0-9]+)$" "\\1" _number "${_line}")
  list(APPEND LibTorch_VERSION "${_number}")
endforeach()
string(REPLACE ";" "." LibTorch_VERSION "${LibTorch_VERSION}")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LIBTORCH_torch_cpu_LIBRARY LIBTORCH_c10_LIBRARY LIBTORCH_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "Run scripts/bootstrap, or give -DLIBTORCH_ROOT=FOLDER of an unpacked LibTorch.")

if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  add_library(LibTorch::cpu INTERFACE IMPORTED)
  # Torch's folder carries a newer fmt than the system's spdlog was built with; searched last, it
  # cannot shadow it.
  target_compile_options(LibTorch::cpu INTERFACE
    "SHELL:-idirafter \"${LIBTORCH_INCLUDE_DIR}\""
    "SHELL:-idirafter \"${LIBTORCH_INCLUDE_DIR}/torch/csrc/api/include\"")
  # One header an operator: without it ATen/TensorOperators.h pulls in every operator there is.
  target_compile_definitions(LibTorch::cpu INTERFACE AT_PER_OPERATOR_HEADERS)
  target_link_libraries(LibTorch::cpu INTERFACE
    "${LIBTORCH_torch_cpu_LIBRARY}" "${LIBTORCH_c10_LIBRARY}")
  if(ROFORMER_SANITIZE MATCHES "thread")
    # The runtime's waiting is unknown to the sanitizer, which would call every loop a race.
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND LIBTORCH_OPENMP_LIBRARY)
    target_compile_options(LibTorch::cpu INTERFACE -fopenmp)
    target_link_libraries(LibTorch::cpu INTERFACE ${LIBTORCH_OPENMP_LIBRARY})
  else()
    message(WARNING "No OpenMP of GCC's kind beside LibTorch, or another compiler: the program's own loops take one thread.")
  endif()
endif()

file(GLOB _libtorch_nvidia "${_libtorch_root}/../nvidia/*/include")
# Those of the wheel first: of LibTorch's own version, which the system's need not be.
foreach(_header NCCL:nccl.h CUDA:cusolverDn.h)
  string(REPLACE ":" ";" _header ${_header})
  list(GET _header 0 _part)
  list(GET _header 1 _name)
  find_path(LIBTORCH_${_part}_INCLUDE_DIR ${_name} PATHS ${_libtorch_nvidia} NO_DEFAULT_PATH)
  find_path(LIBTORCH_${_part}_INCLUDE_DIR ${_name} PATHS /usr/local/cuda/include)
endforeach()
find_library(LIBTORCH_torch_cuda_LIBRARY torch_cuda PATHS "${LIBTORCH_LIBRARY_DIR}" NO_DEFAULT_PATH)
find_library(LIBTORCH_c10_cuda_LIBRARY c10_cuda PATHS "${LIBTORCH_LIBRARY_DIR}" NO_DEFAULT_PATH)
mark_as_advanced(LIBTORCH_NCCL_INCLUDE_DIR LIBTORCH_CUDA_INCLUDE_DIR LIBTORCH_torch_cuda_LIBRARY
                 LIBTORCH_c10_cuda_LIBRARY)
set(LIBTORCH_CUDA_FOUND FALSE)
if(LibTorch_FOUND AND LIBTORCH_NCCL_INCLUDE_DIR AND LIBTORCH_CUDA_INCLUDE_DIR AND LIBTORCH_torch_cuda_LIBRARY)
  set(LIBTORCH_CUDA_FOUND TRUE)
  if(NOT TARGET LibTorch::cuda)
    add_library(LibTorch::cuda INTERFACE IMPORTED)
    target_include_directories(LibTorch::cuda INTERFACE
      "${LIBTORCH_CUDA_INCLUDE_DIR}" "${LIBTORCH_NCCL_INCLUDE_DIR}")
    target_compile_definitions(LibTorch::cuda INTERFACE USE_DISTRIBUTED USE_C10D_NCCL USE_CUDA)
    # The libraries that LibTorch's GPU half needs are found when it is opened.
    target_link_options(LibTorch::cuda INTERFACE -Wl,--unresolved-symbols=ignore-in-shared-libs)
    target_link_libraries(LibTorch::cuda INTERFACE
      "${LIBTORCH_torch_cuda_LIBRARY}" "${LIBTORCH_c10_cuda_LIBRARY}" LibTorch::cpu)
  endif()
endif()
