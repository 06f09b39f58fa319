#include "shale/folders/listed_files.hpp"

#include <algorithm>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/io/input_stream.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/json_lines.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostOfListedLine = 1 << 20;
constexpr std::string_view kListBegin = "\xef\xbb\xbf";  // a byte order mark

class ListReader {
 public:
  ListReader(const std::string& name, char end, const std::function<void(const ListedLine&)>& use)
      : name_(name), end_(end), use_(use) {}

  void take(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find(end_);
      const std::string_view piece = text.substr(0, end);
      if (line_.size() + piece.size() > kMostOfListedLine) throw too_long();
      line_.append(piece);
      if (end == std::string_view::npos) return;
      finish_line();
      text.remove_prefix(end + 1);
    }
  }

  // The last line needs no end.
  void finish() {
    if (!line_.empty()) finish_line();
  }

 private:
  void finish_line() {
    ++number_;
    std::string_view line = line_;
    if (number_ == 1 && line.starts_with(kListBegin)) line.remove_prefix(kListBegin.size());
    if (end_ == '\n') {
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.find('\0') != std::string_view::npos)
        throw at_line("has a NUL byte")
            .hint("end every path with NUL, or every path with a line end");
    }
    if (!trimmed(line).empty()) use_line(line);
    line_.clear();
  }

  void use_line(std::string_view line) {
    ListedLine listed{.number = number_, .path = line};
    const std::size_t tab = line.rfind('\t');
    if (tab != std::string_view::npos) {
      listed.path = line.substr(0, tab);
      listed.label = trimmed(line.substr(tab + 1));
    }
    while (listed.path.starts_with("./")) listed.path.remove_prefix(2);
    if (listed.path.empty()) throw at_line("has no path").hint("write path<TAB>label");
    if (tab != std::string_view::npos && listed.label.empty())
      throw at_line("has a tab, but no label behind it")
          .hint("write path<TAB>label, or a path alone");
    use_(listed);
  }

  [[nodiscard]] Error at_line(std::string_view fact) const {
    return Error(Code::bad_content, "line {} {}", number_, fact).at(name_);
  }

  [[nodiscard]] Error too_long() const {
    return line_too_long(name_, number_ + 1, kMostOfListedLine)
        .hint("write the path of one file per line");
  }

  const std::string& name_;
  char end_;
  const std::function<void(const ListedLine&)>& use_;
  std::string line_;
  std::uint64_t number_ = 0;
};

}  // namespace

void read_listed_files(const std::string& path, const std::string& name,
                       const std::function<void()>& stop_if_asked,
                       const std::function<void(const ListedLine&)>& use) {
  InputStream stream(path, stop_if_asked);
  const std::string_view head = as_text(stream.peek(kMostOfListedLine + 1));
  const bool has_nul = head.find('\0') != std::string_view::npos;
  if (has_nul && (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff"))) {
    throw Error(Code::bad_content, "is UTF-16, expected paths as they are in the file system")
        .at(name)
        .hint("convert the list with iconv -f UTF-16 -t UTF-8");
  }
  ListReader reader(name, has_nul ? '\0' : '\n', use);
  std::vector<std::byte> buffer(1 << 16);
  while (const std::uint64_t count = stream.read(buffer)) {
    stop_if_asked();
    reader.take(as_text(Bytes(buffer).first(count)));
  }
  reader.finish();
}

}  // namespace shale
