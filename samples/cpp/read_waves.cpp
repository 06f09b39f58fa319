// Reads what write_waves wrote, sample by sample and in batches: read_waves DATASET.

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <span>
#include <vector>

#include <shale/dataset.hpp>

int main(int argc, char** argv) try {
  const shale::Dataset set(argc > 1 ? argv[1] : "waves");
  const std::size_t wave = set.field("wave"), label = set.field("label");
  if (const auto row = set.find("wave/7")) {
    const shale::OwnedSample sample = set.read(*row);
    std::printf("%s is %s\n", sample.key.c_str(),
                set.classes()[std::get<std::int64_t>(sample.values[label])].c_str());
  }
  double energy = 0;
  std::vector<std::uint64_t> rows(50);
  std::vector<float> batch(rows.size() * set.bytes_of_value(wave) / sizeof(float));
  for (std::uint64_t first = 0; first + rows.size() <= set.size(); first += rows.size()) {
    std::iota(rows.begin(), rows.end(), first);  // any rows, in any order
    set.read_array(wave, rows, std::as_writable_bytes(std::span(batch)));
    energy = std::inner_product(batch.begin(), batch.end(), batch.begin(), energy);
  }
  std::printf("%llu samples, energy %.0f\n", static_cast<unsigned long long>(set.size()), energy);
} catch (const shale::Error& error) {
  std::fprintf(stderr, "%s\nhint: %s\n", error.what(), error.hint().c_str());
  return 1;
}
