// One panel: rows of one key head's query heads, with all the keys that they may see.

constexpr int64_t BLOCK = REGARD_BLOCK;  // keys computed, weighed and mixed together
constexpr float NO_SHIFT_BELOW = 60.0f;
// Scores within this of 0 need no shift: e^60 times 10^11 keys fits float32, and e^-60 is far from
// its smallest number. Then scores become weights as soon as a block of them is there.

struct Row {
  int64_t head, query, place;
  Span sight;
  float shift;    // its powers are of score - shift; -inf before it has any
  float largest;  // score so far, which the moment's scores are counted from
  float total, lse;
  float inverse;      // 1 / total
  float bar;          // the largest weights lie above it
  int32_t* found;     // keys above it
  int64_t held;       // how many
  int32_t* eligible;  // of its head and run, or null
  bool spoiled;       // a NaN, or an infinite score, has reached it
};

// A shift or a largest score to subtract; 0 where no score has been found yet.
INLINE float or_zero(float score) { return score == -INFINITE ? 0 : score; }

// MR rows that the product kernel takes at once, and the blocks of keys that one of them may see.
struct Tile {
  int64_t first, rows, low, high;
};

struct Panel {
  const Problem& p;
  const Plan& plan;
  const Head& head;
  int64_t batch = 0, run = 0, rows = 0, tiles = 0;
  bool read = false, whole = false;  // some row is asked for; and its weights all at once
  int64_t low = 0, high = 0;    // keys in sight of some row, in whole blocks of NR
  int64_t start = 0, stop = 0;  // and those of them that are computed
  int64_t stride = 0, base = 0;  // of `scores`: floats from row to row, and its first key
  float *query_pairs = nullptr, *weight_pairs = nullptr;
  float *queries = nullptr, *scores = nullptr, *mixed = nullptr, *line = nullptr;
  // packed keys and values of the whole head, or of one block where nobody else would use them
  float *keys = nullptr, *values = nullptr;
  int64_t packed_from = 0, depth = 0;
  const int32_t* wild = nullptr;
  int64_t wild_count = 0;
  int32_t* wild_room = nullptr;
  unsigned char* seen = nullptr;
  Gathered* gathered = nullptr;
  Row* row = nullptr;
  Tile* tile = nullptr;
  int32_t *found = nullptr, *sorting = nullptr;  // keys of a tile's largest weights; of one row
};

INLINE float* cells(const Panel& n, int64_t row, int64_t key) {
  return n.scores + row * n.stride + (key - n.base);
}

// How far a score may lie from its shift: powers are multiplied with values, and neither the
// products nor their sums may leave the range of float32.
static float room_around(const Panel& n) {
  const float size = n.head.largest_value;
  if (size == 0) return NO_SHIFT_BELOW;
  const float room = NO_SHIFT_BELOW - __builtin_fabsf((float)__builtin_log((double)size));
  return room > 0 ? room : 0;
}

// A bound of the scores' size, by Cauchy-Schwarz. What is not finite is left out: it spoils its
// rows with or without a shift, and must not change, by as little as a rounding, rows that do not
// see it.
static float highest_score(const Panel& n) {
  const Problem& p = n.p;
  if (p.bias.data) return INFINITE;
  float longest = 0;
  for (int64_t i = 0; i < n.rows; ++i) {
    const float squares = squares_of(n.queries + i * n.plan.padded_dim, p.dim);
    if (squares > longest) longest = squares;
  }
  float highest = __builtin_sqrtf(longest) * n.head.longest_key;
  if (p.softcap != 0 && !(highest <= p.softcap)) highest = p.softcap;
  if (p.sinks)
    for (int64_t i = 0; i < n.rows; ++i) {
      const float sink = __builtin_fabsf(p.sinks[n.row[i].head]);
      if (sink > highest) highest = sink;
    }
  return highest;
}

// What comes next, asked for a part at a time, one with each tile: packed keys and values come from
// the last cache, and come in time when they are asked for while the block before them is used.
struct Coming {
  const char *at, *stop;
  int64_t part;
};

