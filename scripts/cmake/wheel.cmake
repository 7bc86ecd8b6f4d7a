# Run when the component `wheel` is installed: makes an installed tree one of a Python package, which runs
# on systems that have no other library than those of glibc, GCC and the package torch.
#   private, share: the folders libexec/roformer and share/roformer that are installed
#   programs: those whose libraries are copied; libtorch_of_wheel: where they find LibTorch, from private
cmake_minimum_required(VERSION 3.25)

# The libraries of every Linux system of this glibc or a newer one (PEP 600 lists them), and LibTorch's.
set(of_the_system "^(ld-linux.*|lib(c|m|rt|dl|util|pthread|gcc_s|stdc\\+\\+)\\.so.*)")
set(of_libtorch "^lib(torch|c10|gomp|cu[a-z]+|nvrtc|mkl).*")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} RESOLVED_DEPENDENCIES_VAR libraries
     PRE_EXCLUDE_REGEXES "${of_the_system}" "${of_libtorch}")
file(REMOVE_RECURSE "${private}/lib")
file(MAKE_DIRECTORY "${private}/lib" "${share}/licences")
foreach(library IN LISTS libraries)
  cmake_path(GET library FILENAME name)
  file(REAL_PATH "${library}" file)
  file(COPY_FILE "${file}" "${private}/lib/${name}")
  # Their licences, where the system's packages say them. (Packages name /lib or /usr/lib, which are one.)
  cmake_path(GET file FILENAME file_name)
  execute_process(COMMAND dpkg-query --search "*/${file_name}" OUTPUT_VARIABLE owner ERROR_QUIET)
  string(REGEX MATCH "^[^:,]+" package "${owner}")
  if(package AND EXISTS "/usr/share/doc/${package}/copyright")
    file(REAL_PATH "/usr/share/doc/${package}/copyright" licence)
    file(COPY_FILE "${licence}" "${share}/licences/${package}")
  endif()
endforeach()

# ICU's data are 31 MB, of which locales and collations are nearly all. The programs and libxml2 use
# normal forms, names of characters, converters and the scripts of languages; the rest of ICU that they
# use is code.
find_program(ICUPKG icupkg PATHS /usr/sbin)
find_program(OBJCOPY objcopy)
file(GLOB icu_data "${private}/lib/libicudata.so.*")
if(ICUPKG AND OBJCOPY AND icu_data)
  cmake_path(GET icu_data FILENAME soname)
  string(REGEX MATCH "[0-9]+$" number "${soname}")
  set(work "${private}/lib/icu")
  set(data "${work}/icudt${number}l.dat")
  file(MAKE_DIRECTORY "${work}")
  execute_process(COMMAND "${OBJCOPY}" -O binary --only-section=.rodata "${icu_data}" "${data}"
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${ICUPKG}" --auto_toc_prefix -l "${data}" OUTPUT_VARIABLE items
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "\n+" ";" items "${items}")
  list(FILTER items EXCLUDE REGEX "^([a-z0-9_.-]+\\.(cnv|icu|nrm)|likelySubtags\\.res|)$")
  list(JOIN items "\n" items)
  file(WRITE "${work}/removed.txt" "${items}\n")
  execute_process(COMMAND "${ICUPKG}" --auto_toc_prefix --ignore-deps -r "${work}/removed.txt" "${data}"
                          "${work}/kept.dat" COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE "${work}/data.s" ".section .rodata\n.balign 16\n.globl icudt${number}_dat\n\
.type icudt${number}_dat, @object\nicudt${number}_dat: .incbin \"${work}/kept.dat\"\n\
.size icudt${number}_dat, . - icudt${number}_dat\n.section .note.GNU-stack, \"\", @progbits\n")
  execute_process(COMMAND "${compiler}" -shared -nostdlib "-Wl,-soname,${soname}" -o "${icu_data}" "${work}/data.s"
                  COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE "${work}")
endif()

foreach(file roformer-torch libroformer_cuda.so)
  if(EXISTS "${private}/${file}")
    file(RPATH_CHANGE FILE "${private}/${file}" OLD_RPATH "$ORIGIN:$ORIGIN/lib:$ORIGIN/libtorch"
         NEW_RPATH "$ORIGIN:$ORIGIN/lib:$ORIGIN/${libtorch_of_wheel}")
  endif()
endforeach()
