"""The tables of the house: which room may include what, where third parties live, and the exceptions to the rules, each with its reason."""

import re

# ---- the rooms ----------------------------------------------------------------------------------------------------------

# The headers beside the rooms are installed (docs/cpp.md). Each is a room of its own, and includes only the standard library and these:
INSTALLED = {
    "error.hpp": "",
    "callbacks.hpp": "error.hpp",
    "field.hpp": "",
    "output.hpp": "",
    "verify.hpp": "callbacks.hpp output.hpp",
    "convert.hpp": "callbacks.hpp output.hpp",
    "dataset.hpp": "callbacks.hpp field.hpp",
    "writer.hpp": "callbacks.hpp field.hpp output.hpp",
}
# What each room of lib/shale may include besides itself.
ROOMS = INSTALLED | {
    "base": "error.hpp callbacks.hpp",
    "io": "base",
    "data": "base field.hpp",
    "wire": "base data",
    "parquet": "base data wire",
    "numbers": "base data",
    "format": "base io data",
    "layouts": "base io data wire format",
    "columns": "base io data format",
    "trees": "base io data wire format",
    "flow": "base",
    "image": "base data",
    "pixels": "base image",
    "manifest": "base io data flow",
    "shards": "base io data wire format flow manifest",
    "arrays": "base io data wire format shards",
    "datasets": "base io data format flow manifest shards wire",
    "sums": "base io data flow manifest shards",
    "native": "base io data wire flow manifest shards datasets sums",
    "encoding": "base io data manifest wire numbers format flow image pixels shards convert.hpp",
    "sampling": "base io flow arrays",
    "loading": "base io data format flow image pixels manifest shards datasets dataset.hpp",
    "annotations": "base io data manifest",
    "labels": "base io data format flow manifest shards arrays annotations",
    "partners": "base io data image manifest arrays",
    "folders": "base io data wire format flow image manifest shards arrays annotations labels partners",
    "archives": "base io wire format manifest shards datasets labels partners folders",
    "sources": "base io data wire numbers format flow image manifest shards arrays datasets encoding sampling annotations labels partners folders archives",
    "browse": "base io data wire numbers format flow image manifest shards arrays datasets encoding sampling labels partners folders archives sources",
    "verify": "base io data format flow image manifest shards datasets arrays encoding labels partners folders archives sources verify.hpp",
    "report": "base io data numbers format flow image pixels manifest shards datasets encoding sampling loading sources browse verify",
    "requests": "base io data format manifest shards encoding sampling labels sources verify",
    "targets": "base io data format flow manifest shards arrays datasets encoding labels partners folders archives sources verify requests",
    "ops": "base io data wire format flow manifest shards arrays datasets encoding sampling loading annotations labels partners folders archives sources verify requests targets",
    "api": "base io data format manifest shards partners folders archives loading verify requests targets ops output.hpp verify.hpp convert.hpp dataset.hpp writer.hpp",
}
FORMAT_MAY_INCLUDE = "layouts columns trees parquet format wire data io image base".split()
# A folder within a format's is a room too; which of the others it may include. The row, <name>_format.cpp, may include all.
ROOMS_OF_FORMATS = {
    "hdf5/foreign": "hdf5",
}

# A room that says several things is divided along them.
MAX_ROOM_LINES = 5500
STILL_TOO_LARGE: dict[str, str] = {}

# Third parties live in one room each: first word of the header's name -> the places it may be included from.
THIRD_PARTIES = {
    "fmt/": ["lib/", "formats/", "tools/"],
    "xxh": ["lib/shale/base/"],
    "isa-l.h": ["lib/shale/base/"],
    "isa-l/": ["lib/shale/base/"],
    "zlib.h": ["lib/shale/base/"],
    "zstd": ["lib/shale/base/"],
    "lz4": ["lib/shale/base/"],
    "md5.h": ["lib/shale/sums/"],
    "sha2.h": ["lib/shale/sums/"],
    "snappy": ["lib/shale/parquet/"],
    "pugixml.hpp": ["lib/shale/annotations/"],
    "yaml.h": ["lib/shale/datasets/"],
    "liburing.h": ["lib/shale/io/"],
    "turbojpeg.h": ["lib/shale/image/", "lib/shale/pixels/", "samples/"],
    "jpeglib.h": ["lib/shale/image/", "lib/shale/pixels/"],
    "jerror.h": ["lib/shale/image/", "lib/shale/pixels/"],
    "png.h": ["lib/shale/image/", "lib/shale/pixels/"],
    "gif_lib.h": ["lib/shale/pixels/"],
    "tiffio.h": ["lib/shale/pixels/"],
    "webp/": ["lib/shale/pixels/"],
    "nlohmann/": ["lib/shale/data/json_text.cpp", "lib/shale/manifest/", "lib/shale/report/", "tools/", "python/bindings/"],  # bindings print the facts that tools/ makes
    "kainjow/": ["lib/shale/report/"],
    "boost/program_options": ["tools/"],
    "msgpack": ["lib/shale/wire/"],
    "lmdb.h": ["formats/lmdb/"],
    "hdf5": ["formats/hdf5/hdf5_", "formats/hdf5/foreign/"],
    "nanobind/": ["python/"],
    "doctest/": [],  # tests only
    "shale/": ["samples/cpp/"],  # the installed library
}
SYSTEM_HEADER = re.compile(
    r"[a-z_]+$|cxxabi\.h$"  # the standard library
    r"|(sys|linux|asm|net|netinet|arpa)/[\w/-]+\.h$"
    r"|(aio|assert|cpuid|dirent|dlfcn|endian|errno|fcntl|fnmatch|ftw|getopt|glob|grp|immintrin|inttypes|limits|locale|math"
    r"|malloc|mntent|nmmintrin|poll|pthread|pwd|sched|semaphore|setjmp|signal|spawn|stdarg|stdatomic|stddef|stdint|stdio|stdlib|string|sysexits"
    r"|syslog|termios|time|unistd|wchar|x86intrin)\.h$"
)

# ---- exceptions, each with its reason -----------------------------------------------------------------------------------

MACROS_THAT_CONFIGURE_A_LIBRARY = re.compile(r"DOCTEST_CONFIG_\w+|XXH_\w+|FMT_\w+|_GNU_SOURCE|_FILE_OFFSET_BITS")
RAW_MEMORY_IS_NEEDED = {
    "lib/shale/io/aligned_buffer.hpp": "O_DIRECT takes aligned buffers only; one allocation, one deleter",
}
THREADS_LIVE_IN = ("lib/shale/flow/", "lib/shale/loading/loader", "lib/shale/io/batch_reader", "lib/shale/io/external_sorter", "lib/shale/ops/sample_writer")
MAY_FORK = {"lib/shale/io/limited_child.cpp": "a library that trusts its files sees them in a child with limits only"}
MAY_EXIT = {
    "tools/main.cpp": "only main returns exit codes",
    "lib/shale/io/limited_child.cpp": "its child must not run the destructors of what belongs to the parent",
}

# What a workflow may run beside scripts: it makes the checkout possible, and usable.
BEFORE_THE_CHECKOUT = {("apt-get", "update"), ("apt-get", "install"), ("git", "config")}