INLINE Coming coming(const float* next, int64_t floats, int64_t tiles) {
  const char* at = (const char*)next;
  return {at, at + floats * 4, floats * 4 / tiles + 64};
}

INLINE void fetch_part(Coming& next) {
  const char* stop = next.at + next.part < next.stop ? next.at + next.part : next.stop;
  for (; next.at < stop; next.at += 64) __builtin_prefetch(next.at, 0, 2);
}

// Scores of all rows for the keys of one block.
static void score_block(Panel& n, int64_t first, int64_t last) {
  const int64_t width = n.plan.padded_dim;
  const int64_t depth = n.plan.key_depth;
  // Plain code adds up the scores of one query in many chains. Ours, in one of 128 terms, erred
  // twice as much; where memory is what takes time, shorter ones cost nothing.
  const int64_t piece = n.plan.direct ? 32 : n.p.dim;
  if (n.plan.direct) {
    n.packed_from = first;
    pack_some_keys(n.p, n.plan, cell_of(n.p.key, n.batch, n.row[0].head / n.plan.group, 0, 0),
                   first, last, n.keys, n.line);
  }
  for (int64_t k = first; k < last; k += NR) {
    const float* block = n.keys + (k - n.packed_from) * depth;
    Coming next = coming(block + depth * NR, depth * NR, n.tiles);
    for (int64_t t = 0; t < n.tiles; ++t) {
      const Tile& tile = n.tile[t];
      if (k < tile.low || k >= tile.high) continue;
      fetch_part(next);
#if REGARD_PAIRS
      if (n.plan.pairs) {
        product_pairs(tile.rows, n.query_pairs + tile.first * depth, depth, block, depth,
                      cells(n, tile.first, k), n.stride, false, n.p.scale);
        continue;
      }
#endif
      for (int64_t d = 0; d < n.p.dim; d += piece)
        product(tile.rows, n.queries + tile.first * width + d, width, block + d * NR,
                least(piece, n.p.dim - d), cells(n, tile.first, k), n.stride, d > 0);
    }
  }
  const Problem& p = n.p;
  for (int64_t t = 0; t < n.tiles; ++t) {
    const int64_t from = most(first, n.tile[t].low), to = least(last, n.tile[t].high);
    if (from >= to) continue;
    for (int64_t i = n.tile[t].first; i < n.tile[t].first + n.tile[t].rows; ++i) {
      const Row& row = n.row[i];
      float* at = cells(n, i, from);
      if (p.softcap != 0) cap_row(at, to - from, p.softcap);
      const int64_t begin = least(most(row.sight.low, from), to);
      const int64_t end = most(least(row.sight.high, to), begin);
      for (int64_t j = from; j < begin; ++j) at[j - from] = -INFINITE;
      for (int64_t j = end; j < to; ++j) at[j - from] = -INFINITE;
      if (n.plan.has_mask_cells && begin < end)
        mask_cells(p, n.batch, row.head, row.query, begin, end, cells(n, i, begin), n.line, n.seen,
                   row.eligible && row.place >= 0 ? row.eligible + begin : nullptr);
    }
  }
}

#if REGARD_PAIRS
static void mix_pairs(Panel& n, int64_t first, int64_t last) {
  constexpr int64_t STRIDE = BLOCK / 2 + 16;
  for (int64_t t = 0; t < n.tiles; ++t) {
    const Tile& tile = n.tile[t];
    const int64_t from = most(first, tile.low), to = least(last, tile.high);
    if (from < to)
      for (int64_t i = tile.first; i < tile.first + tile.rows; ++i)
        pair_weights(n.weight_pairs + i * STRIDE, cells(n, i, from), to - from);
  }
  for (int64_t c = 0; c < n.plan.padded_values; c += NR) {
    const float* columns = n.values + c * n.depth / 2 - n.packed_from * NR / 2;
    for (int64_t t = 0; t < n.tiles; ++t) {
      const Tile& tile = n.tile[t];
      const int64_t from = most(first, tile.low), to = least(last, tile.high);
      if (from >= to) continue;
      product_pairs(tile.rows, n.weight_pairs + tile.first * STRIDE, STRIDE,
                    columns + from * NR / 2, (to - from) / 2,
                    n.mixed + tile.first * n.plan.padded_values + c, n.plan.padded_values, true,
                    1);
    }
  }
}
#endif

