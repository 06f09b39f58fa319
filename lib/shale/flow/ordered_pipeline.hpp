#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace shale {

/// Runs tasks on `workers` threads and hands their results out in the order they were submitted. A
/// task's exception comes out in its place, so the first error in input order wins, whichever
/// thread was faster. One thread submits and takes; bounding what is in flight is its business (a
/// SharedBudget's lease per task). What a task captures is destroyed before its result can be
/// taken. Threads begin with the first task: until then the process may fork freely. Where the
/// system grants fewer threads (ulimit -u, a cgroup's pids.max), those do the work; where it grants
/// none, take() does. Destroying the pipeline drops the tasks that have not begun and waits for the
/// others.
template <class Result>
class OrderedPipeline {
 public:
  /// A task gets the number of the thread it runs on, for state that a thread keeps (a reader, a
  /// decoder).
  using Task = std::function<Result(unsigned worker)>;

  /// 0 workers: take() does the work.
  explicit OrderedPipeline(unsigned workers) : workers_(workers) {}
  ~OrderedPipeline() {
    for (std::jthread& thread : threads_) thread.request_stop();
    wake_.notify_all();
  }
  OrderedPipeline(const OrderedPipeline&) = delete;
  OrderedPipeline& operator=(const OrderedPipeline&) = delete;

  void submit(Task task) {
    Packaged packaged([task = std::move(task)](unsigned worker) mutable {
      std::exception_ptr error;
      try {
        // What the task holds (a lease, a buffer) dies before its result is seen. Were it kept
        // until the worker's next turn, whoever has taken every result could still find bytes
        // leased, and wait for what nobody will give back.
        const Task held = std::exchange(task, nullptr);
        return Outcome(std::in_place_index<0>, held(worker));
      } catch (...) {
        error = std::current_exception();
      }
      // Moved, out here: the worker keeps no share in an exception that another thread has taken.
      return Outcome(std::in_place_index<1>, std::move(error));
    });
    start();
    results_.push_back(packaged.get_future());
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(packaged));
    }
    wake_.notify_one();
  }

  /// Tasks submitted and not yet taken.
  [[nodiscard]] std::size_t pending() const { return results_.size(); }

  /// True as soon as take() would not wait for a thread; false if it still would after `patience`.
  /// Only while pending() > 0.
  [[nodiscard]] bool has_result(std::chrono::milliseconds patience) const {
    return threads_.empty() || results_.front().wait_for(patience) == std::future_status::ready;
  }

  /// The result of the oldest task; waits for it. Only while pending() > 0.
  /// Errors: what the task threw.
  Result take() {
    std::future<Outcome> oldest = std::move(results_.front());
    results_.pop_front();
    if (threads_.empty()) run_oldest();
    Outcome outcome = oldest.get();
    if (outcome.index() == 1) std::rethrow_exception(std::get<1>(std::move(outcome)));
    return std::get<0>(std::move(outcome));
  }

  /// Waits until no thread is inside a task, or frees what is left of one: all of them wait for the
  /// next. Then the process may fork, though a child has no share in the locks of an allocator that
  /// does not care for forks (that of a sanitizer). Only while pending() == 0.
  void settle() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  using Outcome = std::variant<Result, std::exception_ptr>;
  using Packaged = std::packaged_task<Outcome(unsigned)>;

  void start() {
    while (threads_.size() < workers_) {
      const auto worker = static_cast<unsigned>(threads_.size());
      try {
        threads_.emplace_back([this, worker](std::stop_token stop) { run(stop, worker); });
      } catch (const std::system_error&) {
        workers_ = worker;
      }
    }
  }

  // Without threads nobody else takes tasks: the oldest one is that of the oldest result.
  void run_oldest() {
    Packaged task = std::move(tasks_.front());
    tasks_.pop_front();
    task(0);
  }

  void run(std::stop_token stop, unsigned worker) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const bool has_task = wake_.wait(lock, stop, [this] { return !tasks_.empty(); });
      if (!has_task || stop.stop_requested()) return;
      {
        Packaged task = std::move(tasks_.front());
        tasks_.pop_front();
        ++busy_;
        lock.unlock();
        task(worker);
      }  // freed before the lock is taken
      lock.lock();
      if (--busy_ == 0) idle_.notify_all();
    }
  }

  unsigned workers_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable idle_;
  std::size_t busy_ = 0;  // threads between a task's start and its last trace
  std::deque<Packaged> tasks_;
  std::deque<std::future<Outcome>> results_;
  std::vector<std::jthread> threads_;  // last: joined before what they use goes
};

}  // namespace shale
