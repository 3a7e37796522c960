// Vectors of REGARD_WIDTH floats through the compiler's vector extension: one text for every width.
//
// Where a plain expression would not become the one instruction wanted, or where NaN matters, the
// intrinsic of each instruction set stands beside the plain form.

constexpr int W = REGARD_WIDTH;
constexpr int NR = REGARD_COLUMNS;  // columns of the product kernel
constexpr int NV = NR / W;          // vectors in a row of its tile
constexpr int MR = 6;               // rows of the product kernel

typedef float Vector __attribute__((vector_size(W * 4)));
typedef int32_t Whole __attribute__((vector_size(W * 4)));
typedef float Loose __attribute__((vector_size(W * 4), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

INLINE Vector load(const float* from) { return *(const Loose*)from; }
INLINE void store(float* to, Vector x) { *(Loose*)to = x; }
INLINE Vector all(float x) { return x - Vector{}; }

// The larger; where either is NaN, `b`.
INLINE Vector larger(Vector a, Vector b) {
#if defined(__AVX512F__) && REGARD_WIDTH == 16
  return (Vector)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX__) && REGARD_WIDTH == 8
  return (Vector)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__) && REGARD_WIDTH == 4
  return (Vector)_mm_max_ps((__m128)a, (__m128)b);
#else
  return a > b ? a : b;
#endif
}

// The lanes where a comparison holds, a bit each.
INLINE uint32_t lanes_of(Whole mask) {
#if defined(__AVX512F__) && REGARD_WIDTH == 16
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask);
#elif defined(__AVX__) && REGARD_WIDTH == 8
  return (uint32_t)_mm256_movemask_ps((__m256)mask);
#elif defined(__SSE2__) && REGARD_WIDTH == 4
  return (uint32_t)_mm_movemask_ps((__m128)mask);
#else
  uint32_t lanes = 0;
  for (int i = 0; i < W; ++i) lanes |= (uint32_t)(mask[i] != 0) << i;
  return lanes;
#endif
}

INLINE bool any(Whole mask) { return lanes_of(mask) != 0; }

INLINE float sum_of(Vector x) {
  float sum = 0;
  for (int i = 0; i < W; ++i) sum += x[i];
  return sum;
}

// The largest lane, in every lane; by halves, since a lane at a time takes five times as long.
INLINE Vector largest_everywhere(Vector x) {
#if REGARD_WIDTH == 16
  x = larger(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  x = larger(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
  x = larger(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
  return larger(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
#elif REGARD_WIDTH == 8
  x = larger(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3));
  x = larger(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5));
  return larger(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6));
#else
  x = larger(x, __builtin_shufflevector(x, x, 2, 3, 0, 1));
  return larger(x, __builtin_shufflevector(x, x, 1, 0, 3, 2));
#endif
}

INLINE float largest_of(Vector x) { return largest_everywhere(x)[0]; }

// Sum of squares; NaN where one of the numbers is not finite.
static float squares_of(const float* from, int64_t count) {
  Vector squares = Vector{}, odd = Vector{};
  int64_t i = 0;
  for (; i + W <= count; i += W) {
    const Vector x = load(from + i);
    squares += x * x;
    odd += x - x;  // 0, or NaN where x is not finite
  }
  float sum = sum_of(squares), rest = sum_of(odd);
  for (; i < count; ++i) {
    sum += from[i] * from[i];
    rest += from[i] - from[i];
  }
  return sum + rest;
}

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE int64_t down(int64_t x, int64_t step) { return x / step * step; }
INLINE int64_t up(int64_t x, int64_t step) { return (x + step - 1) / step * step; }

INLINE bool is_nan(float x) { return x != x; }
INLINE bool is_finite(float x) { return x - x == 0; }

constexpr float INFINITE = __builtin_inff();
constexpr float NOT_A_NUMBER = __builtin_nanf("");

// Numbers of a caller's array, which may lie anywhere and be of any of three kinds.

INLINE float from_bits(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}

INLINE uint32_t bits_of(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}

INLINE float from_half(uint16_t half) {
  const uint32_t rest = half & 0x7fffu;
  // the exponent moved to its place, then by 2^112: right for subnormal halves as well
  uint32_t bits = bits_of(from_bits(rest << 13) * 0x1p112f);
  if (rest >= 0x7c00u) bits |= 0x7f800000u;
  return from_bits(bits | (uint32_t)(half & 0x8000u) << 16);
}

INLINE float number_at(const char* at, int number) {
  if (number == FLOAT32) {
    float x;
    __builtin_memcpy(&x, at, 4);
    return x;
  }
  uint16_t bits;
  __builtin_memcpy(&bits, at, 2);
  return number == FLOAT16 ? from_half(bits) : from_bits((uint32_t)bits << 16);
}

// `count` numbers, `stride` bytes apart, as floats, times `factor`.
static void widen(float* to, const char* from, int64_t stride, int64_t count, int number,
                  float factor) {
  if (number == FLOAT32 && stride == 4) {
    const float* near = (const float*)(const void*)from;
    if ((uintptr_t)from % 4 == 0) {
      for (int64_t i = 0; i < count; ++i) to[i] = near[i] * factor;
      return;
    }
  }
  if (number == BFLOAT16 && stride == 2 && (uintptr_t)from % 2 == 0) {
    const uint16_t* near = (const uint16_t*)(const void*)from;
    for (int64_t i = 0; i < count; ++i) to[i] = from_bits((uint32_t)near[i] << 16) * factor;
    return;
  }
#if defined(__F16C__)
  if (number == FLOAT16 && stride == 2) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
      const __m256 eight = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(from + 2 * i)));
      _mm256_storeu_ps(to + i, _mm256_mul_ps(eight, _mm256_set1_ps(factor)));
    }
    for (; i < count; ++i) to[i] = number_at(from + 2 * i, number) * factor;
    return;
  }
#endif
  for (int64_t i = 0; i < count; ++i) to[i] = number_at(from + stride * i, number) * factor;
}

INLINE uint16_t to_bfloat(float x) {
  const uint32_t bits = bits_of(x);
  if (is_nan(x)) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

INLINE uint16_t to_half(float x) {
  const uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);  // rounds beyond 65504
  if (size < 0x38800000u)  // a subnormal half: let the addition round it
    return (uint16_t)(sign | (bits_of(from_bits(size) + 0.5f) - 0x3f000000u));
  return (uint16_t)(sign | ((size + 0xfff + (size >> 13 & 1) - 0x38000000u) >> 13));
}

// `count` floats into contiguous numbers of a kind.
static void narrow(char* to, const float* from, int64_t count, int number) {
  if (number == FLOAT32) {
    __builtin_memcpy(to, from, (size_t)count * 4);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const uint16_t bits = number == FLOAT16 ? to_half(from[i]) : to_bfloat(from[i]);
    __builtin_memcpy(to + 2 * i, &bits, 2);
  }
}
