#include "pool.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace regard {
namespace {

// How long a thread looks for what it waits for before it sleeps: the Python between two short
// calls takes less, and to wake a thread takes a fifth of such a call.
constexpr auto LOOK = std::chrono::microseconds(200);

template <class Condition>
void spin_until(const Condition& met) {
  using Clock = std::chrono::steady_clock;
  for (const auto stop = Clock::now() + LOOK; !met() && Clock::now() < stop;) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }
}

class Pool {
 public:
  // False when another call has the pool.
  bool run(int64_t tasks, int64_t threads, const std::function<void(int64_t, int64_t)>& work) {
    const std::unique_lock<std::mutex> mine(busy_, std::try_to_lock);
    if (!mine) return false;
    start(threads - 1);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      work_ = &work;
      tasks_ = tasks;
      next_.store(0, std::memory_order_relaxed);
      wanted_ = threads - 1 < started_ ? threads - 1 : started_;
      ++call_;
    }
    wake_.notify_all();
    drain(work, tasks, 0);
    spin_until([this] { return inside_.load(std::memory_order_relaxed) == 0; });
    std::unique_lock<std::mutex> lock(mutex_);
    wanted_ = 0;  // whoever has not begun need not
    done_.wait(lock, [this] { return inside_ == 0; });
    work_ = nullptr;
    return true;
  }

 private:
  void drain(const std::function<void(int64_t, int64_t)>& work, int64_t tasks, int64_t worker) {
    for (int64_t task; (task = next_.fetch_add(1, std::memory_order_relaxed)) < tasks;)
      work(task, worker);
  }

  // Threads are never ended: they wait, and the process takes them with it.
  void start(int64_t wanted) {
    for (; started_ < wanted; ++started_) {
      try {
        std::thread(&Pool::wait, this, started_ + 1).detach();
      } catch (const std::system_error&) {
        return;  // the threads that there are do the work
      }
    }
  }

  void wait(int64_t worker) {
    int64_t seen = 0;
    for (;;) {
      spin_until([&] { return call_.load(std::memory_order_relaxed) != seen; });
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return call_ != seen && worker <= wanted_; });
      seen = call_;
      ++inside_;
      const auto& work = *work_;
      const int64_t tasks = tasks_;
      lock.unlock();
      drain(work, tasks, worker);
      lock.lock();
      if (--inside_ == 0) done_.notify_all();
    }
  }

  std::mutex busy_, mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int64_t, int64_t)>* work_ = nullptr;
  // the last two are written under the mutex, and looked at without it
  std::atomic<int64_t> next_{0}, call_{0}, inside_{0};
  int64_t tasks_ = 0, wanted_ = 0, started_ = 0;
};

// Never deleted: threads may still wait in it while the process ends.
std::atomic<Pool*> pool{nullptr};
std::mutex making;

// The child of a fork has none of the threads, and perhaps a mutex that one of them held.
void forget() {
  new (&making) std::mutex;
  pool.store(nullptr);
}

Pool& the_pool() {
  Pool* found = pool.load(std::memory_order_acquire);
  if (found) return *found;
  const std::lock_guard<std::mutex> lock(making);
  found = pool.load(std::memory_order_acquire);
  if (!found) {
    static const int once = pthread_atfork(nullptr, nullptr, forget);
    (void)once;
    found = new Pool;
    pool.store(found, std::memory_order_release);
  }
  return *found;
}

}  // namespace

void run_all(int64_t tasks, int64_t threads, const std::function<void(int64_t, int64_t)>& work) {
  if (threads > 1 && tasks > 1 && the_pool().run(tasks, threads < tasks ? threads : tasks, work))
    return;
  for (int64_t task = 0; task < tasks; ++task) work(task, 0);
}

}  // namespace regard
