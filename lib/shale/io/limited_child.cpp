#include "shale/io/limited_child.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"
#include "shale/io/safe_descriptor.hpp"

namespace shale {
namespace {

using Clock = std::chrono::steady_clock;

// On the pipe: u32 length, u8 what, length bytes.
enum class Frame : std::uint8_t { message = 1, error = 2, end = 3 };
constexpr std::uint64_t kFrameHeaderBytes = 5, kMostFrameBytes = 1 << 20;
constexpr std::uint64_t kPipeWindow = 256 * 1024;
constexpr std::uint64_t kMostMemory = std::uint64_t{4} << 30;

// Sanitizers reserve terabytes of addresses, which a limit would have to allow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitsAddresses = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kLimitsAddresses = false;
#else
constexpr bool kLimitsAddresses = true;
#endif
#else
constexpr bool kLimitsAddresses = true;
#endif

// ---- in the child

// Bytes of address space that this process has now; 0 if the kernel does not say.
std::uint64_t address_space_bytes() {
  std::array<char, 64> text{};
  const int descriptor = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  const ssize_t got = ::read(descriptor, text.data(), text.size());
  ::close(descriptor);
  std::uint64_t pages = 0;
  if (got > 0) std::from_chars(text.data(), text.data() + got, pages);
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit(decltype(RLIMIT_AS) resource, std::uint64_t soft, std::uint64_t hard) {
  const rlimit both{soft, hard};
  ::setrlimit(resource, &both);
}

void shed_what_was_inherited(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before that.
  if (::getppid() != parent) ::raise(SIGKILL);
  for (int number = 1; number < SIGRTMIN; ++number) ::signal(number, SIG_DFL);
  // Sent to the whole group (by a terminal, by SLURM) they are for the parent, which ends the
  // child.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // No file of ours has one of these numbers: above_standard_descriptors.
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard = 0; standard <= 2; ++standard) ::dup2(nowhere, standard);
}

// By its number: the function of that name is of glibc 2.34. Kernels before 5.9 do not know it.
void close_numbers(unsigned first, unsigned last) {
  if (::syscall(SYS_close_range, first, last, 0U) == 0) return;
  const auto limit = static_cast<unsigned>(std::max(0L, ::sysconf(_SC_OPEN_MAX)));
  for (unsigned number = first; number <= last && number < limit; ++number)
    ::close(static_cast<int>(number));
}

void close_all_but(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned next = 3;  // behind the standard ones
  for (const int descriptor : kept) {
    const auto number = static_cast<unsigned>(descriptor);
    if (number > next) close_numbers(next, number - 1);
    next = std::max(next, number + 1);
  }
  close_numbers(next, ~0U);
}

void take_limits(const ChildLimits& limits) {
  limit(RLIMIT_CORE, 0, 0);
  rlimit written{};
  ::getrlimit(RLIMIT_FSIZE, &written);
  written.rlim_cur = std::min<std::uint64_t>(written.rlim_cur, limits.written_bytes);
  limit(RLIMIT_FSIZE, written.rlim_cur, written.rlim_cur);
  if (limits.written_bytes > 0) ::signal(SIGXFSZ, SIG_IGN);  // the write fails instead
  limit(RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 1);
  const std::uint64_t has = address_space_bytes();
  if (kLimitsAddresses && has > 0)
    limit(RLIMIT_AS, has + limits.memory_bytes, has + limits.memory_bytes);
}

void write_all(int descriptor, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) ::raise(SIGKILL);  // nobody listens any more
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

// Frames that follow one another at once go in one write: a walk over a file sends millions.
class FrameSender {
 public:
  explicit FrameSender(int descriptor) : descriptor_(descriptor) {}

  void send(Frame what, Bytes content) {
    frames_.write(static_cast<std::uint32_t>(content.size()));
    frames_.write(static_cast<std::uint8_t>(what));
    frames_.write_bytes(content);
    constexpr std::chrono::milliseconds kLongestWait(20);
    if (frames_.size() >= kPipeWindow / 4 || Clock::now() - flushed_ >= kLongestWait) flush();
  }

  void send(const Error& error) {
    ByteWriter content;
    content.write(static_cast<std::uint8_t>(error.code()));
    const std::string key = error.sample() ? error.sample()->key : "";
    for (const std::string* text :
         {&error.message(), &error.cause(), &error.hint(), &error.file(), &key}) {
      content.write(static_cast<std::uint32_t>(text->size()));
      content.write_text(*text);
    }
    if (error.offset()) content.write(*error.offset());
    send(Frame::error, content.bytes());
  }