// What the values that are not finite add to the rows that see them.
static void mix_wild(Panel& n, int64_t first, int64_t last) {
  const Problem& p = n.p;
  for (int64_t w = 0; w < n.wild_count; ++w) {
    const int64_t key = n.wild[w];
    if (key < first || key >= last) continue;
    for (int64_t i = 0; i < n.rows; ++i) {
      const Row& row = n.row[i];
      if (!sees(p, n.batch, row.head, row.query, key)) continue;
      const char* value = cell_of(p.value, n.batch, row.head / n.plan.group, key, 0);
      float* out = n.mixed + i * n.plan.padded_values;
      const float weight = *cells(n, i, key);
      for (int64_t c = 0; c < p.value_dim; ++c) {
        const float x = number_at(value + c * p.value.stride[3], p.number);
        if (!is_finite(x)) out[c] += weight * x;  // its finite ones were in the product
      }
    }
  }
}

// Weights of one block times its values, added to the panel's rows of the result.
static void mix_block(Panel& n, int64_t first, int64_t last) {
  const Problem& p = n.p;
  if (n.plan.direct) {
    Values block = {n.values, BLOCK, n.wild_room, 0, 0};
    pack_values(p, n.plan, cell_of(p.value, n.batch, n.row[0].head / n.plan.group, 0, 0), first,
                last, block, n.line);
    n.packed_from = first;
    n.depth = BLOCK;
    n.wild = n.wild_room;
    n.wild_count = block.wild_count;
  }
#if REGARD_PAIRS
  if (n.plan.value_pairs) {
    mix_pairs(n, first, last);
    return mix_wild(n, first, last);
  }
#endif
  for (int64_t c = 0; c < n.plan.padded_values; c += NR) {
    const float* columns = n.values + c * n.depth - n.packed_from * NR;
    const bool is_last = c + NR == n.plan.padded_values;
    const float* after = is_last ? n.values + (BLOCK - n.packed_from) * NR : columns + NR * n.depth;
    Coming next = coming(after + first * NR, (last - first) * NR, n.tiles);
    for (int64_t t = 0; t < n.tiles; ++t) {
      const Tile& tile = n.tile[t];
      const int64_t from = most(first, tile.low), to = least(last, tile.high);
      if (from >= to) continue;
      fetch_part(next);
      product(tile.rows, cells(n, tile.first, from), n.stride, columns + from * NR, to - from,
              n.mixed + tile.first * n.plan.padded_values + c, n.plan.padded_values, true);
    }
  }
  mix_wild(n, first, last);
}

static bool sees_something(const Panel& n, const Row& row) {
  if (!n.plan.has_mask_cells) return row.sight.low < row.sight.high;
  for (int64_t key = row.sight.low; key < row.sight.high; ++key)
    if (sees(n.p, n.batch, row.head, row.query, key)) return true;
  return false;
}

// What weighs e^(score - from) weighs e^(score - to) after two multiplications with this: a power
// may be as large as e^60, and what one factor of e^-120 makes of it would still count.
INLINE float half_of_move(float from, float to) {
  return (float)__builtin_exp(((double)from - (double)to) / 2);
}

// Moves a row's shift up to `to`; what there is of it so far, up to key `stop`, shrinks by as much.
static void raise_shift(Panel& n, int64_t i, int64_t stop, float to) {
  Row& row = n.row[i];
  const float half = half_of_move(row.shift, to);
  row.shift = to;
  Gathered& found = n.gathered[i];
  found.sum = found.sum * half * half;
  found.moment = found.moment * half * half;
  for (Vector& lane : found.lanes) lane = lane * half * half;
  float* mixed = n.mixed + i * n.plan.padded_values;
  for (int64_t c = 0; c < n.plan.padded_values; c += W)
    store(mixed + c, load(mixed + c) * half * half);
  if (n.whole)
    for (int64_t key = most(n.tile[i / MR].low, n.start); key < stop; key += W)
      store(cells(n, i, key), load(cells(n, i, key)) * half * half);
}

