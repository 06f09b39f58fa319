#include <cstddef>
#include <cstdint>
#include <string>

#include "shale/annotations/annotation_rows.hpp"
#include "shale/data/json_text.hpp"

#include "tests/fuzz/fuzz_scan.hpp"

// Any bytes are a file of annotations: its cells are JSON, as many as it says, or the error is
// about its content.
extern "C" int fuzz_coco(const std::uint8_t* data, std::size_t size) {
  const shale::test::FuzzedFile file({reinterpret_cast<const char*>(data), size});
  const std::string& path = file.files()[0].path();
  try {
    (void)shale::annotation_form(path);
    (void)shale::read_coco({.path = path, .scratch_folder = "/tmp", .memory_bytes = 1 << 20},
                           [](const shale::AnnotationRow& row) {
                             if (row.types.size() > row.cells.size()) __builtin_trap();
                             for (std::size_t i = 0; i < row.types.size(); ++i) {
                               if (shale::json_fault(row.cells[i].text)) __builtin_trap();
                             }
                           });
    shale::read_label_pairs(path, [](const shale::LabelPair& pair) {
      if (shale::json_fault(pair.label.text)) __builtin_trap();
    });
  } catch (const shale::Error& error) {
    if (error.code() != shale::Code::bad_content && error.code() != shale::Code::limit)
      __builtin_trap();
  }
  return 0;
}
