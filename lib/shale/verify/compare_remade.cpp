#include "shale/verify/compare_remade.hpp"

#include <utility>

#include "shale/archives/tar_stream.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/encoding/encode_pipeline.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/verify/source_verdict.hpp"

namespace shale {
namespace {

OnError on_error_of(const Manifest& manifest) {
  const std::string text = option_of(manifest, "on_error");
  return text == "keep" ? OnError::keep : OnError::skip;
}

// Of the samples as they are written.
DatasetDigest digest_of_all(Source& source, const Format& format, const ShardLayout& layout,
                            OnError on_error, const VerifyRequest& request, const Events& events) {
  const OptionSet options(format.options);
  const Encoding encoding{format, options, layout, on_error};
  DatasetDigest digest;
  encode_all(source, encoding, {.jobs = request.jobs, .memory_bytes = request.memory_bytes / 2},
             events, [&](const EncodedSample& sample) {
               if (sample.record) digest.append(sample.record->digest);
             });
  return digest;
}

void compare_fact(std::string_view what, const std::string& found, const std::string& expected,
                  const std::string& of, VerifyLog& log) {
  if (found == expected) return;
  Finding finding;
  finding.message = fmt::format("{} differs from {}", what, of);
  finding.found = found;
  finding.expected = expected;
  log.add(std::move(finding));
}

}  // namespace

void compare_what_went_in(const Manifest& ours, Source& source, const VerifyRequest& request,
                          VerifyLog& log) {
  log.note(fmt::format("the images were made by {}: what went in was compared, not what came out",
                       other_codec(ours.transform).value_or("")));
  const SourceInfo& info = source.info();
  refuse_for_stream(source, request.against.front(), "a comparison of images of another codec");
  const std::string of = printable(request.against.front());
  const std::uint64_t damage = log.damage();
  const bool is_of_all = !is_of_some_samples(ours);
  SourceComparison& comparison = log.report().comparison;
  comparison = {.verdict = SourceVerdict::same,
                .sentence = "as much went into it as the source has"};
  if (is_of_all) {
    compare_fact("number of samples that went in", std::to_string(ours.source.samples),
                 std::to_string(info.manifest.samples), of, log);
  }
  if (ours.skipped > info.skipped || !is_of_all || !ours.source.digest) {
    log.note("some of them were left out: only their number was compared");
  } else {
    const Format& any = format_named("record");
    const DatasetDigest read =
        digest_of_all(source, any, any.layout(info.schema, OptionSet(any.options)),
                      on_error_of(ours), request, log.events());
    compare_fact("content digest of what went in", ours.source.digest->content.hex(),
                 read.content.hex(), of, log);
    comparison.sentence = "the same samples went into it as the source holds";
  }
  comparison.findings = log.damage() - damage;
  if (comparison.findings == 0) return;
  comparison.verdict = damage > 0 ? SourceVerdict::damaged : SourceVerdict::different;
  comparison.sentence = "what went into it was not what the source holds";
}

}  // namespace shale