  void flush() {
    write_all(descriptor_, frames_.bytes());
    frames_.clear();
    flushed_ = Clock::now();
  }

 private:
  int descriptor_;
  ByteWriter frames_;
  Clock::time_point flushed_ = Clock::now();
};

[[noreturn]] void run_as_child(int descriptor, pid_t parent, const ChildWork& work) {
  shed_what_was_inherited(parent);
  std::vector<int> kept = work.descriptors;
  kept.push_back(descriptor);
  close_all_but(std::move(kept));
  take_limits(work.limits);
  FrameSender sender(descriptor);
  try {
    work.run([&](Bytes message) { sender.send(Frame::message, message); });
    sender.send(Frame::end, {});
  } catch (const Error& error) {
    sender.send(error);
  } catch (const std::bad_alloc&) {
    sender.send(Error(Code::limit, "this file needs more than {} of memory",
                      format_size(work.limits.memory_bytes)));
  } catch (const std::exception& error) {
    sender.send(Error(Code::bug, "the child that runs {} failed", work.who).because(error.what()));
  }
  sender.flush();
  ::_exit(0);  // no destructor of what belongs to the parent may run
}

// ---- in the parent

Error read_error(Bytes content) {
  ByteReader in(content, "an error of the child");
  const std::uint8_t code = in.read_u8();
  std::array<std::string, 5> texts;
  for (std::string& text : texts) {
    const std::uint32_t length = in.read_u32();
    text = as_text(in.read_bytes(length));
  }
  const bool is_known = code <= static_cast<std::uint8_t>(Code::bug);
  Error error(is_known ? static_cast<Code>(code) : Code::damaged, "{}", texts[0]);
  if (!texts[1].empty()) error.because(texts[1]);
  if (!texts[2].empty()) error.hint(texts[2]);
  const std::optional<std::uint64_t> offset =
      in.at_end() ? std::nullopt : std::optional(in.read_u64());
  if (!texts[3].empty()) error.at(texts[3], offset);
  if (!texts[4].empty()) error.for_sample(texts[4]);
  return error;
}

// How the child ended; nothing if somebody else has taken its status. One that does not end
// although its pipe has is killed.
std::optional<int> wait_for(pid_t pid) {
  constexpr int kMostNaps = 2000;  // of a millisecond
  int status = 0;
  pid_t got = ::waitpid(pid, &status, WNOHANG);
  for (int naps = 0; got == 0 && naps < kMostNaps; ++naps) {
    const timespec nap{0, 1'000'000};
    ::nanosleep(&nap, nullptr);
    got = ::waitpid(pid, &status, WNOHANG);
  }
  if (got == 0) ::kill(pid, SIGKILL);
  while (got == 0 || (got < 0 && errno == EINTR)) got = ::waitpid(pid, &status, 0);
  return got == pid ? std::optional<int>(status) : std::nullopt;
}

// Those that end a child; sigabbrev_np knows all, and only glibc 2.32 and later has it.
std::string signal_name(int number) {
  constexpr std::pair<int, std::string_view> kNames[] = {
      {SIGABRT, "SIGABRT"}, {SIGALRM, "SIGALRM"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
      {SIGHUP, "SIGHUP"},   {SIGILL, "SIGILL"},   {SIGINT, "SIGINT"},   {SIGKILL, "SIGKILL"},
      {SIGPIPE, "SIGPIPE"}, {SIGQUIT, "SIGQUIT"}, {SIGSEGV, "SIGSEGV"}, {SIGSYS, "SIGSYS"},
      {SIGTERM, "SIGTERM"}, {SIGTRAP, "SIGTRAP"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"},
      {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"},
  };
  for (const auto& [known, name] : kNames) {
    if (known == number) return std::string(name);
  }
  return "unknown";
}

// The child ended without saying so.
Error death_error(std::optional<int> status, const ChildWork& work) {
  const std::string& who = work.who;
  if (!status) return Error(Code::damaged, "{} ended on this file without a result", who);
  if (WIFEXITED(*status)) {
    return Error(Code::damaged, "{} ended the process with status {} on this file", who,
                 std::to_string(WEXITSTATUS(*status)));
  }
  const int number = WTERMSIG(*status);
  if (number == SIGXCPU) {
    return Error(Code::limit, "{} took more than {} s of processor time on this file", who,
                 work.limits.cpu_seconds);
  }
  if (number == SIGKILL) {
    return Error(Code::limit, "the process that asked {} about this file was killed", who)
        .hint("the system may have run out of memory; see its log");
  }
  return Error(Code::damaged, "{} died of signal {} ({}) on this file", who, number,
               signal_name(number));
}

// Reads the pipe frame by frame, until the deadline.
class PipeReader {
 public:
  PipeReader(int descriptor, const ChildWork& work, const std::function<void()>& ask)
      : descriptor_(descriptor),
        work_(work),
        ask_(ask),
        deadline_(Clock::now() + std::chrono::seconds(work.limits.wall_seconds)) {}

  /// True once the child has said that it is done; false if the pipe ended before.
  bool read_all(const std::function<void(Bytes)>& take) {
    while (true) {
      const std::size_t header = kFrameHeaderBytes;
      if (!fill(header)) return false;
      ByteReader in(Bytes(buffer_).subspan(begin_, header));
      const std::uint32_t length = in.read_u32();
      const auto what = static_cast<Frame>(in.read_u8());
      if (length > kMostFrameBytes) {
        throw Error(Code::damaged, "a message of {} bytes from the process of {}", length,
                    work_.who);
      }
      if (!fill(header + length)) return false;
      const Bytes content = Bytes(buffer_).subspan(begin_ + header, length);
      begin_ += header + length;
      if (what == Frame::end) return true;
      if (what == Frame::error) throw read_error(content);
      take(content);
    }
  }

 private:
  // At least `wanted` unread bytes in the buffer; false if the pipe has ended before.
  bool fill(std::size_t wanted) {
    while (end_ - begin_ < wanted) {
      std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
                buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
      end_ -= std::exchange(begin_, 0);
      buffer_.resize(std::max<std::size_t>(buffer_.size(), wanted + kPipeWindow));
      const std::size_t got = read_some(std::span(buffer_).subspan(end_));
      if (got == 0) return false;
      end_ += got;
    }
    return true;
  }

  std::size_t read_some(std::span<std::byte> into) {
    while (true) {
      if (ask_) ask_();
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      if (left <= 0) {
        throw Error(Code::limit, "{} took more than {} s for this file", work_.who,
                    work_.limits.wall_seconds);
      }
      pollfd pipe{descriptor_, POLLIN, 0};
      constexpr long long kLongestPoll = 100;
      if (::poll(&pipe, 1, static_cast<int>(std::min<long long>(left, kLongestPoll))) <= 0)
        continue;
      const ssize_t got = ::read(descriptor_, into.data(), into.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR && errno != EAGAIN)
        throw Error(Code::io, "cannot read from the process of {}", work_.who).because_errno(errno);
    }
  }

  int descriptor_;
  const ChildWork& work_;
  const std::function<void()>& ask_;
  Clock::time_point deadline_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // unread bytes of buffer_
};

}  // namespace

ChildLimits child_limits_for(std::uint64_t file_bytes) {
  ChildLimits limits;
  limits.cpu_seconds += file_bytes / 100'000'000;
  limits.wall_seconds += 10 * limits.cpu_seconds;
  limits.memory_bytes += std::min(file_bytes, kMostMemory);
  return limits;
}

LimitedChild::LimitedChild(ChildWork work) : work_(std::move(work)) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
    throw Error(Code::io, "cannot create a pipe to a child process")
        .at(work_.path)
        .because_errno(errno);
  for (int& end : pipe) end = above_standard_descriptors(end);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) run_as_child(pipe[1], parent, work_);
  const int fault = errno;
  ::close(pipe[1]);
  if (pid_ < 0) {
    ::close(pipe[0]);
    throw Error(Code::io, "cannot start a child process").at(work_.path).because_errno(fault);
  }
  descriptor_ = pipe[0];
}

LimitedChild::~LimitedChild() {
  ::close(descriptor_);
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  (void)wait_for(pid_);
}

void LimitedChild::listen(const std::function<void(Bytes)>& take,
                          const std::function<void()>& ask) {
  try {
    PipeReader reader(descriptor_, work_, ask);
    if (!reader.read_all(take)) throw death_error(wait_for(std::exchange(pid_, -1)), work_);
  } catch (Error& error) {
    error.at(work_.path);
    throw;
  }
}

}  // namespace shale
