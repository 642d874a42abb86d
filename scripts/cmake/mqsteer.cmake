# What every target of the project shares: the language, warnings, sanitizers, DPDK.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS ON) # DPDK's headers use GNU extensions
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(MQSTEER_SANITIZE "" CACHE STRING "value of -fsanitize=, e.g. address,undefined")
option(MQSTEER_FUZZ "build the libFuzzer targets (clang)" OFF)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE}")
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(dpdk REQUIRED IMPORTED_TARGET libdpdk>=22.11)

# DPDK's compile flags alone, for code that includes its headers but initialises and links nothing.
# Imported targets are SYSTEM, so its warnings are not ours. Its -march is the CPU baseline that all
# our binaries run on; faster variants are chosen at start.
add_library(dpdk_headers INTERFACE IMPORTED)
add_library(PkgConfig::dpdk_headers ALIAS dpdk_headers)
target_include_directories(dpdk_headers SYSTEM INTERFACE ${dpdk_INCLUDE_DIRS})
target_compile_options(dpdk_headers INTERFACE ${dpdk_CFLAGS_OTHER})

add_library(mqsteer_warnings INTERFACE)
target_compile_options(mqsteer_warnings INTERFACE -Wall -Wextra -Werror -Wshadow -Wconversion
  -Wold-style-cast -Wno-missing-field-initializers -Wnon-virtual-dtor -Woverloaded-virtual -Wnull-dereference -fno-strict-aliasing)
if(MQSTEER_SANITIZE)
  add_compile_options(-fsanitize=${MQSTEER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${MQSTEER_SANITIZE})
  # GCC's flow analysis reports false positives in instrumented code.
  target_compile_options(mqsteer_warnings INTERFACE -Wno-null-dereference -Wno-maybe-uninitialized)
endif()

# mqsteer_library(NAME SOURCES ... USES ...): the library of one folder. NAME is the folder's;
# sources are compiled as part of mqsteer_NAME and the folder's headers are included as "NAME/x.h".
function(mqsteer_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  if(name STREQUAL "drivers")
    set(root "${PROJECT_SOURCE_DIR}")
  else()
    set(root "${PROJECT_SOURCE_DIR}/src")
  endif()
  if(arg_SOURCES)
    add_library(mqsteer_${name} STATIC ${arg_SOURCES})
    target_include_directories(mqsteer_${name} PUBLIC "${root}")
    target_link_libraries(mqsteer_${name} PUBLIC mqsteer_api ${arg_USES})
  else()
    add_library(mqsteer_${name} INTERFACE)
    target_include_directories(mqsteer_${name} INTERFACE "${root}")
    target_link_libraries(mqsteer_${name} INTERFACE mqsteer_api ${arg_USES})
  endif()
endfunction()
