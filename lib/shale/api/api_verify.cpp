#include "shale/api/api_request.hpp"
#include "shale/archives/archive_path.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/requests/combinations.hpp"
#include "shale/shards/block_part.hpp"
#include "shale/verify.hpp"
#include "shale/verify/verify.hpp"

namespace shale {

namespace {

void choose_part(const VerifyOptions& options, VerifyRequest& request) {
  if (options.depth != VerifyDepth::full || !options.against.empty()) {
    throw Error(Code::usage, "a part of the blocks is verified, nothing else")
        .hint("leave out `depth` and `against`, or `sample`");
  }
  request.part = parse_block_part(options.sample, number_of_day());
  request.depth = VerifyDepth::quick;
}

}  // namespace

VerifyReport verify(const VerifyOptions& options, const FindingSink& sink,
                    const Callbacks& callbacks) {
  const Resources given = granted(options.resources);
  VerifyRequest request;
  request.dataset = options.dataset;
  request.depth = options.depth;
  request.against = with_archives_joined(options.against);
  request.labels = {.path = options.labels,
                    .label_column = options.label_column,
                    .key_column = options.key_column,
                    .separator = options.label_separator,
                    .strip_prefix = options.strip_prefix,
                    .pattern = options.label_from};
  (void)take_no_labels(request.labels);
  request.raw = raw_of(options.raw, options.raw_offset);
  if (request.raw.is_given() && request.against.empty()) {
    throw Error(Code::usage, "`raw` says what `against` holds, but there is none")
        .hint("leave out `raw`, or name the files that the dataset was made of");
  }
  request.index_folder = options.index_folder;
  request.parsing = wanted_parsing(options.parse, options.database);
  request.join = join_of(options.on, options.partners);
  request.is_strict = options.is_strict;
  if (!options.sample.empty()) choose_part(options, request);
  refuse_idle_labels(request);
  request.generator = kLibraryGenerator;
  request.jobs = given.jobs;
  request.memory_bytes = given.memory_bytes;
  return verify(request, sink, Events{callbacks});
}

}  // namespace shale