// How the scores of a panel become powers.
struct Weighing {
  bool shifted;   // its scores need a shift
  bool moment;    // entropy is asked for
  float room;     // how far a score may rise above its row's shift before that moves
  PowerRow powers;
};

// Powers of one block. Where scores need a shift, it is the largest score of the first block that
// has one, and it moves only when one lies far above: later blocks seldom hold one. The moment, a
// sum of power x (score - largest), always is taken about the largest score so far, so that an
// entropy near 0 loses nothing.
static void weigh_block(Panel& n, int64_t first, int64_t last, const Weighing& how) {
  for (int64_t t = 0; t < n.tiles; ++t) {
    const int64_t from = most(first, n.tile[t].low), to = least(last, n.tile[t].high);
    if (from >= to) continue;
    for (int64_t i = n.tile[t].first; i < n.tile[t].first + n.tile[t].rows; ++i) {
      Row& row = n.row[i];
      Gathered& found = n.gathered[i];
      float* at = cells(n, i, from);
      if (how.shifted || how.moment) {
        const float largest = largest_yet(at, to - from, &found);
        if (largest > row.largest) {
          if (row.largest != -INFINITE) found.moment -= found.sum * (largest - row.largest);
          row.largest = largest;
        }
        if (how.shifted && largest > row.shift + how.room) raise_shift(n, i, from, largest);
      }
      how.powers(at, to - from, or_zero(row.shift), or_zero(row.largest), &found);
    }
  }
}

static void add_up(Panel& n) {
  for (int64_t i = 0; i < n.rows; ++i) {
    Row& row = n.row[i];
    const Gathered& found = n.gathered[i];
    const double shift = or_zero(row.shift);
    float total = sum_of(found.sum);
    if (n.p.sinks) total += (float)__builtin_exp((double)n.p.sinks[row.head] - shift);
    row.largest = largest_of(found.largest);
    // some seen power is above 0, unless every seen score is -inf: then 0 / 0
    if (total == 0 && sees_something(n, row)) total = NOT_A_NUMBER;
    if (n.p.lse) row.lse = (float)(shift + __builtin_log((double)total));
    row.spoiled = is_nan(total);
    row.total = row.spoiled || total == 0 ? 1 : total;
  }
}

// In a row that a NaN has reached every key that it sees has NaN: set so, cell by cell.
static void spoil(Panel& n) {
  for (int64_t i = 0; i < n.rows; ++i) {
    const Row& row = n.row[i];
    if (!row.spoiled) continue;
    for (int64_t c = 0; c < n.plan.padded_values; ++c)
      n.mixed[i * n.plan.padded_values + c] = NOT_A_NUMBER;
    if (!n.whole) continue;  // only the last block is there, and nobody asks for it
    // the blocks at the edges reach beyond what the row sees: a NaN shift has spoiled them too
    const Tile& tile = n.tile[i / MR];
    for (int64_t key = tile.low; key < tile.high; ++key) {
      const bool near = key >= row.sight.low && key < row.sight.high;
      const bool seen = near && sees(n.p, n.batch, row.head, row.query, key);
      *cells(n, i, key) = seen ? NOT_A_NUMBER : 0;
    }
  }
}

static void write_output(Panel& n) {
  const Problem& p = n.p;
  const int64_t size = p.number == FLOAT32 ? 4 : 2;
  for (int64_t i = 0; i < n.rows; ++i) {
    const Row& row = n.row[i];
    float* mixed = n.mixed + i * n.plan.padded_values;
    for (int64_t c = 0; c < n.plan.padded_values; c += W)
      store(mixed + c, load(mixed + c) / row.total);
    if (p.output)
      narrow(p.output +
                 (((n.batch * p.heads + row.head) * p.queries + row.query) * p.value_dim) * size,
             mixed, p.value_dim, p.number);
  }
}

