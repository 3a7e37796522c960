// One call as plain numbers and pointers, and what its parts share while it runs.
//
// Every part includes this file: the binding fills a Problem, the variants compute it. Nothing
// here has a constructor or a function, so nothing here can be compiled twice for different
// processors and merged by the linker.
#pragma once

#include <cstddef>
#include <cstdint>

namespace regard {

enum Number : int { FLOAT32 = 0, FLOAT16 = 1, BFLOAT16 = 2 };

// Somebody else's memory with four axes; strides in bytes, 0 where an axis is broadcast.
struct Array {
  const char* data;
  int64_t stride[4];
};

struct Problem {
  int64_t batch, heads, kv_heads, queries, keys, dim, value_dim;
  int number;                // of query, key, value and output
  Array query, key, value;   // value.data is null where no result is wanted
  char* output;              // (batch, heads, queries, value_dim), contiguous, or null
  float scale, softcap;      // softcap 0: none
  const float* sinks;        // (heads), or null

  // Which keys a query may see: FlatMask.
  int64_t left, right, unlimited;
  const int64_t *offset, *lengths;                // (batch)
  const int32_t *query_segments, *key_segments;   // (batch, queries), (batch, keys), or null both
  const int64_t *first_key, *last_key;            // (batch, queries): reach of a query's label
  Array allowed, bias;                            // data null: none
  int bias_number;

  // Which rows are computed, and what is read of them: FlatAsk.
  int64_t rows;              // of one head
  const int64_t* row_query;  // (rows), ascending
  const int64_t* row_place;  // (rows): place among the asked queries, -1 for a row not read
  int64_t asked, top;
  const int64_t* columns;
  int64_t column_count;
  const int64_t* kept_at;    // (asked): place among the rows kept whole, or -1; null without any
  int64_t kept;
  const int64_t* span_start;  // (spans + 1): runs of keys of one label
  const int64_t* span_group;  // (spans): their label, -1 for none
  int64_t spans, groups;
  int64_t thumbnail;

  // Where readings go, (batch, heads, ...) and contiguous; null where not asked.
  int32_t* top_index;
  float *top_weight, *top_share, *entropy, *lse, *max_score, *received;
  int32_t* eligible;
  float *kept_rows, *kept_columns, *group_mass, *small;

  int64_t threads;
};

// How a call is cut: by its shape alone, so that results do not depend on threads.
struct Plan {
  int64_t group;          // query heads a key head has
  int64_t panel_rows;     // rows of one panel
  int64_t heads_at_once;  // above 1, a panel holds all rows of that many heads
  int64_t parts;          // of a group, where heads_at_once is above 1
  int64_t chunks;         // of the keys, each of them a task; above 1 in a decode alone
  int64_t chunk_floats;   // what one leaves behind
  int64_t eligible_sets;  // of one head: a count needs no order, so one serves where it can
  int64_t panels, runs;   // of one head; a run is some panels after another
  int64_t tasks_of_group, tasks;
  int64_t padded_keys, padded_values, padded_dim;
  int64_t key_floats, value_floats;  // of one key head, packed
  int64_t key_depth;                 // floats of a packed key: its dim, or half where pairs
  int64_t row_stride;                // of a panel's scores, at most
  int64_t scratch_floats;            // of one thread
  bool has_mask_cells;               // a mask that must be asked cell by cell
  bool pairs, value_pairs;           // products of bfloat16 pairs, see products.inl
  bool direct;                       // keys are packed block by block, for one panel alone
  bool whole;                        // readings that need a row's weights all at once
};

// A key head, packed once for all query heads and panels that read it.
struct Head {
  float *keys, *values;
  int32_t* wild;  // keys whose value is not finite; their packed values are 0
  int64_t wild_count;
  float longest_key, largest_value;  // of what is finite
  int state;      // 0 nobody came yet, 1 being packed, 2 ready
  int64_t left;   // tasks that still need it
};

struct Shared {
  Head* heads;      // one a key head of each batch item
  int64_t slots;    // memory for as many packed heads as can be in use at once
  float* packs;     // (slots, key_floats + value_floats)
  int32_t* wild;    // (slots, keys)
  float* chunks;    // (batch * kv_heads, chunks, chunk_floats), or null
  float* scores;    // (batch * kv_heads, panel_rows, row_stride), where chunks keep rows whole
  // Sums over queries, one set a run and added in order in the end.
  float* received;      // (batch, heads, runs, padded_keys)
  int32_t* eligible;    // (batch, heads, sets, keys + 1): differences, or counts with mask cells
  float* small;         // (batch, heads, runs, thumbnail, thumbnail)
  bool (*go_on)(void*);  // false once the call is to stop; asked before every panel
  void* watch;
};

// One instruction set's text of the kernel.
struct Variant {
  const char* name;
  void (*plan)(const Problem&, Plan&);
  void (*task)(const Problem&, const Plan&, Shared&, int64_t task, float* scratch);
};

}  // namespace regard
