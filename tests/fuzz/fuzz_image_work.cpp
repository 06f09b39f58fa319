#include <cstddef>
#include <cstdint>
#include <vector>

#include "shale/image/probe.hpp"
#include "shale/pixels/image_work.hpp"

// The first byte chooses a rule, the others are an image: any bytes give a result within the
// planned size, or a fault.
extern "C" int fuzz_image_work(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  using namespace shale;
  const unsigned choice = data[0];
  ImageRule rule;
  rule.resize = static_cast<Resize>(choice % 5);
  rule.width = 37;
  rule.height = 23;
  rule.apply_rotation = (choice & 8U) != 0;
  rule.strip_metadata = (choice & 16U) != 0;
  rule.is_mask = (choice & 32U) != 0;
  rule.encode = static_cast<EncodeAs>(choice >> 6);
  if (rule.is_mask && rule.encode == EncodeAs::jpeg) rule.encode = EncodeAs::raw;
  const Bytes image(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const ImageInfo info = probe_image(image, "x");
  const ImagePlan plan = plan_image(image, info, rule, std::uint64_t{32} << 20);
  if (!plan.fault.empty()) return 0;
  std::vector<std::byte> into;
  const ImageResult result = ImageWorker(rule).run(image, info, plan, into);
  if (result.fault.empty() && !plan.keeps_bytes && result.bytes > plan.most_output_bytes) {
    __builtin_trap();
  }
  return 0;
}
