// Few queries on many keys: keys in chunks, each a task, the last of which joins what they found.
//
// How many chunks there are depends on the shape of the call alone, and they are joined in order,
// so that threads change nothing.

// What one chunk found of a panel's rows. Scores that are kept whole lie in memory that all chunks
// share.
struct Chunk {
  Gathered* gathered;      // (rows)
  float* mixed;            // (rows, padded_values)
  float *shift, *largest;  // (rows)
};

INLINE Chunk chunk_of(const Plan& plan, const Shared& shared, int64_t index, int64_t chunk) {
  const int64_t rows = plan.panel_rows;
  float* at = shared.chunks + (index * plan.chunks + chunk) * plan.chunk_floats;
  float* mixed = at + rows * (int64_t)(sizeof(Gathered) / 4);
  float* shift = mixed + rows * plan.padded_values;
  return {(Gathered*)(void*)at, mixed, shift, shift + rows};
}

INLINE int64_t chunk_start(const Plan& plan, int64_t chunk) {
  return down(plan.padded_keys * chunk / plan.chunks, NR);
}

static void leave_chunk(const Panel& n, const Chunk& to) {
  for (int64_t i = 0; i < n.rows; ++i) {
    to.gathered[i] = n.gathered[i];
    to.shift[i] = n.row[i].shift;
    to.largest[i] = n.row[i].largest;
  }
  __builtin_memcpy(to.mixed, n.mixed, (size_t)(n.rows * n.plan.padded_values) * 4);
}

// Adds one chunk to a row whose shift and largest score are those of all chunks.
static void join_chunk(Panel& n, int64_t i, const Chunk& from, int64_t start, int64_t stop) {
  const Row& row = n.row[i];
  const Gathered& found = from.gathered[i];
  Gathered& all_found = n.gathered[i];
  const bool moved = from.shift[i] != row.shift;
  const float half = moved ? half_of_move(from.shift[i], row.shift) : 1;
  Vector moment = found.moment;
  if (from.largest[i] != -INFINITE) moment -= found.sum * (row.largest - from.largest[i]);
  all_found.sum += found.sum * half * half;
  all_found.moment += moment * half * half;
  all_found.largest = larger(found.largest, all_found.largest);
  for (int lane = 0; lane < 4; ++lane)
    all_found.lanes[lane] = larger(found.lanes[lane] * half * half, all_found.lanes[lane]);
  const int64_t width = n.plan.padded_values;
  float* mixed = n.mixed + i * width;
  for (int64_t c = 0; c < width; c += W)
    store(mixed + c, load(mixed + c) + load(from.mixed + i * width + c) * half * half);
  const Tile& tile = n.tile[i / MR];
  if (n.whole && moved)
    for (int64_t key = most(start, tile.low); key < least(stop, tile.high); key += W)
      store(cells(n, i, key), load(cells(n, i, key)) * half * half);
}

static void join_chunks(Panel& n, const Shared& shared, int64_t index) {
  for (int64_t i = 0; i < n.rows; ++i) {
    Row& row = n.row[i];
    for (int64_t chunk = 0; chunk < n.plan.chunks; ++chunk) {
      const Chunk from = chunk_of(n.plan, shared, index, chunk);
      if (from.shift[i] > row.shift) row.shift = from.shift[i];
      if (from.largest[i] > row.largest) row.largest = from.largest[i];
    }
    clear_row(n, i);
    for (int64_t chunk = 0; chunk < n.plan.chunks; ++chunk)
      join_chunk(n, i, chunk_of(n.plan, shared, index, chunk), chunk_start(n.plan, chunk),
                 chunk_start(n.plan, chunk + 1));
  }
}
