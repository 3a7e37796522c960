// How a call is cut, and one piece of it.

constexpr int64_t MOST_ROWS = 96;

static int64_t keys_in_sight(const Problem& p) {
  if (p.left == p.unlimited || p.right == p.unlimited) return p.keys;
  const int64_t left = most(least(p.left, p.keys), -p.keys);
  const int64_t right = most(least(p.right, p.keys), -p.keys);
  return most(1, least(p.keys, left + right + 1 + MOST_ROWS));
}

// Where there are fewer heads than could keep threads busy, their keys are cut, if rows that are
// kept whole for all chunks at once do not take too much memory.
static int64_t chunks_of(const Problem& p, const Plan& plan) {
  const int64_t heads = p.batch * p.kv_heads;
  if (plan.whole && heads * plan.panel_rows * plan.row_stride > REGARD_SHARED) return 1;
  return most(1, least(16 / most(1, heads), p.keys / REGARD_CHUNK));
}

static void make_plan(const Problem& p, Plan& plan) {
  plan.group = p.kv_heads ? p.heads / p.kv_heads : 0;
  plan.padded_keys = up(p.keys, NR);
  plan.padded_values = up(p.value_dim, NR);
  plan.padded_dim = p.dim;
  plan.has_mask_cells = p.query_segments || p.allowed.data || p.bias.data;
  plan.whole = p.top > 0 || p.received || p.kept_rows || p.kept_columns || p.group_mass ||
               p.thumbnail > 0;
  // where blocks of keys overwrite one another, rows cost no cache
  const int64_t kept = plan.whole ? keys_in_sight(p) : BLOCK;
  const int64_t fitting = down(REGARD_PANEL / most(1, kept), MR);
  // Longer rows leave the cache whatever their number; then more of them share each fetch of keys
  // and values (5 to 10 % at 8192 and 16384 keys), until they take too much memory.
  const int64_t sharing = least(48, down(REGARD_PANEL * 12 / most(1, kept), MR));
  const int64_t room = most(REGARD_LEAST_ROWS, least(MOST_ROWS, most(fitting, sharing)));
  plan.heads_at_once = 1;
  if (plan.group > 1 && 2 * p.rows <= room)
    plan.heads_at_once = least(plan.group, room / most(1, p.rows));
  if (plan.heads_at_once > 1) {
    plan.panels = plan.runs = 1;
    plan.panel_rows = plan.heads_at_once * p.rows;
  } else {
    plan.panels = up(p.rows, room) / room;
    plan.panel_rows = up((p.rows + plan.panels - 1) / most(1, plan.panels), MR);  // about alike
    plan.runs = most(1, least(least(16, 64 / most(1, p.batch * p.heads)), plan.panels));
  }
  plan.eligible_sets = plan.has_mask_cells ? plan.runs : 1;
  plan.parts = plan.heads_at_once > 1
                   ? (plan.group + plan.heads_at_once - 1) / plan.heads_at_once
                   : plan.group;
  // Keys that one panel alone reads (a decode) need not be packed for others: block by block, in
  // the first caches, they are read from memory once and written nowhere.
  plan.direct = plan.parts == 1 && plan.panels == 1 && plan.heads_at_once == plan.group &&
                plan.padded_keys * p.dim * 4 > REGARD_DIRECT;
  // for the few rows of a decode, pairs cost more to form than their products save
  plan.pairs = REGARD_PAIRS && p.number == BFLOAT16 && !plan.direct;
  plan.value_pairs = plan.pairs && !p.top_share;  // a share is read off the result of exact weights
  plan.key_depth = plan.pairs ? up(p.dim, 2) / 2 : p.dim;
  plan.key_floats = plan.padded_keys * plan.key_depth;
  plan.value_floats = plan.padded_keys * plan.padded_values;
  if (plan.direct) plan.key_floats = plan.value_floats = 0;
  plan.row_stride = (plan.whole ? plan.padded_keys : least(BLOCK, plan.padded_keys)) + 16;
  const int64_t rows = plan.panel_rows;
  plan.chunks = plan.direct ? chunks_of(p, plan) : 1;
  plan.chunk_floats = up(rows * ((int64_t)(sizeof(Gathered) / 4) + plan.padded_values + 2), 16);
  plan.tasks_of_group = plan.parts * plan.runs * plan.chunks;
  plan.tasks = p.rows ? p.batch * p.kv_heads * plan.tasks_of_group : 0;
  plan.scratch_floats =
      16 * 16 + rows * (p.dim + plan.row_stride + plan.padded_values) + NR * p.dim + BLOCK +
      plan.padded_values + BLOCK / 4 +
      rows * (int64_t)((sizeof(Gathered) + sizeof(Row) + sizeof(Tile)) / 4) +
      (p.top > 0 ? (MR + 1) * plan.padded_keys + 32 : 0) +
      (plan.pairs ? rows * (plan.key_depth + BLOCK / 2 + 16) + 32 : 0) +
      (plan.direct ? BLOCK * (p.dim + plan.padded_values + 1) + 48 : 0);
}

// The next `bytes` of a thread's memory, on a boundary of 64.
INLINE char* carve(char*& at, int64_t bytes) {
  char* found = at;
  at += up(bytes, 64);
  return found;
}

