#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/manifest/manifest_file.hpp"

// Any bytes, followed by a self-hash that is right, are a manifest: they parse, or the error is a
// shale::Error.
extern "C" int fuzz_manifest(const std::uint8_t* data, std::size_t size) {
  static const std::string folder = [] {
    std::string name = (std::filesystem::temp_directory_path() / "shale-fuzz-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) __builtin_trap();
    return name;
  }();
  std::string text(reinterpret_cast<const char*>(data), size);
  text += ",\n\"hash\": \"";
  const std::string tail = "\"\n}\n";
  text += shale::xxh3_128(shale::as_bytes(text + tail)).hex() + tail;
  std::FILE* file = std::fopen((folder + "/dataset.json").c_str(), "wb");
  if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file) != text.size())
    __builtin_trap();
  std::fclose(file);
  try {
    (void)shale::read_manifest(folder, [](const shale::ManifestShard&) {});
  } catch (const shale::Error&) {
  }
  return 0;
}
