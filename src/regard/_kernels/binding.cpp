// The kernel as Python sees it: a Problem to fill in, run(), and which variants there are.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "kernel.h"

namespace nb = nanobind;
using regard::Array;
using regard::Problem;

namespace {

using Clock = std::chrono::steady_clock;

// Python's signals are looked at by the caller's thread, at most this often: it takes the GIL.
constexpr auto LOOK_EVERY = std::chrono::milliseconds(50);

struct Watch {
  std::atomic<bool> stopped{false};
  Clock::time_point looked = Clock::now();
};

bool go_on(void* watch, bool caller) {
  auto& mine = *static_cast<Watch*>(watch);
  if (caller && !mine.stopped.load(std::memory_order_relaxed)) {
    const auto now = Clock::now();
    if (now - mine.looked >= LOOK_EVERY) {
      mine.looked = now;
      const nb::gil_scoped_acquire locked;
      if (PyErr_CheckSignals() != 0) mine.stopped.store(true, std::memory_order_relaxed);
    }
  }
  return !mine.stopped.load(std::memory_order_relaxed);
}

void run(const Problem& problem, const std::string& isa) {
  const regard::Variant& variant =
      isa.empty() ? regard::chosen_variant() : regard::variant_named(isa);
  Watch watch;
  bool done;
  {
    const nb::gil_scoped_release unlocked;
    done = regard::run(problem, variant, go_on, &watch);
  }
  if (!done) throw nb::python_error();  // what the signal's handler raised
}

// Where an object keeps its numbers: a NumPy array, or anything else with Python's buffers.
class Buffer {
 public:
  Buffer(nb::handle object, int wanted) {
    if (PyObject_GetBuffer(object.ptr(), &view_, wanted) != 0) throw nb::python_error();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  const Py_buffer* operator->() const { return &view_; }

 private:
  Py_buffer view_;
};

// A place in the Problem for somebody else's memory, which lives as long as the Problem does.
template <typename Set>
void memory(nb::class_<Problem>& problem, const char* name, Set set) {
  problem.def_prop_rw(name, nullptr, set, nb::for_setter(nb::keep_alive<1, 2>()));
}

template <auto field>
void pointer(nb::class_<Problem>& problem, const char* name) {
  using Pointer = std::remove_reference_t<decltype(std::declval<Problem>().*field)>;
  constexpr bool is_read = std::is_const_v<std::remove_pointer_t<Pointer>>;
  memory(problem, name, [](Problem& p, nb::handle object) {
    const Buffer buffer(object, is_read ? PyBUF_SIMPLE : PyBUF_WRITABLE);
    p.*field = static_cast<Pointer>(buffer->buf);
  });
}

template <Array Problem::*field>
void array(nb::class_<Problem>& problem, const char* name) {
  memory(problem, name, [](Problem& p, nb::handle object) {
    const Buffer buffer(object, PyBUF_STRIDES);
    if (buffer->ndim != 4) throw nb::value_error("expected an array with four axes");
    p.*field = {static_cast<const char*>(buffer->buf), {}};
    std::copy_n(buffer->strides, 4, (p.*field).stride);
  });
}

}  // namespace

NB_MODULE(_kernels, module) {
  nb::class_<Problem> problem(module, "Problem");
  problem.def(nb::init<>());
  problem.def_rw("batch", &Problem::batch)
      .def_rw("heads", &Problem::heads)
      .def_rw("kv_heads", &Problem::kv_heads)
      .def_rw("queries", &Problem::queries)
      .def_rw("keys", &Problem::keys)
      .def_rw("dim", &Problem::dim)
      .def_rw("value_dim", &Problem::value_dim)
      .def_rw("number", &Problem::number)
      .def_rw("scale", &Problem::scale)
      .def_rw("softcap", &Problem::softcap)
      .def_rw("left", &Problem::left)
      .def_rw("right", &Problem::right)
      .def_rw("unlimited", &Problem::unlimited)
      .def_rw("bias_number", &Problem::bias_number)
      .def_rw("rows", &Problem::rows)
      .def_rw("asked", &Problem::asked)
      .def_rw("top", &Problem::top)
      .def_rw("column_count", &Problem::column_count)
      .def_rw("kept", &Problem::kept)
      .def_rw("spans", &Problem::spans)
      .def_rw("groups", &Problem::groups)
      .def_rw("thumbnail", &Problem::thumbnail)
      .def_rw("threads", &Problem::threads);
  array<&Problem::query>(problem, "query");
  array<&Problem::key>(problem, "key");
  array<&Problem::value>(problem, "value");
  array<&Problem::allowed>(problem, "allowed");
  array<&Problem::bias>(problem, "bias");
  pointer<&Problem::output>(problem, "output");
  pointer<&Problem::sinks>(problem, "sinks");
  pointer<&Problem::offset>(problem, "offset");
  pointer<&Problem::lengths>(problem, "lengths");
  pointer<&Problem::query_segments>(problem, "query_segments");
  pointer<&Problem::key_segments>(problem, "key_segments");
  pointer<&Problem::first_key>(problem, "first_key");
  pointer<&Problem::last_key>(problem, "last_key");
  pointer<&Problem::row_query>(problem, "row_query");
  pointer<&Problem::row_place>(problem, "row_place");
  pointer<&Problem::columns>(problem, "columns");
  pointer<&Problem::kept_at>(problem, "kept_at");
  pointer<&Problem::span_start>(problem, "span_start");
  pointer<&Problem::span_group>(problem, "span_group");
  pointer<&Problem::top_index>(problem, "top_index");
  pointer<&Problem::top_weight>(problem, "top_weight");
  pointer<&Problem::top_share>(problem, "top_share");
  pointer<&Problem::entropy>(problem, "entropy");
  pointer<&Problem::lse>(problem, "lse");
  pointer<&Problem::max_score>(problem, "max_score");
  pointer<&Problem::received>(problem, "received");
  pointer<&Problem::eligible>(problem, "eligible");
  pointer<&Problem::kept_rows>(problem, "rows_kept");
  pointer<&Problem::kept_columns>(problem, "columns_kept");
  pointer<&Problem::group_mass>(problem, "group_mass");
  pointer<&Problem::small>(problem, "small");
  module.def("run", run, nb::arg("problem"), nb::arg("isa") = "");
  module.def("chosen", [] { return std::string(regard::chosen_variant().name); });
  module.def("usable", [] {
    std::vector<std::string> names;
    for (const regard::Variant* variant : regard::usable_variants()) names.push_back(variant->name);
    return names;
  });
}
