// From scores to exponentials, in place, with everything that can be taken in the same pass.

constexpr float LOG2_E = 1.44269504088896340736f;

// e^x, to about 1.3 ulp; 0 for -inf, NaN for NaN. x is at most 61.
//
// 2^(x log2 e): rounding to whole numbers is an addition of 1.5 x 2^23, whose low bits then are the
// exponent; the rest is a polynomial of degree 5 (minimax, 0.8 ulp).
// GRADUAL: results under 2^-126 are kept as subnormal numbers, for one more multiplication. They
// matter only below a sink or beside values of any size, so rows without a shift, where no seen
// weight is that small, do without.
// EXACT: with the part of log2 e that its float leaves out, which is worth x / 50 ulp. Weights do
// not need it (it is as if the scale were 1e-8 larger); an entropy near 0 does.
template <bool GRADUAL, bool EXACT = false>
INLINE Vector power(Vector x) {
  constexpr int LOWER = GRADUAL ? 32 : 0;
  // clamped so that the exponent's bits come out as 0 (a factor of 0), or as a subnormal 0
  x = larger(all(GRADUAL ? -109.5f : -88.1f), x);
  constexpr float SHIFT = 12582912.0f + 127 + LOWER;
  const Vector raised = x * LOG2_E + SHIFT;
  const Vector whole = raised - SHIFT;
#if defined(__FMA__) || defined(__aarch64__)
  Vector rest = x * LOG2_E - whole;  // one instruction: the product is not rounded
  if (EXACT) rest += x * 1.925963033500e-8f;
#else
  // ln 2 in two parts, of which whole x the first is exact
  const Vector rest = (x - whole * 0.693359375f + whole * 2.12194440e-4f) * LOG2_E;
#endif
  Vector y = rest * 1.3264726899e-03f + 9.6715126606e-03f;
  y = y * rest + 5.5507337442e-02f;
  y = y * rest + 2.4022242085e-01f;
  y = y * rest + 6.9314697760e-01f;
  y = y * rest + 1.0f;
  y *= (Vector)((Whole)raised << 23);
  return GRADUAL ? y * 0x1p-32f : y;
}

// What the pass over a row has gathered, a vector at a time; added up when the row is complete.
struct Gathered {
  Vector sum, moment, largest;
  Vector lanes[4];  // maxima of the exponentials: every key belongs to one of 4 W lanes
};

// SHIFTED: e^(score - shift). MOMENT: the sum of e x (score - about) as well.
template <bool SHIFTED, bool MOMENT, bool LARGEST, bool LANES>
INLINE void power_step(float* at, Vector shift, Vector about, Gathered& row, int lane) {
  const Vector x = load(at);
  if (LARGEST) row.largest = larger(x, row.largest);
  const Vector e = power<SHIFTED, MOMENT>(SHIFTED ? x - shift : x);
  store(at, e);
  row.sum += e;
  // where e is 0 the score may be -inf: 0 x max(-inf, -120) is 0 as well
  if (MOMENT) row.moment += e * larger(all(-120.0f), x - about);
  if (LANES) row.lanes[lane] = larger(e, row.lanes[lane]);
}

template <bool SHIFTED, bool MOMENT, bool LARGEST, bool LANES>
static void power_row(float* scores, int64_t count, float by, float from, Gathered* into) {
  Gathered row = *into;
  row.sum = row.moment = Vector{};  // a block's own first: of many thousand terms too much is lost
  const Vector shift = all(by), about = all(from);
  int64_t j = 0;
  for (; j + 4 * W <= count; j += 4 * W) {
    power_step<SHIFTED, MOMENT, LARGEST, LANES>(scores + j, shift, about, row, 0);
    power_step<SHIFTED, MOMENT, LARGEST, LANES>(scores + j + W, shift, about, row, 1);
    power_step<SHIFTED, MOMENT, LARGEST, LANES>(scores + j + 2 * W, shift, about, row, 2);
    power_step<SHIFTED, MOMENT, LARGEST, LANES>(scores + j + 3 * W, shift, about, row, 3);
  }
  for (; j < count; j += W)
    power_step<SHIFTED, MOMENT, LARGEST, LANES>(scores + j, shift, about, row, 0);
  row.sum += into->sum;
  row.moment += into->moment;
  *into = row;
}

typedef void (*PowerRow)(float* scores, int64_t count, float shift, float about, Gathered*);

// LARGEST only where nobody else has found the largest: a shift and a moment need it before.
static PowerRow power_row_for(bool shifted, bool moment, bool largest, bool lanes) {
  if (shifted && moment)
    return lanes ? power_row<true, true, false, true> : power_row<true, true, false, false>;
  if (shifted)
    return lanes ? power_row<true, false, false, true> : power_row<true, false, false, false>;
  if (moment)
    return lanes ? power_row<false, true, false, true> : power_row<false, true, false, false>;
  if (largest)
    return lanes ? power_row<false, false, true, true> : power_row<false, false, true, false>;
  return lanes ? power_row<false, false, false, true> : power_row<false, false, false, false>;
}

// The largest score of a row so far, this block's among them.
static float largest_yet(const float* scores, int64_t count, Gathered* into) {
  // four chains, so that none waits for the one before
  Vector found[4] = {into->largest, into->largest, into->largest, into->largest};
  int64_t j = 0;
  for (; j + 4 * W <= count; j += 4 * W)
    for (int i = 0; i < 4; ++i) found[i] = larger(load(scores + j + i * W), found[i]);
  for (; j < count; j += W) found[0] = larger(load(scores + j), found[0]);
  into->largest = larger(larger(found[0], found[1]), larger(found[2], found[3]));
  return largest_of(into->largest);
}

// tanh to about 2 ulp: Cephes' polynomial near 0, 1 - 2 / (e^2x + 1) beyond.
INLINE Vector tanh_of(Vector x) {
  const Vector size = larger(x, -x);
  const Vector square = x * x;
  Vector y = square * -5.70498872745e-3f + 2.06390887954e-2f;
  y = y * square - 5.37397155531e-2f;
  y = y * square + 1.33314422036e-1f;
  y = y * square - 3.33332819422e-1f;
  const Vector near = y * square * x + x;
  const Vector twice = size + size;
  const Vector e = power<false>(twice > 40.0f ? all(40.0f) : twice);
  const Vector beyond = 1.0f - 2.0f / (e + 1.0f);
  return size < 0.625f ? near : (x < 0.0f ? -beyond : beyond);
}

static void cap_row(float* scores, int64_t count, float cap) {
  for (int64_t j = 0; j < count; j += W)
    store(scores + j, tanh_of(load(scores + j) / cap) * cap);
}

static float sum_range(const float* from, int64_t count) {
  Vector sum = Vector{};
  int64_t j = 0;
  for (; j + W <= count; j += W) sum += load(from + j);
  float rest = 0;
  for (; j < count; ++j) rest += from[j];
  return sum_of(sum) + rest;
}
