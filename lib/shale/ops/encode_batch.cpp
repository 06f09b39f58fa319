#include "shale/ops/encode_batch.hpp"

#include <utility>

#include "shale/base/error.hpp"

namespace shale {
namespace {

std::uint64_t payload_bytes_of(const Sample& sample) {
  std::uint64_t bytes = 0;
  for (const Value& value : sample.values) {
    if (const Bytes* run = std::get_if<Bytes>(&value)) bytes += run->size();
    if (const auto* list = std::get_if<std::vector<Bytes>>(&value)) {
      for (const Bytes element : *list) bytes += element.size();
    }
  }
  return bytes;
}

EncodedSample encode_sample(const Sample& sample, std::uint64_t number, const SourceInfo& source,
                            const Format& format, const OptionSet& options, OnError on_error) {
  EncodedSample encoded;
  encoded.key = sample.key;
  if (source.holds_images) {
    encoded.image = probe_image(std::get<Bytes>(sample.values[0]), sample.key);
    encoded.fault = encoded.image->fault;
  }
  if (!encoded.fault.empty() && on_error == OnError::fail) {
    throw Error(Code::bad_content, "the image {}", encoded.fault)
        .for_sample(sample.key, number)
        .hint(
            "--on-error skip leaves such samples out and lists them, --on-error keep takes them as "
            "they are");
  }
  if (!encoded.fault.empty() && on_error == OnError::skip) return encoded;
  check_sample(sample, source.schema);
  Record record = format.encode(sample, source.schema, options);
  record.digest = digest_of(sample, source.schema);
  record.payload_bytes = payload_bytes_of(sample);
  encoded.record = std::move(record);
  return encoded;
}

}  // namespace

EncodedBatch encode_batch(Batch batch, const SourceInfo& source, const Format& format,
                          const OptionSet& options, OnError on_error, BatchReader& reader) {
  EncodedBatch encoded;
  const std::vector<Sample> samples = load_batch(batch, source, reader);
  encoded.samples.reserve(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    encoded.samples.push_back(
        encode_sample(samples[i], batch.first + i, source, format, options, on_error));
  }
  encoded.batch = std::move(batch);
  return encoded;
}

}  // namespace shale
