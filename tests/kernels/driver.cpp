// Runs the kernel without Python on a set of shapes and compares it with plain sums in double.
//
//   driver           every variant this processor executes, one thread and three
//
// Built with sanitizers, this is what finds a read past a buffer, a race or an undefined shift:
// inputs and outputs are vectors of exactly their size. Exits with 1 at the first wrong number.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernel.h"

namespace {

using regard::Array;
using regard::Problem;
using regard::Variant;

constexpr int64_t UNLIMITED = int64_t{1} << 62;

struct Case {
  const char* name;
  int64_t batch, heads, kv_heads, queries, keys, dim, value_dim;
  bool causal = false;
  int64_t left = UNLIMITED, length = -1, segments = 0;
  bool allowed = false, bias = false, sinks = false, wild = false;
  float softcap = 0, size = 1;
  int64_t every = 1;  // only every so many rows are asked for
};

const Case CASES[] = {
    {"one", 1, 1, 1, 1, 1, 1, 1},
    {"odd sizes", 2, 4, 2, 63, 100, 17, 23},
    {"causal", 1, 2, 2, 257, 257, 16, 16, true},
    {"many panels", 1, 2, 1, 700, 700, 8, 8},
    {"window", 1, 1, 1, 600, 600, 8, 8, true, 50},
    {"lengths", 2, 2, 2, 40, 90, 8, 8, false, UNLIMITED, 31},
    {"no keys", 1, 2, 2, 7, 0, 8, 8},
    {"no queries", 1, 2, 2, 0, 7, 8, 8},
    {"values without columns", 1, 2, 2, 9, 9, 8, 0},
    {"segments", 1, 2, 2, 100, 100, 8, 8, false, UNLIMITED, -1, 4},
    {"allowed", 1, 2, 2, 70, 90, 8, 8, false, UNLIMITED, -1, 0, true},
    {"bias", 1, 2, 2, 70, 90, 8, 8, false, UNLIMITED, -1, 0, false, true},
    {"everything", 2, 4, 2, 63, 100, 16, 24, true, 40, 97, 2, true, true, true, true, 9},
    {"sinks", 1, 4, 4, 63, 63, 16, 16, false, UNLIMITED, -1, 0, false, false, true},
    {"wild values", 1, 2, 2, 50, 80, 8, 8, true, UNLIMITED, -1, 0, false, false, false, true},
    {"large scores", 1, 2, 2, 63, 300, 64, 64, false, UNLIMITED, -1, 0, false, false, false, false,
     0, 8},
    {"softcap", 1, 2, 2, 63, 63, 64, 64, false, UNLIMITED, -1, 0, false, false, false, false, 5, 8},
    {"decode", 1, 8, 2, 1, 4200, 64, 64},
    {"decode, causal", 2, 6, 2, 3, 1500, 80, 70, true},
    {"some rows", 1, 2, 2, 500, 500, 8, 8, true, UNLIMITED, -1, 0, false, false, false, false, 0, 1,
     7},
};

// The exact answer of one row: which keys it sees, their weights, and what follows from them.
struct Exact {
  std::vector<double> weight, output;
  std::vector<bool> seen;
  double largest, lse, entropy;
  bool spoiled;
};

class Call {
 public:
  Call(const Case& c, int number) : c_(c), random_(7) {
    const int64_t q = c.batch * c.heads * c.queries, k = c.batch * c.kv_heads * c.keys;
    p_.batch = c.batch, p_.heads = c.heads, p_.kv_heads = c.kv_heads;
    p_.queries = c.queries, p_.keys = c.keys, p_.dim = c.dim, p_.value_dim = c.value_dim;
    p_.number = number;
    p_.query = array(query_, q * c.dim, c.size, c.heads, c.queries, c.dim);
    p_.key = array(key_, k * c.dim, c.size, c.kv_heads, c.keys, c.dim);
    p_.value = array(value_, k * c.value_dim, 1, c.kv_heads, c.keys, c.value_dim);
    if (c.value_dim == 0) p_.value.data = nullptr;
    output_.assign(static_cast<size_t>(q * c.value_dim * width()), 0x7f);
    p_.output = output_.data();
    p_.scale = 1 / std::sqrt(static_cast<float>(c.dim));
    p_.softcap = c.softcap;
    p_.left = c.left, p_.right = c.causal ? 0 : UNLIMITED, p_.unlimited = UNLIMITED;
    offset_.assign(c.batch, c.keys - c.queries);
    lengths_.assign(c.batch, c.length < 0 ? c.keys : c.length);
    p_.offset = offset_.data(), p_.lengths = lengths_.data();
    for (int64_t h = 0; h < c.heads && c.sinks; ++h) sinks_.push_back(normal());
    if (c.sinks) p_.sinks = sinks_.data();
    if (c.segments) add_segments();
    const int64_t cells = c.heads * c.queries * c.keys;
    for (int64_t i = 0; i < cells && c.allowed; ++i) allowed_.push_back(random_() % 4 != 0);
    if (c.allowed) p_.allowed = {allowed_.data(), {0, c.queries * c.keys, c.keys, 1}};
    for (int64_t i = 0; i < c.queries * c.keys && c.bias; ++i)
      bias_.push_back(random_() % 5 ? normal() : -std::numeric_limits<float>::infinity());
    if (c.bias) p_.bias = {reinterpret_cast<char*>(bias_.data()), {0, 0, c.keys * 4, 4}};
    add_readings();
  }

