// What was asked for, read off a panel's weights while they are there.

constexpr int64_t FEW = 32;  // keys that are placed by counting

// The k-th largest of the 4 W lanes' maxima: at most the row's k-th largest weight, since each of
// those k lanes holds a key that reaches it. -1 where fewer lanes than k hold a key.
static float threshold(const Gathered& row, int64_t k) {
  if (k > 4 * W) return -1;
  Vector lanes[4] = {row.lanes[0], row.lanes[1], row.lanes[2], row.lanes[3]};
  Vector found = all(-1);
  for (int64_t i = 0; i < k; ++i) {
    found = largest_everywhere(larger(larger(lanes[0], lanes[1]), larger(lanes[2], lanes[3])));
    // equal ones go at once, which only lowers what is found
    for (Vector& lane : lanes) lane = lane == found ? all(-1) : lane;
  }
  return found[0];
}

// The next number below one that is above 0; any other is let through by -1.
INLINE float just_below(float x) { return x > 0 ? from_bits(bits_of(x) - 1) : -1; }

// Whether a key whose weight came out as 0 may be seen by its row; any other weight tells it.
static bool may_see(const Panel& n, const Row& row, int64_t key) {
  return key >= row.sight.low && key < row.sight.high &&
         (!n.plan.has_mask_cells || sees(n.p, n.batch, row.head, row.query, key));
}

// The keys from `key` on, NR of them, whose weights rise above the row's bar.
INLINE void keep_some(const Panel& n, Row& row, const float* at, int64_t key) {
  for (int64_t v = 0; v < NR; v += W)
    for (uint32_t above = lanes_of(load(at + v) > row.bar); above; above &= above - 1) {
      const int64_t j = v + __builtin_ctz(above);
      if (at[j] > 0 || may_see(n, row, key + j)) row.found[row.held++] = (int32_t)(key + j);
    }
}

// Sorts `count` keys by falling weight, equal ones by rising key: they stand in order of key, and
// a merge keeps it. `room` holds as many.
static void merge_by_weight(const float* weights, int32_t* keys, int32_t* room, int64_t count) {
  for (int64_t width = 1; width < count; width *= 2) {
    for (int64_t start = 0; start < count; start += 2 * width) {
      const int64_t middle = least(start + width, count), stop = least(start + 2 * width, count);
      int64_t a = start, b = middle;
      for (int64_t at = start; at < stop; ++at)
        room[at] = b >= stop || (a < middle && !(weights[keys[b]] > weights[keys[a]])) ? keys[a++]
                                                                                       : keys[b++];
    }
    for (int64_t i = 0; i < count; ++i) keys[i] = room[i];
  }
}

// The same for the few keys that a bar leaves: the place of each is how many come before it.
// Nobody can foretell how a comparison ends, so none is branched on: reading the 8 largest of 128
// keys takes 0.6 of the time.
static void place_by_weight(const float* weights, int32_t* keys, int32_t* room, int64_t count) {
  float weight[FEW];
  const int64_t padded = up(count, W);
  for (int64_t i = 0; i < padded; ++i) weight[i] = i < count ? weights[keys[i]] : -1;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t heavier = 0, alike = 0;  // a bit each
    for (int64_t j = 0; j < padded; j += W) {
      const Vector some = load(weight + j);
      heavier |= lanes_of(some > weight[i]) << j;
      alike |= lanes_of(some == weight[i]) << j;
    }
    room[__builtin_popcount(heavier | (alike & ((1u << i) - 1)))] = keys[i];
  }
  for (int64_t i = 0; i < count; ++i) keys[i] = room[i];
}

// One pass over the weights of some rows of a tile, all of one head: what each key receives of
// them is added up, and the largest of each row are kept. Weights of long rows come back from the
// last cache for it, so both are done at once.
template <bool RECEIVED, bool TOP>
static void scan_rows(const Panel& n, const Tile& tile, Row* const* rows, int64_t count,
                      float* received) {
  const float* weights[MR];
  for (int64_t r = 0; r < count; ++r) weights[r] = cells(n, rows[r] - n.row, 0);
  for (int64_t key = tile.low; key < tile.high; key += NR) {
    Vector sum[NV];
    for (int v = 0; v < NV; ++v) sum[v] = RECEIVED ? load(received + key + v * W) : Vector{};
    Whole above = Whole{};
    for (int64_t r = 0; r < count; ++r) {
      for (int v = 0; v < NV; ++v) {
        const Vector some = load(weights[r] + key + v * W);
        if (RECEIVED) sum[v] += some * rows[r]->inverse;
        if (TOP) above |= some > rows[r]->bar;
      }
    }
    if (RECEIVED)
      for (int v = 0; v < NV; ++v) store(received + key + v * W, sum[v]);
    if (TOP && any(above))
      for (int64_t r = 0; r < count; ++r) keep_some(n, *rows[r], weights[r] + key, key);
  }
}

