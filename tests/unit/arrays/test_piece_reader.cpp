#include <algorithm>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/arrays/piece_reader.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

std::string noise(std::size_t bytes) {
  std::mt19937_64 dice(3);
  std::string text(bytes, '\0');
  for (char& byte : text) byte = static_cast<char>(dice());
  return text;
}

// The same bytes as a file, and as a scratch file.
struct Sources {
  explicit Sources(const std::string& content) {
    write_file(dir / "f", content);
    const auto scratch = std::make_shared<ScratchFile>(dir.path());
    scratch->append(as_bytes(content));
    all = {std::make_shared<const InputFile>(dir / "f"), scratch};
  }
  TempDir dir;
  std::vector<PieceSource> all;
};

TEST_CASE("piece reader: pieces in any order, joined, apart and empty, are what lies in the file") {
  const std::string content = noise(300'000);
  const Sources sources(content);
  std::mt19937_64 dice(4);
  for (const PieceSource& source : sources.all) {
    CHECK(size_of(source) == content.size());
    PieceReader reader(source);
    std::string joined(content.size(), '?');
    for (std::size_t at = 0; at < content.size(); at += 1000)
      reader.add(at, std::as_writable_bytes(std::span(joined).subspan(at, 1000)));
    std::vector<std::string> pieces;
    std::vector<std::size_t> offsets;
    for (int i = 0; i < 500; ++i) {
      offsets.push_back(dice() % content.size());
      pieces.emplace_back(dice() % std::min<std::size_t>(3000, content.size() - offsets.back()),
                          '?');
    }
    for (std::size_t i = 0; i < pieces.size(); ++i)
      reader.add(offsets[i], std::as_writable_bytes(std::span(pieces[i])));
    reader.finish();
    CHECK(joined == content);
    for (std::size_t i = 0; i < pieces.size(); ++i)
      CHECK(pieces[i] == content.substr(offsets[i], pieces[i].size()));
  }
}

TEST_CASE("piece reader: a file that ends before a piece does is damage, with the place") {
  const Sources sources(noise(1000));
  PieceReader reader(sources.all[0]);
  std::string into(100, '?');
  const Error error = error_of([&] {
    reader.add(950, std::as_writable_bytes(std::span(into)));
    reader.finish();
  });
  CHECK(error.code() == Code::damaged);
  CHECK(error.file() == path_of(sources.all[0]));
  CHECK(error.offset());
}

}  // namespace
}  // namespace shale