  Problem& problem() { return p_; }

  // The largest error of any number, in units of what float32 or the 16-bit kind can promise.
  double worst() const {
    double most = 0;
    std::vector<double> received(static_cast<size_t>(c_.batch * c_.heads * c_.keys), 0);
    std::vector<int32_t> eligible(received.size(), 0);
    for (int64_t b = 0; b < c_.batch; ++b)
      for (int64_t h = 0; h < c_.heads; ++h)
        for (int64_t r = 0; r < c_.queries; ++r) {
          const Exact row = exact(b, h, r);
          const int64_t line = (b * c_.heads + h) * c_.queries + r;
          const double few = p_.number == regard::FLOAT32 ? 1e-5 : 2e-2;
          for (int64_t d = 0; d < c_.value_dim; ++d)
            most = std::fmax(most, off(number(output_.data(), line * c_.value_dim + d),
                                       row.output[d], few * c_.size));
          if (place_[r] < 0) continue;
          const int64_t at = (b * c_.heads + h) * p_.asked + place_[r];
          most = std::fmax(most, off(lse_[at], row.lse, 1e-5 * c_.size * c_.size));
          most = std::fmax(most, off(max_score_[at], row.largest, 1e-5 * c_.size * c_.size));
          most = std::fmax(most, off(entropy_[at], row.entropy, 1e-5 * c_.size * c_.size));
          for (int64_t key = 0; key < c_.keys; ++key) {
            const size_t cell = static_cast<size_t>((b * c_.heads + h) * c_.keys + key);
            received[cell] += row.weight[key];
            eligible[cell] += row.seen[key];
          }
          most = std::fmax(most, top_off(row, at));
        }
    for (size_t i = 0; i < received.size(); ++i) {
      most = std::fmax(most, off(received_[i], received[i], 1e-4 * c_.size * c_.size));
      if (eligible_[i] != eligible[i]) return 1e9;
    }
    return most;
  }

  std::vector<char> bits() const {
    std::vector<char> all = output_;
    for (const auto* numbers : {&lse_, &max_score_, &entropy_, &received_, &top_weight_, &small_})
      all.insert(all.end(), reinterpret_cast<const char*>(numbers->data()),
                 reinterpret_cast<const char*>(numbers->data() + numbers->size()));
    return all;
  }

 private:
  int64_t width() const { return p_.number == regard::FLOAT32 ? 4 : 2; }

  float normal() { return std::normal_distribution<float>()(random_); }

  Array array(std::vector<char>& memory, int64_t count, float size, int64_t heads, int64_t tokens,
              int64_t dim) {
    memory.resize(static_cast<size_t>(count * width()));
    for (int64_t i = 0; i < count; ++i) {
      float x = size * normal();
      if (&memory == &value_ && c_.wild && random_() % 200 == 0)
        x = std::numeric_limits<float>::quiet_NaN();
      uint32_t bits;
      std::memcpy(&bits, &x, 4);
      const uint16_t upper = static_cast<uint16_t>(bits >> 16);  // bfloat16, cut off
      std::memcpy(memory.data() + i * width(), width() == 4 ? (const void*)&bits : &upper,
                  static_cast<size_t>(width()));
    }
    const int64_t w = width();
    return {memory.data(), {heads * tokens * dim * w, tokens * dim * w, dim * w, w}};
  }