static void scan_tile(const Panel& n, const Tile& tile, int64_t first, int64_t stop,
                      float* received) {
  Row* rows[MR];
  int64_t count = 0;
  for (int64_t i = first; i < stop; ++i) {
    Row& row = n.row[i];
    if (row.place < 0) continue;
    row.inverse = 1 / row.total;
    if (n.p.top) {
      row.bar = row.spoiled ? INFINITE : just_below(threshold(n.gathered[i], n.p.top));
      row.found = n.found + count * n.plan.padded_keys;
      row.held = 0;
    }
    rows[count++] = &row;
  }
  if (n.p.received && n.p.top)
    scan_rows<true, true>(n, tile, rows, count, received);
  else if (n.p.received)
    scan_rows<true, false>(n, tile, rows, count, received);
  else if (n.p.top)
    scan_rows<false, true>(n, tile, rows, count, received);
}

static void read_share(const Panel& n, int64_t i, int64_t at) {
  const Problem& p = n.p;
  const float* mixed = n.mixed + i * n.plan.padded_values;
  // of length about 1, so that its square does not underflow where a sink takes nearly all
  float size = -INFINITE, square = 0;
  for (int64_t c = 0; c < p.value_dim; ++c) {
    const float one = __builtin_fabsf(mixed[c]);
    size = one > size || is_nan(one) ? one : size;
  }
  float* unit = n.line;
  for (int64_t c = 0; c < p.value_dim; ++c) {
    unit[c] = mixed[c] / size;
    square += unit[c] * unit[c];
  }
  for (int64_t t = 0; t < p.top; ++t) {
    const int64_t key = p.top_index[at + t];
    float share = 0;
    if (key >= 0) {
      const char* value = cell_of(p.value, n.batch, n.row[i].head / n.plan.group, key, 0);
      float along = 0;
      for (int64_t c = 0; c < p.value_dim; ++c)
        along += number_at(value + c * p.value.stride[3], p.number) * unit[c];
      share = p.top_weight[at + t] * along / (size * square);
    }
    p.top_share[at + t] = n.row[i].spoiled ? NOT_A_NUMBER : share;
  }
}

static void read_top(const Panel& n, int64_t i, int64_t place) {
  const Problem& p = n.p;
  const Row& row = n.row[i];
  const int64_t at = place * p.top;
  const float* weights = cells(n, i, 0);
  const auto sort = row.held <= FEW ? place_by_weight : merge_by_weight;
  sort(weights, row.found, n.sorting, row.held);
  for (int64_t t = 0; t < p.top; ++t) {
    const bool there = t < row.held;
    p.top_index[at + t] = there ? row.found[t] : -1;
    p.top_weight[at + t] = row.spoiled ? NOT_A_NUMBER : there ? weights[row.found[t]] / row.total : 0;
  }
  if (p.top_share) read_share(n, i, at);
}

// -sum p ln p = (lse - x) sum(p) - sum(p (score - x)) for any x; never below 0.
static float entropy_of(const Panel& n, int64_t i) {
  const Row& row = n.row[i];
  if (row.spoiled) return NOT_A_NUMBER;
  const float mass = n.p.sinks ? sum_of(n.gathered[i].sum) / row.total : 1;
  // the lse about the largest score
  const float about =
      (float)(__builtin_log((double)row.total) + or_zero(row.shift) - or_zero(row.largest));
  const float entropy = about * mass - sum_of(n.gathered[i].moment) / row.total;
  return entropy < 0 ? 0 : entropy;
}

