#include "python/bindings/watch.hpp"

#include "shale/base/error.hpp"
#include "shale/io/storage_retry.hpp"

#include "python/bindings/plain_objects.hpp"

namespace nb = nanobind;

namespace shale::python {
namespace {

// The interpreter's lock may be a switch interval (5 ms) away: it is asked for rarely.
constexpr std::chrono::milliseconds kProgressInterval{100};

}  // namespace

Events stopped_by_signals(CallingThread& caller) {
  Events events;
  events.should_stop = [&caller] { return caller.was_interrupted(); };
  return events;
}

Events Watch::events() {
  Events events = stopped_by_signals(caller_);
  events.note = [this](std::string_view sentence) { notes_.emplace_back(sentence); };
  if (!progress_.is_none()) {
    events.progress = [this](std::uint64_t done, std::uint64_t all, std::uint64_t) {
      show(done, all);
    };
  }
  return events;
}

nb::list Watch::notes() const {
  nb::list notes;
  for (const std::string& note : notes_) notes.append(fs_text(note));
  for (const std::string& note : take_retry_notes()) notes.append(fs_text(note));
  return notes;
}

void Watch::show(std::uint64_t done, std::uint64_t all) {
  const auto now = std::chrono::steady_clock::now();
  const bool is_last = done == all && shown_ != all;
  if (!is_last && (done <= shown_ || now - last_shown_ < kProgressInterval)) return;
  shown_ = done;
  last_shown_ = now;
  caller_.locked([&] {
    try {
      call_python(progress_, done, all);
    } catch (nb::python_error& raised) {
      raised.restore();  // it stays set, and is what the caller gets
      throw Error(Code::interrupted, "the progress callback raised");
    }
  });
}

}  // namespace shale::python
