// What was asked for, read off a panel's weights while they are there.

// Sorts `count` numbers of `index` by falling weight, equal ones by rising key: they stand in
// order of key, and a merge keeps it. `room` holds as many.
static void sort_by_weight(const float* weights, int64_t* index, int64_t* room, int64_t count) {
  for (int64_t width = 1; width < count; width *= 2) {
    for (int64_t start = 0; start < count; start += 2 * width) {
      const int64_t middle = least(start + width, count), stop = least(start + 2 * width, count);
      int64_t a = start, b = middle;
      for (int64_t at = start; at < stop; ++at)
        room[at] = b >= stop || (a < middle && !(weights[index[b]] > weights[index[a]]))
                       ? index[a++]
                       : index[b++];
    }
    for (int64_t i = 0; i < count; ++i) index[i] = room[i];
  }
}

// The k-th largest of the 4 W lanes' maxima: at most the row's k-th largest weight, since each of
// those k lanes holds a key that reaches it. Below 0 where fewer lanes than k hold a key.
static float threshold(const Gathered& row, int64_t k) {
  if (k > 4 * W) return -1;
  float best[4 * W];
  int64_t held = 0;
  for (int lane = 0; lane < 4; ++lane)
    for (int i = 0; i < W; ++i) {
      const float x = row.lanes[lane][i];
      if (held == k && !(x > best[k - 1])) continue;
      int64_t at = held < k ? held++ : k - 1;
      for (; at > 0 && best[at - 1] < x; --at) best[at] = best[at - 1];
      best[at] = x;
    }
  return held < k ? -1 : best[k - 1];
}

// Keys of one row among which its k largest weights are, into `found`, in order of key.
static int64_t candidates(const Panel& n, int64_t i, int64_t k, int64_t* found) {
  const Row& row = n.row[i];
  const float* at = cells(n, i, 0);
  const float enough = threshold(n.gathered[i], k);
  int64_t count = 0;
  if (enough > 0) {
    const Tile& tile = n.tile[i / MR];
    const Vector bar = all(enough);
    for (int64_t key = tile.low; key < tile.high; key += NR) {
      Whole reached = load(at + key) >= bar;
      for (int v = 1; v < NV; ++v) reached |= load(at + key + v * W) >= bar;
      if (!any(reached)) continue;
      for (int64_t j = key; j < key + NR; ++j)
        if (at[j] >= enough) found[count++] = j;
    }
    return count;
  }
  for (int64_t key = row.sight.low; key < row.sight.high; ++key)
    if (at[key] > 0 || !n.plan.has_mask_cells ||
        sees(n.p, n.batch, row.head, row.query, key))
      found[count++] = key;
  return count;
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
  int64_t count = 0;
  int64_t* found = n.chosen;
  if (!row.spoiled) {
    count = candidates(n, i, p.top, found);
    sort_by_weight(cells(n, i, 0), found, found + n.plan.padded_keys, count);
  }
  for (int64_t t = 0; t < p.top; ++t) {
    const bool there = t < count;
    p.top_index[at + t] = there ? (int32_t)found[t] : -1;
    p.top_weight[at + t] = row.spoiled ? NOT_A_NUMBER : there ? *cells(n, i, found[t]) / row.total : 0;
  }
  if (p.top_share) read_share(n, i, at);
}

// -sum p ln p = (lse - x) sum(p) - sum(p (score - x)) for any x; never below 0.
static float entropy_of(const Panel& n, int64_t i) {
  const Row& row = n.row[i];
  if (row.spoiled) return NOT_A_NUMBER;
  const float mass = n.p.sinks ? sum_of(n.gathered[i].sum) / row.total : 1;
  // the lse about the reference, which is the shift where there is one
  const float about = (float)(__builtin_log((double)row.total) + row.shift - row.reference);
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

// Column sums over rows first..last - 1, of one head, a few vectors of keys at a time over all
// rows: each cell is read once, and sums stay in registers.
static void read_received(const Panel& n, int64_t first, int64_t last, float* received) {
  for (int64_t key = n.low; key < n.high; key += NR) {
    Vector sum[NV];
    for (int v = 0; v < NV; ++v) sum[v] = Vector{};
    for (int64_t t = first / MR; t * MR < last; ++t) {
      const Tile& tile = n.tile[t];
      if (key < tile.low || key >= tile.high) continue;
      const int64_t stop = least(tile.first + tile.rows, last);
      for (int64_t i = most(tile.first, first); i < stop; ++i) {
        if (n.row[i].place < 0) continue;
        const Vector share = all(n.row[i].inverse);
        const float* at = cells(n, i, key);
        for (int v = 0; v < NV; ++v) sum[v] += load(at + v * W) * share;
      }
    }
    for (int v = 0; v < NV; ++v) {
      float* to = received + key + v * W;
      if (key + v * W + W <= n.p.keys)
        store(to, load(to) + sum[v]);
      else
        for (int64_t j = 0; j < n.p.keys - key - v * W; ++j) to[j] += sum[v][j];
    }
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
  for (int64_t i = 0; i < n.rows; ++i) {
    n.row[i].inverse = 1 / n.row[i].total;
    if (n.row[i].place >= 0) read_row(n, i);
  }
  for (int64_t first = 0, last; first < n.rows; first = last) {
    const int64_t head = n.row[first].head;
    for (last = first + 1; last < n.rows && n.row[last].head == head;) ++last;
    const int64_t set = (n.batch * p.heads + head) * n.plan.runs + n.run;
    if (p.received) read_received(n, first, last, shared.received + set * p.keys);
    for (int64_t i = first; i < last; ++i) {
      const Row& row = n.row[i];
      if (row.place < 0) continue;
      if (p.received && !n.plan.has_mask_cells) {
        __atomic_add_fetch(row.eligible + row.sight.low, 1, __ATOMIC_RELAXED);
        __atomic_sub_fetch(row.eligible + row.sight.high, 1, __ATOMIC_RELAXED);
      }
      if (p.thumbnail) read_small(n, i, shared.small + set * p.thumbnail * p.thumbnail);
    }
  }
}
