# Run at every build: writes OUTPUT with the version and the commit, but only when they changed, so
# that nothing else is built again.
# cmake -DSOURCE=... -DOUTPUT=... -DVERSION=... -P version.cmake
set(COMMIT "unknown")
find_program(GIT_PROGRAM git)
if(GIT_PROGRAM)
  execute_process(COMMAND "${GIT_PROGRAM}" --no-optional-locks -C "${SOURCE}"
                          describe --always --dirty --abbrev=12 --exclude=*
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                  RESULT_VARIABLE failed)
  if(NOT failed)
    set(COMMIT "${described}")
  endif()
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/version.cpp.in" "${OUTPUT}" @ONLY)