// A row of which nothing has been computed.
static void clear_row(Panel& n, int64_t i) {
  Gathered& found = n.gathered[i];
  found.sum = found.moment = Vector{};
  found.largest = all(-INFINITE);
  for (Vector& lane : found.lanes) lane = all(-1);
  float* mixed = n.mixed + i * n.plan.padded_values;
  for (int64_t c = 0; c < n.plan.padded_values; c += W) store(mixed + c, Vector{});
}

// Rows and their sights, queries widened and scaled, tiles.
static void begin_panel(Panel& n, const Shared& shared, int64_t first_head, int64_t heads,
                        int64_t start, int64_t stop) {
  const Problem& p = n.p;
  n.rows = 0;
  n.read = false;
  for (int64_t head = first_head; head < first_head + heads; ++head)
    for (int64_t r = start; r < stop; ++r) {
      Row& row = n.row[n.rows];
      row.head = head;
      row.query = p.row_query[r];
      row.place = p.row_place[r];
      n.read |= row.place >= 0;
      row.sight = sight_of(p, n.batch, row.query);
      row.largest = -INFINITE;
      row.eligible = nullptr;
      if (p.received)
        row.eligible = shared.eligible +
                       ((n.batch * p.heads + head) * n.plan.eligible_sets +
                        n.run % n.plan.eligible_sets) * (p.keys + 1);
      widen(n.queries + n.rows * n.plan.padded_dim, cell_of(p.query, n.batch, head, row.query, 0),
            p.query.stride[3], p.dim, p.number, p.scale);
#if REGARD_PAIRS
      if (n.plan.pairs)
        pair_up(n.query_pairs + n.rows * n.plan.key_depth,
                cell_of(p.query, n.batch, head, row.query, 0), p.query.stride[3], p.dim);
#endif
      clear_row(n, n.rows++);
    }
  n.whole = n.plan.whole && n.read;
  n.tiles = 0;
  n.low = n.high = 0;
  for (int64_t first = 0; first < n.rows; first += MR, ++n.tiles) {
    Tile& tile = n.tile[n.tiles];
    tile.first = first;
    tile.rows = least(MR, n.rows - first);
    tile.low = tile.high = 0;
    for (int64_t i = first; i < first + tile.rows; ++i) {
      const Span& sight = n.row[i].sight;
      if (sight.low == sight.high) continue;
      const bool none = tile.low == tile.high;
      tile.low = none ? down(sight.low, NR) : least(tile.low, down(sight.low, NR));
      tile.high = none ? up(sight.high, NR) : most(tile.high, up(sight.high, NR));
    }
    if (tile.low == tile.high) continue;
    const bool none = n.low == n.high;
    n.low = none ? tile.low : least(n.low, tile.low);
    n.high = none ? tile.high : most(n.high, tile.high);
  }
  n.start = n.low;
  n.stop = n.high;
}

// Computes a panel. Where nothing needs whole rows, blocks overwrite one another: scores then
// never leave the first two caches.
static void weigh_and_mix(Panel& n) {
  const Problem& p = n.p;
  const bool wants_values = p.value.data && n.plan.padded_values > 0;
  Weighing how = {};
  how.room = room_around(n);
  how.shifted = !(highest_score(n) <= how.room);
  how.moment = p.entropy && n.read;
  how.powers = power_row_for(how.shifted, how.moment, p.max_score && n.read, p.top > 0 && n.read);
  for (int64_t i = 0; i < n.rows; ++i)
    n.row[i].shift = !how.shifted ? 0 : p.sinks ? p.sinks[n.row[i].head] : -INFINITE;
  n.base = n.low;
  n.stride = (n.whole ? n.high - n.low : least(BLOCK, n.high - n.low)) + 16;
  for (int64_t first = n.start; first < n.stop; first += BLOCK) {
    const int64_t last = least(first + BLOCK, n.stop);
    if (!n.whole) n.base = first;
    score_block(n, first, last);
    weigh_block(n, first, last, how);
    if (wants_values) mix_block(n, first, last);
  }
}
