# A library of the kernel with every variant that this processor's family has. Apart from
# CMakeLists.txt, so that the driver in tests/kernels can build the kernel without Python.
find_package(Threads REQUIRED)

option(REGARD_EMULATE_V4 "Compile the AVX-512 variants for AVX2, to test their text without AVX-512" OFF)

function(regard_kernel name)
  set(here "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  add_library(${name} STATIC "${here}/dispatch.cpp" "${here}/pool.cpp" "${here}/run.cpp")
  target_include_directories(${name} PUBLIC "${here}")
  target_link_libraries(${name} PUBLIC Threads::Threads)
  regard_variant(${name} base "")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    regard_variant(${name} v3 "-march=x86-64-v3")
    if(REGARD_EMULATE_V4)
      target_compile_definitions(${name} PRIVATE REGARD_EMULATE_V4)
      regard_variant(${name} v4 "-march=x86-64-v3")
      regard_variant(${name} v4_bf16 "-march=x86-64-v3")
    else()
      regard_variant(${name} v4 "-march=x86-64-v4;-mprefer-vector-width=512")
      regard_variant(${name} v4_bf16 "-march=x86-64-v4;-mavx512bf16;-mprefer-vector-width=512")
    endif()
  endif()
endfunction()

function(regard_variant library variant options)
  set(file "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/variants/${variant}.cpp")
  target_sources(${library} PRIVATE "${file}")
  # Multiplications and additions become one instruction where there is one. No fast-math: the
  # rules for NaN and infinity are the compiler's to keep.
  set_source_files_properties("${file}" PROPERTIES COMPILE_OPTIONS "${options};-O3;-ffp-contract=fast")
endfunction()
