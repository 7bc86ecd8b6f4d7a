# Run at every build: writes OUTPUT with the version and the commit, but only when they changed, so
# that nothing else is built again.
# cmake -DSOURCE=... -DOUTPUT=... -DVERSION=... -P version.cmake
set(COMMIT "unknown")
set(VERSION_AND_COMMIT "${VERSION}")
find_program(GIT_PROGRAM git)
if(GIT_PROGRAM)
  # Unpacked sources without a repository do not take the commit of one that holds their folder.
  cmake_path(GET SOURCE PARENT_PATH above)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env "GIT_CEILING_DIRECTORIES=${above}"
                          "${GIT_PROGRAM}" --no-optional-locks -C "${SOURCE}"
                          describe --tags --long "--match=v[0-9]*" --always --dirty --abbrev=12
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                  RESULT_VARIABLE failed)
  if(NOT failed)
    set(COMMIT "${described}")
    set(VERSION_AND_COMMIT "${VERSION} (${COMMIT})")
  endif()
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/version.cpp.in" "${OUTPUT}" @ONLY)