// Whether a row that is spoiled is so by a NaN, not by an infinite score.
static bool odd_score(const Panel& n, int64_t i) {
  const Problem& p = n.p;
  const Row& row = n.row[i];
  if (row.largest == INFINITE) return false;
  if (row.largest != -INFINITE) return true;
  const float* query = n.queries + i * n.plan.padded_dim;
  for (int64_t key = row.sight.low; key < row.sight.high; ++key) {
    if (!sees(p, n.batch, row.head, row.query, key)) continue;
    float score = 0;
    for (int64_t d = 0; d < p.dim; ++d)
      score += query[d] * number_at(cell_of(p.key, n.batch, row.head / n.plan.group, key, d), p.number);
    if (p.bias.data)
      score += number_at(cell_of(p.bias, n.batch, row.head, row.query, key), p.bias_number);
    if (is_nan(score)) return true;
  }
  return false;
}

// Everything of one row; `place` counts asked queries over batch items and heads.
static void read_row(const Panel& n, int64_t i) {
  const Problem& p = n.p;
  const Row& row = n.row[i];
  const int64_t head = n.batch * p.heads + row.head, place = head * p.asked + row.place;
  const Span sight = row.sight;
  if (p.lse) p.lse[place] = row.lse;
  if (p.max_score) p.max_score[place] = row.spoiled && odd_score(n, i) ? NOT_A_NUMBER : row.largest;
  if (p.entropy) p.entropy[place] = entropy_of(n, i);
  if (p.top > 0) read_top(n, i, place);
  if (p.kept_rows && p.kept_at[row.place] >= 0) {
    float* to = p.kept_rows + (head * p.kept + p.kept_at[row.place]) * p.keys;
    for (int64_t key = sight.low; key < sight.high; ++key) to[key] = *cells(n, i, key) / row.total;
  }
  if (p.kept_columns)
    for (int64_t c = 0; c < p.column_count; ++c)
      if (p.columns[c] >= sight.low && p.columns[c] < sight.high)
        p.kept_columns[place * p.column_count + c] = *cells(n, i, p.columns[c]) / row.total;
  if (p.group_mass) {
    float* mass = p.group_mass + place * p.groups;
    for (int64_t s = 0; s < p.spans; ++s) {
      const int64_t from = most(p.span_start[s], sight.low);
      const int64_t to = least(p.span_start[s + 1], sight.high);
      if (p.span_group[s] >= 0 && from < to)
        mass[p.span_group[s]] += sum_range(cells(n, i, from), to - from);
    }
    for (int64_t g = 0; g < p.groups; ++g) mass[g] /= row.total;
  }
}

// One row's mass on each block of keys, added to its block of rows.
static void read_small(const Panel& n, int64_t i, float* small) {
  const Problem& p = n.p;
  const Row& row = n.row[i];
  float* to = small + row.place * p.thumbnail / p.asked * p.thumbnail;
  for (int64_t g = 0; g < p.thumbnail; ++g) {
    // keys j with floor(j g / keys) the same
    const int64_t start = (g * p.keys + p.thumbnail - 1) / p.thumbnail;
    const int64_t stop = ((g + 1) * p.keys + p.thumbnail - 1) / p.thumbnail;
    const int64_t from = most(start, row.sight.low), end = least(stop, row.sight.high);
    if (from < end) to[g] += sum_range(cells(n, i, from), end - from) * row.inverse;
  }
}

static void read_panel(const Panel& n, const Shared& shared) {
  const Problem& p = n.p;
  for (int64_t first = 0, last; first < n.rows; first = last) {
    const int64_t head = n.row[first].head;
    for (last = first + 1; last < n.rows && n.row[last].head == head;) ++last;
    const int64_t set = (n.batch * p.heads + head) * n.plan.runs + n.run;
    for (int64_t t = first / MR; t * MR < last; ++t) {
      const Tile& tile = n.tile[t];
      const int64_t from = most(tile.first, first), stop = least(tile.first + tile.rows, last);
      scan_tile(n, tile, from, stop, shared.received + set * n.plan.padded_keys);
      for (int64_t i = from; i < stop; ++i) {
        const Row& row = n.row[i];
        if (row.place < 0) continue;
        read_row(n, i);
        if (p.received && !n.plan.has_mask_cells) {
          __atomic_add_fetch(row.eligible + row.sight.low, 1, __ATOMIC_RELAXED);
          __atomic_sub_fetch(row.eligible + row.sight.high, 1, __ATOMIC_RELAXED);
        }
        if (p.thumbnail) read_small(n, i, shared.small + set * p.thumbnail * p.thumbnail);
      }
    }
  }
}
