#pragma once

#include <bit>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/ops/convert.hpp"
#include "shale/ops/verify.hpp"

#include "tests/support/toy_format.hpp"
#include "tests/support/written_set.hpp"

namespace shale::test {

/// Runs `check` for every format, so that what fails names the format.
inline void for_each_format(const std::function<void(const Format&)>& check) {
  for (const Format* format : all_formats()) {
    CAPTURE(format->name);
    check(*format);
  }
}

/// A schema of every kind that a format claims.
inline Schema full_schema(const Format& format) { return schema_of(format.can.kinds); }

/// A small set of one format: several shards of plain samples.
inline SampleSet small_set(const Format& format, std::size_t samples = 7) {
  return plain_samples(full_schema(format), samples, 60);
}

inline ConvertRequest conversion(const std::string& input, const std::string& output,
                                 const Format& format) {
  ConvertRequest request;
  request.inputs = {input};
  request.output = output;
  request.format = format.name;
  request.generator = "shale test";
  request.memory_bytes = 16 << 20;
  request.io = IoMode::buffered;
  return request;
}

inline VerifyReport verified(const std::string& dataset, VerifyDepth depth = VerifyDepth::full) {
  VerifyRequest request;
  request.dataset = dataset;
  request.depth = depth;
  request.memory_bytes = 64 << 20;
  return verify(request, {}, {});
}

/// The first finding in words; empty if there is none.
inline std::string first_finding(const VerifyReport& report) {
  return report.first_findings.empty() ? "" : describe(report.first_findings.front());
}

inline bool names_file(const VerifyReport& report, const std::string& file) {
  for (const Finding& finding : report.first_findings) {
    if (finding.file == file) return true;
  }
  return false;
}

/// What differs between two values, to the bit.
inline bool are_equal(const Value& a, const Value& b) {
  if (a.index() != b.index()) return false;
  if (const auto* bytes = std::get_if<Bytes>(&a))
    return as_text(*bytes) == as_text(std::get<Bytes>(b));
  if (const auto* real = std::get_if<double>(&a)) {
    return std::bit_cast<std::uint64_t>(*real) == std::bit_cast<std::uint64_t>(std::get<double>(b));
  }
  if (const auto* integer = std::get_if<std::int64_t>(&a))
    return *integer == std::get<std::int64_t>(b);
  const auto &left = std::get<std::vector<Bytes>>(a), &right = std::get<std::vector<Bytes>>(b);
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (as_text(left[i]) != as_text(right[i])) return false;
  }
  return true;
}

/// Sanitizers are slow: there, tests that flip every bit flip every 7th, or every 29th where only
/// threads are watched.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t kBitStride = 7;
#elif defined(__SANITIZE_THREAD__)
inline constexpr std::size_t kBitStride = 29;
#else
inline constexpr std::size_t kBitStride = 1;
#endif

}  // namespace shale::test