  void add_segments() {
    for (int64_t r = 0; r < c_.batch * c_.queries; ++r)
      query_labels_.push_back(static_cast<int32_t>(random_() % (c_.segments + 1)) - 1);
    for (int64_t k = 0; k < c_.batch * c_.keys; ++k)
      key_labels_.push_back(static_cast<int32_t>(random_() % (c_.segments + 1)) - 1);
    for (int64_t r = 0; r < c_.batch * c_.queries; ++r) {
      int64_t low = c_.keys, high = 0;
      for (int64_t k = 0; k < c_.keys; ++k)
        if (query_labels_[r] >= 0 && key_labels_[r / c_.queries * c_.keys + k] == query_labels_[r])
          low = std::min(low, k), high = k + 1;
      first_.push_back(low), last_.push_back(high);
    }
    p_.query_segments = query_labels_.data(), p_.key_segments = key_labels_.data();
    p_.first_key = first_.data(), p_.last_key = last_.data();
  }

  void add_readings() {
    for (int64_t r = 0; r < c_.queries; ++r) {
      rows_.push_back(r);
      place_.push_back(r % c_.every ? -1 : r / c_.every);
    }
    p_.rows = c_.queries, p_.row_query = rows_.data(), p_.row_place = place_.data();
    p_.asked = (c_.queries + c_.every - 1) / c_.every;
    const size_t asked = static_cast<size_t>(c_.batch * c_.heads * p_.asked);
    const size_t keys = static_cast<size_t>(c_.batch * c_.heads * c_.keys);
    lse_.resize(asked), max_score_.resize(asked), entropy_.resize(asked);
    received_.resize(keys), eligible_.resize(keys);
    p_.lse = lse_.data(), p_.max_score = max_score_.data(), p_.entropy = entropy_.data();
    p_.received = received_.data(), p_.eligible = eligible_.data();
    p_.top = 5;
    top_index_.resize(asked * 5), top_weight_.resize(asked * 5), top_share_.resize(asked * 5);
    p_.top_index = top_index_.data(), p_.top_weight = top_weight_.data();
    if (c_.value_dim && p_.number == regard::FLOAT32) p_.top_share = top_share_.data();
    p_.thumbnail = 3;
    small_.assign(static_cast<size_t>(c_.batch * c_.heads * 9), 0);
    p_.small = small_.data();
  }

  float number(const char* at, int64_t i) const {
    uint32_t bits = 0;
    std::memcpy(reinterpret_cast<char*>(&bits) + 4 - width(), at + i * width(),
                static_cast<size_t>(width()));
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
  }

  bool sees(int64_t b, int64_t h, int64_t r, int64_t k) const {
    const int64_t distance = k - (r + offset_[b]);
    if (k >= lengths_[b] || (c_.causal && distance > 0)) return false;
    if (c_.left != UNLIMITED && distance < -c_.left) return false;
    if (c_.segments) {
      const int32_t mine = query_labels_[b * c_.queries + r];
      if (mine < 0 || mine != key_labels_[b * c_.keys + k]) return false;
    }
    if (c_.allowed && !allowed_[(h * c_.queries + r) * c_.keys + k]) return false;
    return !c_.bias || std::isfinite(bias_[r * c_.keys + k]);
  }

  Exact exact(int64_t b, int64_t h, int64_t r) const {
    const int64_t kv = b * c_.kv_heads + h / (c_.heads / c_.kv_heads);
    Exact row = {std::vector<double>(c_.keys, 0.0), std::vector<double>(c_.value_dim, 0.0),
                 std::vector<bool>(c_.keys, false), -INFINITY, -INFINITY, 0, false};
    std::vector<double> score(c_.keys, -INFINITY);
    for (int64_t k = 0; k < c_.keys; ++k) {
      row.seen[k] = sees(b, h, r, k);
      if (!row.seen[k]) continue;
      double sum = 0;
      for (int64_t d = 0; d < c_.dim; ++d)
        sum += static_cast<double>(number(query_.data(), ((b * c_.heads + h) * c_.queries + r) *
                                                             c_.dim + d)) *
               number(key_.data(), (kv * c_.keys + k) * c_.dim + d);
      sum *= p_.scale;
      if (c_.softcap != 0) sum = c_.softcap * std::tanh(sum / c_.softcap);
      if (c_.bias) sum += bias_[r * c_.keys + k];
      score[k] = sum;
      row.largest = std::fmax(row.largest, sum);
    }
    double shift = row.largest, total = 0;
    if (c_.sinks) shift = std::fmax(shift, sinks_[h]);
    if (shift == -INFINITY) return row;
    for (int64_t k = 0; k < c_.keys; ++k) total += std::exp(score[k] - shift);
    if (c_.sinks) total += std::exp(sinks_[h] - shift);
    row.lse = shift + std::log(total);
    for (int64_t k = 0; k < c_.keys; ++k) {
      row.weight[k] = std::exp(score[k] - row.lse);
      if (row.weight[k] > 0) row.entropy -= row.weight[k] * (score[k] - row.lse);
      for (int64_t d = 0; d < c_.value_dim && row.seen[k]; ++d)
        row.output[d] += row.weight[k] * number(value_.data(), (kv * c_.keys + k) * c_.value_dim + d);
    }
    return row;
  }