// The packed head; packs it if nobody has. False when the call is to stop.
//
// Heads come in order, so that the memory of one that is done serves a later one.
static bool packed(const Problem& p, const Plan& plan, Shared& shared, int64_t index,
                   float* room) {
  Head& head = shared.heads[index];
  int nobody = 0;
  if (__atomic_compare_exchange_n(&head.state, &nobody, 1, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    if (index >= shared.slots) {
      int64_t* left = &shared.heads[index - shared.slots].left;
      while (__atomic_load_n(left, __ATOMIC_ACQUIRE) > 0) {
        if (!shared.go_on(shared.watch)) return false;
        sched_yield();
      }
    }
    const int64_t slot = index % shared.slots;
    const int64_t batch = index / p.kv_heads, kv_head = index % p.kv_heads;
    head.keys = shared.packs + slot * (plan.key_floats + plan.value_floats);
    head.values = head.keys + plan.key_floats;
    head.wild = shared.wild + slot * p.keys;
    head.wild_count = 0;
    head.largest_value = 0;
    head.longest_key = INFINITE;
    if (!plan.direct) {
      head.longest_key = pack_some_keys(p, plan, cell_of(p.key, batch, kv_head, 0, 0), 0,
                                        plan.padded_keys, head.keys, room);
      if (p.value.data && p.value_dim) {
        Values values = {head.values, plan.padded_keys, head.wild, 0, 0};
        pack_values(p, plan, cell_of(p.value, batch, kv_head, 0, 0), 0, plan.padded_keys, values,
                    room);
        head.wild_count = values.wild_count;
        head.largest_value = values.largest;
      }
    }
    __atomic_store_n(&head.state, 2, __ATOMIC_RELEASE);
    return true;
  }
  while (__atomic_load_n(&head.state, __ATOMIC_ACQUIRE) != 2) {
    if (!shared.go_on(shared.watch)) return false;
    sched_yield();
  }
  return true;
}

static void do_task(const Problem& p, const Plan& plan, Shared& shared, int64_t task,
                    float* scratch) {
  const int64_t index = task / plan.tasks_of_group, within = task % plan.tasks_of_group;
  const int64_t part = within / (plan.runs * plan.chunks), rows = plan.panel_rows;
  char* at = (char*)scratch;
  Panel n = {p, plan, shared.heads[index]};
  n.batch = index / p.kv_heads;
  n.run = within % plan.runs;
  const int64_t chunk = within % plan.chunks;  // of more than one only where nothing else is cut
  n.queries = (float*)carve(at, 4 * rows * p.dim);
  n.scores = (float*)carve(at, 4 * rows * plan.row_stride);
  n.mixed = (float*)carve(at, 4 * rows * plan.padded_values);
  n.line = (float*)carve(at, 4 * (NR * p.dim + BLOCK + plan.padded_values));
  n.seen = (unsigned char*)carve(at, BLOCK);
  n.gathered = (Gathered*)(void*)carve(at, rows * (int64_t)sizeof(Gathered));
  n.row = (Row*)(void*)carve(at, rows * (int64_t)sizeof(Row));
  n.tile = (Tile*)(void*)carve(at, rows * (int64_t)sizeof(Tile));
  n.found = (int32_t*)(void*)carve(at, p.top > 0 ? 4 * MR * plan.padded_keys : 0);
  n.sorting = (int32_t*)(void*)carve(at, p.top > 0 ? 4 * plan.padded_keys : 0);
  if (!packed(p, plan, shared, index, n.line)) return;
  if (plan.pairs) {
    n.query_pairs = (float*)carve(at, 4 * rows * plan.key_depth);
    n.weight_pairs = (float*)carve(at, 4 * rows * (BLOCK / 2 + 16));
  }
  n.keys = n.head.keys;
  n.values = n.head.values;
  n.depth = plan.padded_keys;
  n.wild = n.head.wild;
  n.wild_count = n.head.wild_count;
  if (plan.direct) {
    n.keys = (float*)carve(at, 4 * BLOCK * p.dim);
    n.values = (float*)carve(at, 4 * BLOCK * plan.padded_values);
    n.wild_room = (int32_t*)(void*)carve(at, 4 * BLOCK);
  }
  const int64_t first_head = index % p.kv_heads * plan.group + part * plan.heads_at_once;
  const int64_t heads = least(plan.heads_at_once, plan.group - part * plan.heads_at_once);
  const int64_t begin = plan.panels * n.run / plan.runs;
  const int64_t end = plan.panels * (n.run + 1) / plan.runs;
  for (int64_t panel = begin; panel < end && shared.go_on(shared.watch); ++panel) {
    const int64_t start = plan.heads_at_once > 1 ? 0 : panel * rows;
    begin_panel(n, shared, first_head, heads, start,
                plan.heads_at_once > 1 ? p.rows : least(start + rows, p.rows));
    if (plan.chunks > 1) {
      n.start = most(n.low, chunk_start(plan, chunk));
      n.stop = least(n.high, chunk_start(plan, chunk + 1));
      if (n.whole) n.scores = shared.scores + index * rows * plan.row_stride;
    }
    weigh_and_mix(n);
    if (plan.chunks > 1) {
      leave_chunk(n, chunk_of(plan, shared, index, chunk));
      if (__atomic_sub_fetch(&shared.heads[index].left, 1, __ATOMIC_ACQ_REL) > 0) return;
      join_chunks(n, shared, index);
    }
    add_up(n);
    spoil(n);
    write_output(n);
    if (n.read) read_panel(n, shared);
  }
  if (plan.chunks == 1) __atomic_sub_fetch(&shared.heads[index].left, 1, __ATOMIC_ACQ_REL);
}
