// The one product kernel, and the packing that lets it read its columns in a straight line.

// c (M x NR) = or += a (M x depth, rows `a_stride` apart) . b (depth x NR, contiguous).
//
// 12 accumulators of 8 floats (24 of 16 with AVX-512) stay in registers for the whole depth; each
// step loads NV vectors of b and broadcasts M numbers of a. c is added last: 16384 terms in one
// chain were measured to err five times as much as plain code.
template <int M>
INLINE void product_tile(const float* a, int64_t a_stride, const float* b, int64_t depth, float* c,
                         int64_t c_stride, bool add) {
  Vector sum[M][NV];
#pragma GCC unroll 6
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sum[i][v] = Vector{};
  for (int64_t k = 0; k < depth; ++k) {
    Vector row[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) row[v] = load(b + k * NR + v * W);
#pragma GCC unroll 6
    for (int i = 0; i < M; ++i) {
      const Vector one = all(a[i * a_stride + k]);
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) sum[i][v] += one * row[v];
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      float* to = c + i * c_stride + v * W;
      store(to, add ? load(to) + sum[i][v] : sum[i][v]);
    }
}

#if REGARD_PAIRS
// The same product of bfloat16 numbers, two to a lane: vdpbf16ps adds both products of a pair in
// one step, so half the steps. A pair is two dims of a key, or one column's values of two keys.
// Queries keep their bfloat16 numbers, so the scale is a factor of the result.

typedef uint32_t Pair __attribute__((may_alias));
typedef uint32_t Pairs __attribute__((vector_size(W * 4)));
typedef uint32_t LoosePairs __attribute__((vector_size(W * 4), aligned(4), may_alias));

INLINE Vector add_pairs(Vector sum, Pairs a, Pairs b) {
#if defined(__AVX512BF16__)
  return (Vector)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
#else
  sum += (Vector)(a << 16) * (Vector)(b << 16);
  return sum + (Vector)(a & 0xffff0000u) * (Vector)(b & 0xffff0000u);
#endif
}

// Floats into bfloat16 numbers in their upper halves, rounded to even.
INLINE Pairs rounded(Vector x) {
  const Pairs bits = (Pairs)x;
  const Pairs up = bits + 0x7fffu + (bits >> 16 & 1u);
  return (Pairs)(x == x ? (Whole)up : (Whole)(bits | 0x400000u)) & 0xffff0000u;
}

template <int M>
INLINE void pairs_tile(const Pair* a, int64_t a_stride, const Pair* b, int64_t depth, float* c,
                       int64_t c_stride, bool add, float factor) {
  Vector sum[M][NV];
#pragma GCC unroll 6
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sum[i][v] = Vector{};
  for (int64_t k = 0; k < depth; ++k) {
    Pairs row[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) row[v] = *(const LoosePairs*)(b + k * NR + v * W);
#pragma GCC unroll 6
    for (int i = 0; i < M; ++i) {
      const Pairs one = a[i * a_stride + k] - Pairs{};
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) sum[i][v] = add_pairs(sum[i][v], row[v], one);
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      float* to = c + i * c_stride + v * W;
      store(to, add ? load(to) + sum[i][v] * factor : sum[i][v] * factor);
    }
}

static void product_pairs(int64_t rows, const float* a, int64_t a_stride, const float* b,
                          int64_t depth, float* c, int64_t c_stride, bool add, float factor) {
  const Pair *left = (const Pair*)a, *right = (const Pair*)b;
  switch (rows) {
    case 6: return pairs_tile<6>(left, a_stride, right, depth, c, c_stride, add, factor);
    case 5: return pairs_tile<5>(left, a_stride, right, depth, c, c_stride, add, factor);
    case 4: return pairs_tile<4>(left, a_stride, right, depth, c, c_stride, add, factor);
    case 3: return pairs_tile<3>(left, a_stride, right, depth, c, c_stride, add, factor);
    case 2: return pairs_tile<2>(left, a_stride, right, depth, c, c_stride, add, factor);
    default: return pairs_tile<1>(left, a_stride, right, depth, c, c_stride, add, factor);
  }
}

// `count` bfloat16 numbers, `stride` bytes apart, into pairs; a 0 fills the last.
static void pair_up(float* to, const char* from, int64_t stride, int64_t count) {
  Pair* pairs = (Pair*)to;
  if (stride == 2 && count % 2 == 0) {
    __builtin_memcpy(to, from, (size_t)count * 2);
    return;
  }
  for (int64_t i = 0; i < count; i += 2) {
    uint16_t two[2] = {0, 0};
    __builtin_memcpy(two, from + i * stride, 2);
    if (i + 1 < count) __builtin_memcpy(two + 1, from + (i + 1) * stride, 2);
    pairs[i / 2] = two[0] | (uint32_t)two[1] << 16;
  }
}

