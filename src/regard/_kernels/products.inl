// The one product kernel, and the packing that lets it read its columns in a straight line.

// c (M x NR) = or += a (M x depth, rows `a_stride` apart) . b (depth x NR, contiguous).
//
// 12 accumulators of 8 floats (24 of 16 with AVX-512) stay in registers for the whole depth; each
// step loads NV vectors of b and broadcasts M numbers of a.
template <int M>
INLINE void product_tile(const float* a, int64_t a_stride, const float* b, int64_t depth, float* c,
                         int64_t c_stride, bool add) {
  Vector sum[M][NV];
#pragma GCC unroll 6
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sum[i][v] = add ? load(c + i * c_stride + v * W) : Vector{};
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
    for (int v = 0; v < NV; ++v) store(c + i * c_stride + v * W, sum[i][v]);
}

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

// K of one head into blocks of NR keys, [block][dim][NR], zeros after the last key; the length of
// its longest row, those that are not finite left out. `rows`: room for NR x dim floats.
static float pack_keys(const Problem& p, const char* from, float* to, float* rows) {
  Vector longest = Vector{};
  for (int64_t start = 0; start < p.keys; start += NR, to += p.dim * NR) {
    const int64_t count = least(NR, p.keys - start);
    for (int64_t j = 0; j < count; ++j)
      widen(rows + j * p.dim, from + (start + j) * p.key.stride[2], p.key.stride[3], p.dim,
            p.number, 1.0f);
    for (int64_t j = count; j < NR; ++j)
      for (int64_t d = 0; d < p.dim; ++d) rows[j * p.dim + d] = 0;
    for (int64_t d = 0; d < p.dim; ++d)
      for (int j = 0; j < NR; ++j) to[d * NR + j] = rows[j * p.dim + d];
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

// V of one head into blocks of NR columns, [block][key][NR], zeros around it. What is not finite
// becomes 0, and its key is noted: 0 x NaN would reach rows that may not see the key. The largest
// size is that of the finite ones.
static void pack_values(const Problem& p, const Plan& plan, const char* from, Head& head,
                        float* row) {
  float largest = 0;
  head.wild_count = 0;
  for (int64_t k = 0; k < plan.padded_keys; ++k) {
    for (int64_t c = 0; c < plan.padded_values; ++c) row[c] = 0;
    if (k < p.keys) {
      widen(row, from + k * p.value.stride[2], p.value.stride[3], p.value_dim, p.number, 1.0f);
      Vector sizes = Vector{}, odd = Vector{};
      for (int64_t c = 0; c < plan.padded_values; c += W) {
        Vector x = load(row + c);
        const Vector zero = x - x;  // or NaN where x is not finite
        x = zero == 0.0f ? x : Vector{};
        odd += zero;
        store(row + c, x);
        sizes = larger(larger(x, -x), sizes);
      }
      if (any((Whole)(odd != odd))) head.wild[head.wild_count++] = (int32_t)k;
      const float size = largest_of(sizes);
      largest = size > largest ? size : largest;
    }
    for (int64_t c = 0; c < plan.padded_values; c += NR)
      for (int v = 0; v < NV; ++v)
        store(head.values + c * plan.padded_keys + k * NR + v * W, load(row + c + v * W));
  }
  head.largest_value = largest;
}
