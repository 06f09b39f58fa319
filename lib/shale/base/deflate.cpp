#include "shale/base/deflate.hpp"

#include <array>

#include <zlib.h>

#include "shale/base/error.hpp"

namespace shale {
namespace {

constexpr int kLevel = 6, kRawWindow = -15, kMemoryLevel = 8;
constexpr std::size_t kAtOnce = std::size_t{1} << 30;  // zlib counts in 32 bits

}  // namespace

struct Deflater::State {
  State() {
    if (::deflateInit2(&zlib, kLevel, Z_DEFLATED, kRawWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
      throw Error(Code::io, "there is no memory to compress with");
    }
  }
  ~State() { ::deflateEnd(&zlib); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void run(Bytes piece, int flush, const std::function<void(Bytes)>& use) {
    // zlib reads its input, but does not say so in the type.
    zlib.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(piece.data()));
    zlib.avail_in = static_cast<uInt>(piece.size());
    do {
      zlib.next_out = reinterpret_cast<Bytef*>(output.data());
      zlib.avail_out = static_cast<uInt>(output.size());
      (void)::deflate(&zlib, flush);
      use(Bytes(output).first(output.size() - zlib.avail_out));
    } while (zlib.avail_out == 0);
  }

  z_stream zlib = {};
  std::array<std::byte, std::size_t{64}* 1024> output = {};
};

Deflater::Deflater() : state_(std::make_unique<State>()) {}
Deflater::~Deflater() = default;
Deflater::Deflater(Deflater&&) noexcept = default;
Deflater& Deflater::operator=(Deflater&&) noexcept = default;

void Deflater::deflate(Bytes piece, const std::function<void(Bytes)>& use) {
  for (; piece.size() > kAtOnce; piece = piece.subspan(kAtOnce))
    state_->run(piece.first(kAtOnce), Z_NO_FLUSH, use);
  state_->run(piece, Z_NO_FLUSH, use);
}

void Deflater::finish(const std::function<void(Bytes)>& use) { state_->run({}, Z_FINISH, use); }

}  // namespace shale
