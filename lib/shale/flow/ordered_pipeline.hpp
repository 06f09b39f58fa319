#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace shale {

/// Runs tasks on `workers` threads and hands their results out in the order they were submitted. A task's exception comes
/// out in its place, so the first error in input order wins, whichever thread was faster. One thread submits and takes;
/// bounding what is in flight is its business (a MemoryBudget's lease per task). Destroying the pipeline drops the tasks
/// that have not begun and waits for those that have.
template <class Result>
class OrderedPipeline {
 public:
  /// A task gets the number of the thread it runs on, for state that a thread keeps (a reader, a decoder).
  using Task = std::function<Result(unsigned worker)>;

  explicit OrderedPipeline(unsigned workers) {
    for (unsigned i = 0; i < workers; ++i) {
      threads_.emplace_back([this, i](std::stop_token stop) { run(stop, i); });
    }
  }
  ~OrderedPipeline() {
    for (std::jthread& thread : threads_) thread.request_stop();
    wake_.notify_all();
  }
  OrderedPipeline(const OrderedPipeline&) = delete;
  OrderedPipeline& operator=(const OrderedPipeline&) = delete;

  void submit(Task task) {
    std::packaged_task<Result(unsigned)> packaged(std::move(task));
    results_.push_back(packaged.get_future());
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(packaged));
    }
    wake_.notify_one();
  }

  /// Tasks submitted and not yet taken.
  [[nodiscard]] std::size_t pending() const { return results_.size(); }

  /// The result of the oldest task; waits for it. Rethrows what the task threw. Only while pending() > 0.
  Result take() {
    std::future<Result> oldest = std::move(results_.front());
    results_.pop_front();
    return oldest.get();
  }

 private:
  void run(std::stop_token stop, unsigned worker) {
    for (;;) {
      std::packaged_task<Result(unsigned)> task;
      {
        std::unique_lock lock(mutex_);
        if (!wake_.wait(lock, stop, [this] { return !tasks_.empty(); }) || stop.stop_requested()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task(worker);
    }
  }

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::packaged_task<Result(unsigned)>> tasks_;
  std::deque<std::future<Result>> results_;
  std::vector<std::jthread> threads_;  // last: joined before what they use goes
};

}  // namespace shale
