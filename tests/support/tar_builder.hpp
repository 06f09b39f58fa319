#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace shale::test {

/// A tar archive, header by header: what no program would write, too.
class TarBuilder {
 public:
  /// `size`: what the header says; -1: that of the data.
  TarBuilder& add(std::string_view name, std::string_view data, char type = '0',
                  std::string_view target = "", std::int64_t size = -1) {
    std::string header(512, '\0');
    const auto put = [&](std::size_t at, std::string_view text) {
      header.replace(at, text.size(), text);
    };
    put(0, name.substr(0, 100));
    put(100, "0000644");
    put(124, fmt::format("{:011o}", size < 0 ? static_cast<std::int64_t>(data.size()) : size));
    put(136, "00000000000");
    header[156] = type;
    put(157, target.substr(0, 100));
    put(257, std::string_view("ustar\0"
                              "00",
                              8));
    return add_block(std::move(header)).add_data(data);
  }
  /// A header of 512 bytes, with the checksum that it must have.
  TarBuilder& add_block(std::string header) {
    header.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    header.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
    bytes_ += header;
    return *this;
  }
  TarBuilder& add_data(std::string_view data) {
    bytes_ += data;
    bytes_.resize((bytes_.size() + 511) / 512 * 512);
    return *this;
  }
  /// The archive with its end.
  [[nodiscard]] std::string whole() const { return bytes_ + std::string(1024, '\0'); }
  /// Without.
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace shale::test
