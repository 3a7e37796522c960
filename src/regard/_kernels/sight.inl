// What a query may see: a range of keys for each row, and cells hidden within it.

struct Span {
  int64_t low, high;  // keys low..high - 1; 0, 0 where a row sees nothing for certain
};

INLINE Span sight_of(const Problem& p, int64_t batch, int64_t query) {
  const int64_t position = query + p.offset[batch];
  Span span = {0, p.lengths[batch]};
  if (p.left != p.unlimited) span.low = most(0, position - p.left);
  if (p.right != p.unlimited) span.high = least(span.high, position + p.right + 1);
  if (p.query_segments) {
    span.low = most(span.low, p.first_key[batch * p.queries + query]);
    span.high = least(span.high, p.last_key[batch * p.queries + query]);
  }
  return span.low < span.high ? span : Span{0, 0};
}

INLINE const char* cell_of(const Array& array, int64_t batch, int64_t head, int64_t query,
                           int64_t key) {
  return array.data + batch * array.stride[0] + head * array.stride[1] + query * array.stride[2] +
         key * array.stride[3];
}

// Whether a row may see one key; for the few places that ask about single cells.
static bool sees(const Problem& p, int64_t batch, int64_t head, int64_t query, int64_t key) {
  const Span span = sight_of(p, batch, query);
  if (key < span.low || key >= span.high) return false;
  if (p.query_segments && (p.query_segments[batch * p.queries + query] < 0 ||
                           p.query_segments[batch * p.queries + query] !=
                               p.key_segments[batch * p.keys + key]))
    return false;
  if (p.allowed.data && !*cell_of(p.allowed, batch, head, query, key)) return false;
  return !(p.bias.data &&
           number_at(cell_of(p.bias, batch, head, query, key), p.bias_number) == -INFINITE);
}

// Bias, and -inf in every hidden cell, for keys first..last of one row; `seen` has room for them.
// Counts in `eligible` (from key `first` on, or null) who may see each key.
static void mask_cells(const Problem& p, int64_t batch, int64_t head, int64_t query, int64_t first,
                       int64_t last, float* scores, float* bias, unsigned char* seen,
                       int32_t* eligible) {
  const int64_t count = last - first;
  for (int64_t j = 0; j < count; ++j) seen[j] = 1;
  if (p.query_segments) {
    const int32_t mine = p.query_segments[batch * p.queries + query];
    const int32_t* labels = p.key_segments + batch * p.keys + first;
    for (int64_t j = 0; j < count; ++j) seen[j] = labels[j] == mine;
  }
  if (p.allowed.data) {
    const char* cells = cell_of(p.allowed, batch, head, query, first);
    const int64_t step = p.allowed.stride[3];
    if (step == 1)
      for (int64_t j = 0; j < count; ++j) seen[j] &= cells[j] != 0;
    else
      for (int64_t j = 0; j < count; ++j) seen[j] &= cells[j * step] != 0;
  }
  if (p.bias.data) {
    widen(bias, cell_of(p.bias, batch, head, query, first), p.bias.stride[3], count, p.bias_number,
          1.0f);
    for (int64_t j = 0; j < count; ++j) {
      scores[j] += bias[j];
      seen[j] &= bias[j] != -INFINITE;
    }
  }
  for (int64_t j = 0; j < count; ++j) scores[j] = seen[j] ? scores[j] : -INFINITE;
  if (eligible)
    for (int64_t j = 0; j < count; ++j) eligible[j] += seen[j];
}
