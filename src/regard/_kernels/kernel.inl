// The kernel, in the namespace of one instruction set.
//
// A variant's file defines REGARD_VARIANT (the namespace), REGARD_WIDTH (floats in a vector) and
// REGARD_COLUMNS (columns of the product kernel) and includes this. Nothing of the standard
// library's C++ is used in here: the linker merges inline functions of equal name across files,
// and would hand an older processor the copy that was compiled for a newer one.

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__)
#pragma GCC diagnostic ignored "-Wpsabi"  // no function here is called from elsewhere
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12's own header of AVX-512
#endif
#include <immintrin.h>
#endif

#include "problem.h"

#ifndef REGARD_BLOCK
#define REGARD_BLOCK 256
#endif
#ifndef REGARD_PANEL
#define REGARD_PANEL 196608
#endif
#ifndef REGARD_DIRECT
#define REGARD_DIRECT 262144
#endif
#ifndef REGARD_CHUNK
#define REGARD_CHUNK 2048
#endif
#ifndef REGARD_SHARED
#define REGARD_SHARED 8388608
#endif
#ifndef REGARD_PAIRS
#define REGARD_PAIRS 0
#endif
#ifndef REGARD_LEAST_ROWS
#define REGARD_LEAST_ROWS 18
#endif

namespace regard::REGARD_VARIANT {
namespace {

#include "vectors.inl"

#include "products.inl"
#include "softmax.inl"

#include "sight.inl"

#include "panel.inl"

#include "readings.inl"

#include "chunks.inl"

#include "task.inl"

}  // namespace

extern const Variant variant = {REGARD_NAME, make_plan, do_task};

}  // namespace regard::REGARD_VARIANT
