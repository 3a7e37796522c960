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

// What a processor's caches ask for; a build may set other numbers.
#ifndef REGARD_BLOCK  // keys of a block
#define REGARD_BLOCK 256
#endif
#ifndef REGARD_PANEL  // weights of a panel that fit a cache
#define REGARD_PANEL 196608
#endif
#ifndef REGARD_DIRECT  // bytes of a head's keys from which one panel does not pack them all
#define REGARD_DIRECT 262144
#endif
#ifndef REGARD_CHUNK  // keys that a chunk has at least
#define REGARD_CHUNK 2048
#endif
#ifndef REGARD_SHARED  // weights that chunks may keep for all rows together
#define REGARD_SHARED 8388608
#endif
#ifndef REGARD_PAIRS  // whether bfloat16 is multiplied in pairs
#define REGARD_PAIRS 0
#endif
#ifndef REGARD_LEAST_ROWS  // rows of a panel, however long they are
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