// One row of weights, rounded, into pairs: neighbouring keys share a lane.
static void pair_weights(float* to, const float* weights, int64_t count) {
#if defined(__AVX512BF16__)
  for (int64_t j = 0; j < count; j += 2 * W)
    *(LoosePairs*)(to + j / 2) = (Pairs)_mm512_cvtne2ps_pbh((__m512)load(weights + j + W),
                                                            (__m512)load(weights + j));
  return;
#endif
  for (int64_t j = 0; j < count; j += 2 * W) {
    const Pairs a = rounded(load(weights + j)), b = rounded(load(weights + j + W));
    Pairs low, high;  // even keys, odd keys
    for (int i = 0; i < W / 2; ++i) {
      low[i] = a[2 * i], high[i] = a[2 * i + 1];
      low[W / 2 + i] = b[2 * i], high[W / 2 + i] = b[2 * i + 1];
    }
    *(LoosePairs*)(to + j / 2) = low >> 16 | high;
  }
}
#endif

static __attribute__((noinline)) void product_six(const float* a, int64_t a_stride, const float* b,
                                                  int64_t depth, float* c, int64_t c_stride,
                                                  bool add) {
  product_tile<6>(a, a_stride, b, depth, c, c_stride, add);
}

static void product(int64_t rows, const float* a, int64_t a_stride, const float* b, int64_t depth,
                    float* c, int64_t c_stride, bool add) {
  switch (rows) {
    case 6: return product_six(a, a_stride, b, depth, c, c_stride, add);
    case 5: return product_tile<5>(a, a_stride, b, depth, c, c_stride, add);
    case 4: return product_tile<4>(a, a_stride, b, depth, c, c_stride, add);
    case 3: return product_tile<3>(a, a_stride, b, depth, c, c_stride, add);
    case 2: return product_tile<2>(a, a_stride, b, depth, c, c_stride, add);
    default: return product_tile<1>(a, a_stride, b, depth, c, c_stride, add);
  }
}

typedef float Four __attribute__((vector_size(16)));
typedef float FourLoose __attribute__((vector_size(16), aligned(1), may_alias));

// 4 rows of `width` numbers, `stride` apart, into columns of an [dim][NR] block. Shuffles of four
// take a fifth of the time that single numbers take, on every instruction set.
INLINE void turn_four(const float* rows, int64_t stride, int64_t width, float* to) {
  int64_t d = 0;
  for (; d + 4 <= width; d += 4) {
    const Four a = *(const FourLoose*)(rows + d), b = *(const FourLoose*)(rows + stride + d);
    const Four c = *(const FourLoose*)(rows + 2 * stride + d);
    const Four e = *(const FourLoose*)(rows + 3 * stride + d);
    const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Four ce = __builtin_shufflevector(c, e, 0, 4, 1, 5), ce2 = __builtin_shufflevector(c, e, 2, 6, 3, 7);
    *(FourLoose*)(to + d * NR) = __builtin_shufflevector(ab, ce, 0, 1, 4, 5);
    *(FourLoose*)(to + (d + 1) * NR) = __builtin_shufflevector(ab, ce, 2, 3, 6, 7);
    *(FourLoose*)(to + (d + 2) * NR) = __builtin_shufflevector(ab2, ce2, 0, 1, 4, 5);
    *(FourLoose*)(to + (d + 3) * NR) = __builtin_shufflevector(ab2, ce2, 2, 3, 6, 7);
  }
  for (; d < width; ++d)
    for (int j = 0; j < 4; ++j) to[d * NR + j] = rows[j * stride + d];
}

// Whether each row of a caller's array can be read as the floats that it is.
INLINE bool lies_in_line(const Array& array, const char* from, int number) {
  return number == FLOAT32 && array.stride[3] == 4 && array.stride[2] % 4 == 0 &&
         (uintptr_t)from % 4 == 0;
}

// Keys first..last - 1 of one head into blocks of NR, [block][dim][NR], zeros after the last key;
// gives the length of the longest, those that are not finite left out. `first` is a multiple of
// NR; `rows` has room for NR x dim floats.
static float pack_keys(const Problem& p, const char* from, int64_t first, int64_t last, float* to,
                       float* rows) {
  Vector longest = Vector{};
  const bool as_they_lie = lies_in_line(p.key, from, p.number);
  for (int64_t start = first; start < last; start += NR, to += p.dim * NR) {
    const int64_t count = least(NR, p.keys - start);
    const float* at = rows;
    int64_t stride = p.dim;
    if (as_they_lie && count == NR) {
      at = (const float*)(const void*)(from + start * p.key.stride[2]);
      stride = p.key.stride[2] / 4;
    } else {
      for (int64_t j = 0; j < count; ++j)
        widen(rows + j * p.dim, from + (start + j) * p.key.stride[2], p.key.stride[3], p.dim,
              p.number, 1.0f);
      for (int64_t j = most(count, 0) * p.dim; j < NR * p.dim; ++j) rows[j] = 0;
    }
    for (int j = 0; j < NR; j += 4) turn_four(at + j * stride, stride, p.dim, to + j);
    for (int v = 0; v < NV; ++v) {
      Vector squares = Vector{}, odd = Vector{};
      for (int64_t d = 0; d < p.dim; ++d) {
        const Vector x = load(to + d * NR + v * W);
        squares += x * x;
        odd += x - x;  // 0, or NaN where x is not finite
      }
      longest = larger(odd == 0.0f ? squares : Vector{}, longest);
    }
  }
  return __builtin_sqrtf(largest_of(longest));
}

