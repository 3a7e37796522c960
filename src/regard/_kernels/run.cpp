// One call: its memory, its tasks, and the sums over queries added up in the end.

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include "kernel.h"
#include "pool.h"

namespace regard {
namespace {

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};

template <class T>
using Memory = std::unique_ptr<T[], Freed>;

// On a boundary of 64 bytes, a vector of AVX-512; not set to anything.
template <class T>
Memory<T> taken(int64_t count) {
  const size_t bytes = (static_cast<size_t>(count) * sizeof(T) + 64) / 64 * 64;
  void* memory = std::aligned_alloc(64, bytes);
  if (!memory) throw std::bad_alloc();
  return Memory<T>(static_cast<T*>(memory));
}

template <class T>
Memory<T> zeros(int64_t count) {
  Memory<T> memory = taken<T>(count);
  std::memset(memory.get(), 0, static_cast<size_t>(count) * sizeof(T));
  return memory;
}

// A call's threads ask this; the caller's thread may look at signals meanwhile.
struct Watched {
  bool (*go_on)(void*, bool);
  void* watch;
  bool caller;
};

bool ask(void* watched) {
  const auto* mine = static_cast<const Watched*>(watched);
  return mine->go_on(mine->watch, mine->caller);
}

// Sets of sums, one a run, into one; in order, so that no thread's speed changes a bit.
void add_runs(const Problem& p, const Plan& plan, const Shared& shared) {
  for (int64_t head = 0; head < p.batch * p.heads; ++head) {
    if (p.received) {
      float* to = p.received + head * p.keys;
      std::memset(to, 0, static_cast<size_t>(p.keys) * 4);
      int32_t* counts = p.eligible + head * p.keys;
      std::memset(counts, 0, static_cast<size_t>(p.keys) * 4);
      for (int64_t run = 0; run < plan.runs; ++run) {
        const float* from = shared.received + (head * plan.runs + run) * plan.padded_keys;
        for (int64_t key = 0; key < p.keys; ++key) to[key] += from[key];
      }
      for (int64_t set = 0; set < plan.eligible_sets; ++set) {
        const int32_t* seen = shared.eligible + (head * plan.eligible_sets + set) * (p.keys + 1);
        for (int64_t key = 0; key < p.keys; ++key) counts[key] += seen[key];
      }
      if (!plan.has_mask_cells)  // differences from key to key
        for (int64_t key = 1; key < p.keys; ++key) counts[key] += counts[key - 1];
    }
    const int64_t cells = p.thumbnail * p.thumbnail;
    for (int64_t run = 0; run < plan.runs && p.thumbnail; ++run)
      for (int64_t cell = 0; cell < cells; ++cell)
        p.small[head * cells + cell] += shared.small[(head * plan.runs + run) * cells + cell];
  }
}

}  // namespace

bool run(const Problem& p, const Variant& variant, bool (*go_on)(void*, bool), void* watch) {
  Plan plan = {};
  variant.plan(p, plan);
  const int64_t heads = p.batch * p.kv_heads;
  int64_t threads = p.threads < plan.tasks ? p.threads : plan.tasks;
  // starting others costs more than a small call takes
  const int64_t work = p.batch * p.heads * p.rows * p.keys * (p.dim + p.value_dim);
  if (work < (int64_t)1 << 21) threads = 1;
  if (threads < 1) threads = 1;

  Shared shared = {};
  const Memory<Head> packed = zeros<Head>(heads);
  for (int64_t index = 0; index < heads; ++index) packed[index].left = plan.tasks_of_group;
  shared.heads = packed.get();
  shared.slots = heads < threads + 1 ? heads : threads + 1;
  const Memory<float> packs = taken<float>(shared.slots * (plan.key_floats + plan.value_floats));
  const Memory<int32_t> wild = taken<int32_t>(shared.slots * p.keys);
  shared.packs = packs.get();
  shared.wild = wild.get();
  const bool cut = plan.chunks > 1;
  const Memory<float> chunks = taken<float>(cut ? heads * plan.chunks * plan.chunk_floats : 0);
  const Memory<float> scores =
      taken<float>(cut && plan.whole ? heads * plan.panel_rows * plan.row_stride : 0);
  shared.chunks = chunks.get();
  shared.scores = scores.get();
  const int64_t sets = p.batch * p.heads * plan.runs;
  const Memory<float> received = zeros<float>(p.received ? sets * plan.padded_keys : 0);
  const Memory<int32_t> eligible = zeros<int32_t>(
      p.received ? p.batch * p.heads * plan.eligible_sets * (p.keys + 1) : 0);
  const Memory<float> small = zeros<float>(sets * p.thumbnail * p.thumbnail);
  shared.received = received.get();
  shared.eligible = eligible.get();
  shared.small = small.get();
  const int64_t each = (plan.scratch_floats + 15) / 16 * 16;
  const Memory<float> scratch = taken<float>(threads * each);

  shared.go_on = ask;
  run_all(plan.tasks, threads, [&](int64_t task, int64_t worker) {
    Watched watched = {go_on, watch, worker == 0};
    Shared mine = shared;
    mine.watch = &watched;
    variant.task(p, plan, mine, task, scratch.get() + worker * each);
  });
  if (!go_on(watch, true)) return false;
  add_runs(p, plan, shared);
  return true;
}

}  // namespace regard