  double top_off(const Exact& row, int64_t at) const {
    double most = 0;
    std::vector<double> left;
    for (int64_t k = 0; k < c_.keys; ++k)
      if (row.seen[k]) left.push_back(row.weight[k]);
    std::sort(left.rbegin(), left.rend());
    for (int64_t t = 0; t < 5; ++t) {
      const int32_t key = top_index_[at * 5 + t];
      if ((key >= 0) != (t < static_cast<int64_t>(left.size()))) return 1e9;
      if (key < 0) continue;
      most = std::fmax(most, off(top_weight_[at * 5 + t], left[t], 1e-5 * c_.size * c_.size));
      most = std::fmax(most, off(row.weight[key], left[t], 1e-5 * c_.size * c_.size));
    }
    return most;
  }

  // How far off, in units of `few` times the number's size or 1.
  static double off(double ours, double wanted, double few) {
    if (!std::isfinite(wanted) || !std::isfinite(ours))
      return std::isnan(ours) == std::isnan(wanted) && (std::isnan(ours) || ours == wanted) ? 0 : 1e9;
    return std::fabs(ours - wanted) / (few * std::fmax(1, std::fabs(wanted)));
  }

  const Case& c_;
  std::mt19937 random_;
  Problem p_ = {};
  std::vector<char> query_, key_, value_, output_;
  std::vector<int64_t> offset_, lengths_, first_, last_, rows_, place_;
  std::vector<int32_t> query_labels_, key_labels_, eligible_, top_index_;
  std::vector<char> allowed_;
  std::vector<float> bias_, sinks_, lse_, max_score_, entropy_, received_, top_weight_, top_share_;
  std::vector<float> small_;
};

bool go_on(void*, bool) { return true; }

// Stops after some panels: what is left must not hang, and must not be added up.
bool stop_soon(void* left, bool) { return --*static_cast<std::atomic<int>*>(left) > 0; }

int check(const Case& c, const Variant& variant, int number) {
  std::vector<char> first;
  for (const int64_t threads : {1, 3}) {
    Call call(c, number);
    call.problem().threads = threads;
    regard::run(call.problem(), variant, go_on, nullptr);
    const double worst = call.worst();
    if (worst > 1) {
      std::printf("%s, %s, number %d: off by %.3g\n", variant.name, c.name, number, worst);
      return 1;
    }
    if (threads == 1) first = call.bits();
    if (first != call.bits()) {
      std::printf("%s, %s: other bits with %d threads\n", variant.name, c.name, (int)threads);
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main() {
  int wrong = 0;
  for (const Variant* variant : regard::usable_variants()) {
    for (const Case& c : CASES)
      for (const int number : {regard::FLOAT32, regard::BFLOAT16}) wrong += check(c, *variant, number);
    // several calls at once, one of which has the pool
    const Case& busy = CASES[3];
    std::vector<std::thread> callers;
    std::atomic<int> failed{0};
    for (int i = 0; i < 4; ++i)
      callers.emplace_back([&] { failed += check(busy, *variant, regard::FLOAT32); });
    for (std::thread& caller : callers) caller.join();
    wrong += failed;
    for (int panels = 1; panels < 9; ++panels) {
      Call call(busy, regard::FLOAT32);
      call.problem().threads = 3;
      std::atomic<int> left{panels};
      if (regard::run(call.problem(), *variant, stop_soon, &left)) {
        std::printf("%s: was not stopped\n", variant->name);
        ++wrong;
      }
    }
    std::printf("%s: %s\n", variant->name, wrong ? "wrong" : "right");
  }
  return wrong ? 1 : 0;
}