#if REGARD_PAIRS
// The same in pairs of dims, [block][half of dim][NR].
static float pack_key_pairs(const Problem& p, const char* from, int64_t first, int64_t last,
                            float* to, float* rows) {
  const int64_t half = up(p.dim, 2) / 2;
  Vector longest = Vector{};
  for (int64_t start = first; start < last; start += NR, to += half * NR) {
    const int64_t count = most(0, least(NR, p.keys - start));
    for (int64_t j = 0; j < count; ++j)
      pair_up(rows + j * half, from + (start + j) * p.key.stride[2], p.key.stride[3], p.dim);
    for (int64_t j = count * half; j < NR * half; ++j) rows[j] = 0;
    for (int j = 0; j < NR; j += 4) turn_four(rows + j * half, half, half, to + j);
    for (int v = 0; v < NV; ++v) {
      Vector squares = Vector{}, odd = Vector{};
      for (int64_t d = 0; d < half; ++d) {
        const Pairs both = *(const LoosePairs*)(to + d * NR + v * W);
        const Vector low = (Vector)(both << 16), high = (Vector)(both & 0xffff0000u);
        squares += low * low + high * high;
        odd += (low - low) + (high - high);  // 0, or NaN where one is not finite
      }
      longest = larger(odd == 0.0f ? squares : Vector{}, longest);
    }
  }
  return __builtin_sqrtf(largest_of(longest));
}
#endif

static float pack_some_keys(const Problem& p, const Plan& plan, const char* from, int64_t first,
                            int64_t last, float* to, float* rows) {
#if REGARD_PAIRS
  if (plan.pairs) return pack_key_pairs(p, from, first, last, to, rows);
#endif
  (void)plan;
  return pack_keys(p, from, first, last, to, rows);
}

// Values packed, and which of them were not finite.
struct Values {
  float* columns;     // [block of NR columns][depth][NR]
  int64_t depth;      // keys from one block of columns to the next
  int32_t* wild;      // keys whose value is not finite
  int64_t wild_count;
  float largest;      // size of what is finite
};

// Values of keys first..last - 1 of one head into blocks of NR columns, zeros around them. What is
// not finite becomes 0, and its key is noted: 0 x NaN would reach rows that may not see the key.
static void pack_values(const Problem& p, const Plan& plan, const char* from, int64_t first,
                        int64_t last, Values& to, float* row) {
  const bool as_they_lie =
      p.value_dim == plan.padded_values && lies_in_line(p.value, from, p.number);
  Vector sizes = Vector{};
  to.wild_count = 0;
  for (int64_t c = 0; c < plan.padded_values; ++c) row[c] = 0;
  for (int64_t k = first; k < last; ++k) {
    Vector odd = Vector{};
    const char* value = from + k * p.value.stride[2];
    const float* at = row;
    if (k >= p.keys)
      for (int64_t c = 0; c < plan.padded_values; ++c) row[c] = 0;
    else if (as_they_lie)
      at = (const float*)(const void*)value;
    else
      widen(row, value, p.value.stride[3], p.value_dim, p.number, 1.0f);
    for (int64_t c = 0; c < plan.padded_values; c += NR)
      for (int v = 0; v < NV; ++v) {
        Vector x = load(at + c + v * W);
        const Vector zero = x - x;  // or NaN where x is not finite
        x = zero == 0.0f ? x : Vector{};
        odd += zero;
        sizes = larger(larger(x, -x), sizes);
#if REGARD_PAIRS
        if (plan.value_pairs) {
          LoosePairs* at = (LoosePairs*)(to.columns + (c * to.depth + (k - first) / 2 * 2 * NR) / 2 + v * W);
          if ((k - first) % 2 == 0)
            *at = (Pairs)x >> 16;
          else
            *at |= (Pairs)x & 0xffff0000u;
          continue;
        }
#endif
        store(to.columns + c * to.depth + (k - first) * NR + v * W, x);
      }
    if (any((Whole)(odd != odd))) to.wild[to.wild_count++] = (int32_t)k;
  }
  to.largest = largest_of(sizes);
}
