# Completion scripts and manual pages: the program writes them from its help into build/share, where
# `roformer completion` reads them, and they are installed from there.
set(completion_stamp "${PROJECT_BINARY_DIR}/share/written")
set(ROFORMER_SHARE_FOLDER "${PROJECT_BINARY_DIR}/share")
if(NOT ROFORMER_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_custom_command(OUTPUT "${completion_stamp}"
    COMMAND roformer-torch completion --share "${ROFORMER_SHARE_FOLDER}"
    COMMAND ${CMAKE_COMMAND} -E touch "${completion_stamp}"
    DEPENDS roformer-torch
    COMMENT "Writing completion scripts and manual pages")
  add_custom_target(roformer_completions ALL DEPENDS "${completion_stamp}")
  add_dependencies(roformer roformer_completions)
  foreach(folder man/man1 bash-completion/completions zsh/site-functions fish/vendor_completions.d)
    install(DIRECTORY "${ROFORMER_SHARE_FOLDER}/${folder}/" DESTINATION "${CMAKE_INSTALL_DATADIR}/${folder}")
  endforeach()
endif()
