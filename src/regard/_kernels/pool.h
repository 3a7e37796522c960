// Threads made once, for all calls of the process.
#pragma once

#include <cstdint>
#include <functional>

namespace regard {

// Runs `work(task, worker)` for every task, on the caller's thread (worker 0) and up to
// `threads` - 1 more. Returns when all are done.
//
// The pool serves one call at a time; a second one, from another Python thread, works on its own
// thread meanwhile. After a fork the child makes a pool of its own. `work` must not throw.
void run_all(int64_t tasks, int64_t threads, const std::function<void(int64_t, int64_t)>& work);

}  // namespace regard
