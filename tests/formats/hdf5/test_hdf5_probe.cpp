#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "formats/hdf5/hdf5_probe.hpp"
#include "tests/formats/hdf5/foreign_files.hpp"

namespace shale {
namespace {

using test::error_of;
using test::TempDir;

constexpr ProbeLimits kLimits = {.cpu_seconds = 1, .wall_seconds = 20, .memory_bytes = 64 << 20};

Error child_error(const std::function<void(const SendMessage&)>& work,
                  const ProbeLimits& limits = kLimits) {
  return error_of([&] { run_hdf5_child("a.h5", limits, work, [](Bytes) {}); });
}

TEST_CASE("hdf5 probe: messages of a child come in order, large and small") {
  std::vector<std::string> sent = {"", "one", std::string(1 << 20, 'x'), "two"};
  std::vector<std::string> got;
  run_hdf5_child(
      "a.h5", kLimits,
      [&](const SendMessage& send) {
        for (const std::string& text : sent) send(as_bytes(text));
      },
      [&](Bytes message) { got.emplace_back(as_text(message)); });
  CHECK(got == sent);
}

TEST_CASE("hdf5 probe: an error of the child arrives with code, cause, hint and file") {
  const Error error = child_error([](const SendMessage&) {
    throw Error(Code::unsupported, "no such thing").because("a cause").hint("a hint");
  });
  CHECK(error.code() == Code::unsupported);
  CHECK(std::string(error.what()) == "a.h5: no such thing: a cause");
  CHECK(error.hint() == "a hint");
}

TEST_CASE("hdf5 probe: a child that dies of a signal is damage, by the signal's name") {
  const Error fault = child_error([](const SendMessage&) { std::raise(SIGSEGV); });
  CHECK(fault.code() == Code::damaged);
  CHECK(fault.message() == "the HDF5 library died of signal 11 (SIGSEGV) on this file");
  CHECK(child_error([](const SendMessage&) { std::abort(); }).message() ==
        "the HDF5 library died of signal 6 (SIGABRT) on this file");
  CHECK(child_error([](const SendMessage&) { ::_exit(7); }).message() ==
        "the HDF5 library ended the process with status 7 on this file");
  CHECK(child_error([](const SendMessage&) { std::raise(SIGKILL); }).code() == Code::limit);
}

TEST_CASE("hdf5 probe: a child that never ends is stopped by its processor time, or by the clock") {
  const Error busy = child_error([](const SendMessage&) {
    for (volatile bool is_endless = true; is_endless;) {
    }
  });
  CHECK(busy.code() == Code::limit);
  CHECK(busy.message() == "the HDF5 library took more than 1 s of processor time on this file");
  const Error idle = child_error([](const SendMessage&) { ::pause(); },
                                 {.cpu_seconds = 1, .wall_seconds = 1, .memory_bytes = 64 << 20});
  CHECK(idle.code() == Code::limit);
  CHECK(idle.message() == "the HDF5 library took more than 1 s for this file");
  const Error deaf = child_error([](const SendMessage&) {
    ::close_range(3, ~0U, 0);
    ::pause();
  });
  CHECK(deaf.message() == "the process that asked the HDF5 library about this file was killed");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("hdf5 probe: a child that wants more memory than the file is refused it") {
  const Error error = child_error([](const SendMessage& send) {
    const std::vector<std::byte> much(std::size_t{256} << 20);
    send(Bytes(much).first(1));
  });
  CHECK(error.code() == Code::limit);
  CHECK(error.message() == "more than 64 MiB of memory are needed for this file");
}
#endif

TEST_CASE("hdf5 probe: a child writes nothing, neither on the terminal nor into a file") {
  const TempDir dir;
  const Error error = child_error([&](const SendMessage&) {
    test::write_file(dir / "x", std::string(100'000, 'x'));
    throw Error(Code::bug, "a file was written");
  });
  CHECK(error.message() == "the HDF5 library died of signal 25 (SIGXFSZ) on this file");
}

TEST_CASE("hdf5 probe: a parent that refuses a message ends the child") {
  const Error error = error_of([&] {
    run_hdf5_child(
        "a.h5", kLimits,
        [](const SendMessage& send) {
          while (true) send(as_bytes("more"));
        },
        [](Bytes) { throw Error(Code::limit, "enough"); });
  });
  CHECK(error.message() == "enough");
}

TEST_CASE("hdf5 probe: what is no HDF5 file is damage, with the library's reason") {
  const TempDir dir;
  test::write_file(dir / "a.h5", "no HDF5 at all");
  const Error error = error_of([&] { (void)probe_hdf5_file(InputFile(dir / "a.h5")); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.message() == "the HDF5 library cannot open this file");
  CHECK(error.cause().find("file signature not found") != std::string::npos);
}

TEST_CASE("hdf5 probe: chunks that follow one another are one run") {
  const TempDir dir;
  test::ForeignFile(dir / "a.h5").chunked({1, 4}).count("x", H5T_STD_I64LE, {100, 4});
  const Hdf5Description all = probe_hdf5_file(InputFile(dir / "a.h5"));
  REQUIRE(all.datasets.size() == 1);
  CHECK(all.datasets[0].runs.size() < 10);
  CHECK(all.datasets[0].runs[0].count > 10);
}

// A description that a corrupt child might send.
Hdf5Dataset plain_dataset() {
  Hdf5Dataset dataset;
  dataset.name = "x";
  dataset.type = Hdf5Type::number;
  dataset.descr = "<i4";
  dataset.element_bytes = 4;
  dataset.has_shape = true;
  dataset.shape = {10, 2};
  dataset.storage = Hdf5Storage::chunked;
  dataset.chunk = {5, 2};
  return dataset;
}

Error description_error(const Hdf5Dataset& dataset, const std::vector<Hdf5ChunkAt>& chunks) {
  return error_of([&] {
    Hdf5DescriptionReader reader(1000);
    reader.take(encode_facts({}));
    reader.take(encode_dataset(dataset));
    reader.take(encode_chunks(chunks));
    (void)reader.finish();
    throw Error(Code::bug, "nothing was refused");
  });
}

TEST_CASE("hdf5 description: chunks outside of the file, twice or beyond the rows are damage") {
  using Chunks = std::vector<Hdf5ChunkAt>;
  for (const Chunks& chunks : {Chunks{{0, 961}}, Chunks{{0, ~std::uint64_t{0}}}, Chunks{{2, 0}},
                               Chunks{{1, 0}, {1, 40}}, Chunks{{1, 0}, {0, 40}}})
    CHECK(description_error(plain_dataset(), chunks).code() == Code::damaged);
  CHECK(description_error(plain_dataset(), {{0, 960}, {1, 0}}).code() == Code::bug);
}

TEST_CASE("hdf5 description: datasets that contradict themselves are damage") {
  const std::vector<void (*)(Hdf5Dataset&)> changes = {
      [](Hdf5Dataset& x) { x.element_bytes = 5; },
      [](Hdf5Dataset& x) { x.element_bytes = 0; },
      [](Hdf5Dataset& x) { x.descr = "<i3"; },
      [](Hdf5Dataset& x) { x.type = Hdf5Type::vlen_bytes; },
      [](Hdf5Dataset& x) { x.type = static_cast<Hdf5Type>(9); },
      [](Hdf5Dataset& x) { x.storage = static_cast<Hdf5Storage>(9); },
      [](Hdf5Dataset& x) { x.has_shape = false; },
      [](Hdf5Dataset& x) {
        x.chunk = {0, 2};
      },
      [](Hdf5Dataset& x) { x.chunk = {5}; },
      [](Hdf5Dataset& x) { x.chunk.clear(); },
      [](Hdf5Dataset& x) { x.shape.assign(40, 1); },
      [](Hdf5Dataset& x) {
        x.shape = {0, 2};
      },
      [](Hdf5Dataset& x) { x.filters.assign(40, "f"); },
  };
  for (const auto change : changes) {
    Hdf5Dataset dataset = plain_dataset();
    change(dataset);
    CHECK(description_error(dataset, {{0, 0}}).code() == Code::damaged);
  }
  Hdf5Dataset huge = plain_dataset();
  huge.shape = {10, std::uint64_t{1} << 62};
  huge.chunk = {5, std::uint64_t{1} << 62};
  CHECK(description_error(huge, {{0, 0}}).code() == Code::limit);
}

}  // namespace
}  // namespace shale
