#!/usr/bin/env bash
# Builds the third-party libraries that a release links statically, for one target, and prints where they are.
#   packaging/libraries.sh COMPILER TARGET CACHE
# COMPILER: a folder that compiler.sh made. CACHE keeps sources and results; what decides a result (versions, this script, compiler)
# is in its name, so a second run only prints. Sources come from Debian (libraries.txt); headers of Boost, kainjow-mustache, msgpack-cxx and nlohmann-json,
# and libaec's static library (plain C without I/O, fit for any libc), are those that the machine has installed.
set -euo pipefail
shopt -s extglob

compiler=$1 target=$2 cache=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
system=/usr/lib/x86_64-linux-gnu

installed() {
  dpkg-query -W -f='${Version}' "$1"
}

upstream() { # 1:2.1.5-2 is 2.1.5
  local version=${1#*:}
  version=${version%-*}
  printf '%s' "${version%[.+]@(ds1|dfsg?([0-9])|repack1)}"
}

recipe=$(
  cat "$here/libraries.txt" "$here/libraries.sh" "$here/tools.txt" "$compiler/cc" "$compiler/c++"
  for package in libaec-dev libboost1.74-dev libkainjow-mustache-dev libmsgpack-cxx-dev nlohmann-json3-dev nasm; do installed "$package"; done
)
prefix=$cache/libraries-$target-$(sha256sum <<<"$recipe" | cut -c1-12)
if [[ -e $prefix/complete ]]; then
  printf '%s\n' "$prefix"
  exit 0
fi

# A source package of libraries.txt, with Debian's patches, in $work/NAME.
fetch_sources() {
  local apt=$cache/apt name version
  mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$cache/sources"
  sed '/^#/d' "$here/libraries.txt" | while read -r name version; do
    if ! compgen -G "$cache/sources/${name}_${version#*:}.dsc" >/dev/null; then
      if [[ ! -e $apt/updated ]]; then
        # The machine's own mirrors of Debian, for sources.
        # shellcheck disable=SC2016 # apt-get's own names
        apt-get indextargets --format 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(REPO_URI) $(RELEASE) main' \
          'Created-By: Packages' 'Component: main' 'Origin: Debian' | sort -u >"$apt/sources.list"
        sed '/-security /d' "$apt/sources.list" >"$apt/plain.list"
        for list in sources plain; do
          printf 'Dir::Etc::sourcelist "%s"; Dir::Etc::sourceparts "-"; Dir::State::lists "%s"; Dir::Cache "%s";\n' \
            "$apt/$list.list" "$apt/lists" "$apt" >"$apt/$list.conf"
        done
        APT_CONFIG=$apt/sources.conf apt-get update -q
        : >"$apt/updated"
      fi
      # A mirror's security suite may list a package that it has not got; the release has the same one then.
      (cd "$cache/sources" && for list in sources plain; do
        APT_CONFIG=$apt/$list.conf apt-get source -q --download-only "$name=$version" && exit
      done; exit 1)
    fi
    dpkg-source --no-check -x "$cache/sources/${name}_${version#*:}.dsc" "$work/$name"
  done
  rm -f "$apt/updated"
}

pkg_config() { # NAME VERSION LIBRARIES [INCLUDE]
  printf 'Name: %s\nDescription: %s\nVersion: %s\nLibs: -L%s/lib %s\nCflags: -I%s/include%s\n' \
    "$1" "$1" "$2" "$prefix" "$3" "$prefix" "${4:-}" >"$prefix/lib/pkgconfig/$1.pc"
}

flags="-O2 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -g0 -w"

cmake_library() { # FOLDER [ARGUMENT...]
  local folder=$1
  shift
  mkdir -p "$folder/build-static"
  # From within: HDF5 looks for files of its configuration in the current folder.
  (
    cd "$folder/build-static"
    cmake -G Ninja .. -DCMAKE_BUILD_TYPE=None -DCMAKE_C_COMPILER="$compiler/cc" -DCMAKE_CXX_COMPILER="$compiler/c++" \
      -DCMAKE_AR="$compiler/ar" -DCMAKE_RANLIB="$compiler/ranlib" -DCMAKE_C_FLAGS="$flags ${cflags:-}" -DCMAKE_CXX_FLAGS="$flags" \
      -DBUILD_SHARED_LIBS=OFF -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR="$prefix/lib" \
      -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DCMAKE_FIND_ROOT_PATH="$prefix" -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY \
      -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY "$@"
    ninja -j2 install
  )
}

archive() { # NAME SOURCE...: compiled in place; CC and cflags by the caller
  local name=$1 source objects=()
  shift
  for source in "$@"; do
    # shellcheck disable=SC2086 # flags are words
    "$compiler/${driver:-cc}" $flags -ffile-prefix-map="$work=." ${cflags:-} -c "$source" -o "${source%.c*}.o"
    objects+=("${source%.c*}.o")
  done
  "$compiler/ar" rcs "$prefix/lib/lib$name.a" "${objects[@]}"
}

libraries() {
  cd "$work"
  flags+=" -ffile-prefix-map=$work=."
  cflags="-D_LARGEFILE64_SOURCE=1 -DHAVE_HIDDEN -DHAVE_UNISTD_H -DHAVE_STDARG_H" archive z zlib/*.c
  cp zlib/z{lib,conf}.h "$prefix/include"
  pkg_config zlib "$(upstream "$zlib")" -lz

  cmake_library libpng1.6 -DPNG_SHARED=OFF -DPNG_TESTS=OFF -DPNG_EXECUTABLES=OFF -DZLIB_LIBRARY="$prefix/lib/libz.a" \
    -DZLIB_INCLUDE_DIR="$prefix/include"
  pkg_config libpng "$(upstream "$libpng")" "-lpng16 -lz -lm" /libpng16

  cmake_library libjpeg-turbo -DENABLE_SHARED=OFF -DREQUIRE_SIMD=ON
  pkg_config libjpeg "$(upstream "$jpeg")" -ljpeg
  pkg_config libturbojpeg "$(upstream "$jpeg")" -lturbojpeg

  cmake_library libwebp -DWEBP_BUILD_{ANIM_UTILS,CWEBP,DWEBP,GIF2WEBP,IMG2WEBP,VWEBP,WEBPINFO,WEBPMUX,EXTRAS}=OFF
  pkg_config libwebp "$(upstream "$webp")" "-lwebp -lm -lpthread"
  pkg_config libwebpdemux "$(upstream "$webp")" "-lwebpdemux -lwebp -lm -lpthread"

  archive gif giflib/{dgif_lib,egif_lib,gifalloc,gif_err,gif_hash,openbsd-reallocarray}.c
  cp giflib/gif_lib.h "$prefix/include"

  # Deflate and JPEG within TIFF by the libraries above; LZW, PackBits and fax are its own. No C++, no tools.
  cmake_library tiff -Dtiff-{tools,tests,contrib,docs}=OFF -Dcxx=OFF -D{lzma,zstd,webp,jbig,lerc,libdeflate}=OFF -Djpeg12=OFF \
    -DZLIB_LIBRARY="$prefix/lib/libz.a" -DZLIB_INCLUDE_DIR="$prefix/include" -DJPEG_LIBRARY="$prefix/lib/libjpeg.a" \
    -DJPEG_INCLUDE_DIR="$prefix/include"
  pkg_config libtiff-4 "$(upstream "$tiff")" "-ltiff -ljpeg -lz -lm"

  # What decompresses, in plain C: the program compresses nothing with it.
  cflags="-DXXH_NAMESPACE=ZSTD_ -DZSTD_DISABLE_ASM -Ilibzstd/lib" archive zstd libzstd/lib/{common,decompress}/*.c
  cp libzstd/lib/zstd{,_errors}.h "$prefix/include"
  pkg_config libzstd "$(upstream "$zstd")" -lzstd
  # Frames are compressed in the same file as they are decompressed, at all levels: lz4hc.c.
  cflags="-DXXH_NAMESPACE=LZ4_ -Ilz4/lib" archive lz4 lz4/lib/{lz4,lz4frame,lz4hc,xxhash}.c
  cp lz4/lib/lz4{,frame}.h "$prefix/include"
  pkg_config liblz4 "$(upstream "$lz4")" -llz4

  : >libmd/config.h
  cflags="-Ilibmd -Ilibmd/include" archive md libmd/src/{md5,sha2}.c
  cp libmd/include/{md5,sha2}.h "$prefix/include"
  pkg_config libmd "$(upstream "$md")" -lmd

  driver=c++ archive pugixml pugixml/src/pugixml.cpp
  cp pugixml/src/pugi{xml,config}.hpp "$prefix/include"
  pkg_config pugixml "$(upstream "$pugixml")" -lpugixml

  # What reads events: its loader and emitter are not used.
  cflags="-Ilibyaml/include -DYAML_VERSION_STRING=\"$(upstream "$yaml")\" -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5" \
    archive yaml libyaml/src/{api,reader,scanner,parser}.c
  cp libyaml/include/yaml.h "$prefix/include"
  pkg_config yaml-0.1 "$(upstream "$yaml")" -lyaml

  cmake_library snappy -DSNAPPY_BUILD_{TESTS,BENCHMARKS}=OFF
  pkg_config snappy "$(upstream "$snappy")" -lsnappy

  make -C libisal -f Makefile.unx lib units="igzip crc" host_cpu=x86_64 CC="$compiler/cc -fPIC -g0 -w" AR="$compiler/ar" AS=nasm
  cp libisal/bin/isa-l.a "$prefix/lib/libisal.a"
  mkdir -p "$prefix/include/isa-l"
  cp libisal/include/*.h "$prefix/include/isa-l"
  pkg_config libisal "$(upstream "$isal")" -lisal

  cmake_library fmtlib -DFMT_DOC=OFF -DFMT_TEST=OFF

  # Only src: its configure asks for C++ and for the functions of libc, which both targets have.
  (cd liburing && ./configure --cc="$compiler/cc" --cxx="$compiler/c++" >configure.log)
  make -C liburing/src liburing.a CFLAGS="$flags -D_GNU_SOURCE" AR="$compiler/ar" RANLIB="$compiler/ranlib"
  cp liburing/src/liburing.a "$prefix/lib"
  cp -r liburing/src/include/. "$prefix/include"
  pkg_config liburing "$(upstream "$uring")" -luring

  archive xxhash xxhash/xxhash.c xxhash/xxh_x86dispatch.c
  cp xxhash/xxh*.h "$prefix/include"
  pkg_config libxxhash "$(upstream "$xxhash")" -lxxhash

  cp "$(find lmdb -name lmdb.h | head -1)" "$prefix/include"
  archive lmdb "$(find lmdb -name mdb.c)" "$(find lmdb -name midl.c)"
  pkg_config lmdb "$(upstream "$lmdb")" -llmdb

  # Boost 1.74 uses std::unary_function, which C++17 has no more.
  ln -sfn /usr/include/boost "$prefix/include/boost"
  mapfile -t options < <(find boost1.74/libs/program_options/src -name '*.cpp' ! -name winmain.cpp)
  driver=c++ cflags="-std=c++17 -D_LIBCPP_ENABLE_CXX17_REMOVED_UNARY_BINARY_FUNCTION -I$prefix/include" \
    archive boost_program_options "${options[@]}"

  cp "$system"/lib{aec,sz}.a "$prefix/lib"
  cp /usr/include/{libaec,szlib}.h "$prefix/include"
  pkg_config libaec "$(upstream "$(installed libaec-dev)")" -laec

  cflags="-Wno-implicit-int -Wno-implicit-function-declaration" cmake_library hdf5 \
    -DHDF5_BUILD_{HL_LIB,CPP_LIB,TOOLS,EXAMPLES,FORTRAN,JAVA,UTILS}=OFF -DBUILD_TESTING=OFF -DHDF5_ENABLE_ROS3_VFD=OFF -DHDF5_ENABLE_EMBEDDED_LIBINFO=OFF \
    -DHDF5_ENABLE_Z_LIB_SUPPORT=ON -DHDF5_ENABLE_SZIP_SUPPORT=ON -DHDF5_ENABLE_SZIP_ENCODING=ON \
    -DZLIB_LIBRARY="$prefix/lib/libz.a" -DZLIB_INCLUDE_DIR="$prefix/include" -DSZIP_LIBRARY="$prefix/lib/libsz.a" \
    -DSZIP_INCLUDE_DIR="$prefix/include"
  pkg_config hdf5-serial "$(upstream "$hdf5")" "-lhdf5 -lsz -laec -lz -lm -ldl"

  cp -r /usr/include/kainjow /usr/include/msgpack* /usr/include/nlohmann "$prefix/include"
  mkdir -p "$prefix/lib/cmake"
  cp -r /usr/share/cmake/nlohmann_json "$prefix/lib/cmake" 2>/dev/null ||
    cp -r "$(dirname "$(dpkg -L nlohmann-json3-dev | grep -m1 'Config.cmake$')")" "$prefix/lib/cmake/nlohmann_json"
}

# NAME VERSION, one per line, and the copyright file of each: what third_party.py reads.
notices() {
  local name version package
  mkdir -p "$prefix/notices"
  sed '/^#/d' "$here/libraries.txt" | while read -r name version; do
    cp "$work/$name/debian/copyright" "$prefix/notices/$name"
    printf '%s %s\n' "$name" "$(upstream "$version")"
  done >"$prefix/notices.list"
  for package in libaec-dev libkainjow-mustache-dev libmsgpack-cxx-dev nlohmann-json3-dev; do
    cp "/usr/share/doc/$package/copyright" "$prefix/notices/${package%-dev}"
    printf '%s %s\n' "${package%-dev}" "$(upstream "$(installed "$package")")"
  done >>"$prefix/notices.list"
}

version_of() {
  sed -n "s/^$1 //p" "$here/libraries.txt"
}

zlib=$(version_of zlib) libpng=$(version_of libpng1.6) jpeg=$(version_of libjpeg-turbo) isal=$(version_of libisal)
zstd=$(version_of libzstd) lz4=$(version_of lz4) md=$(version_of libmd) webp=$(version_of libwebp) tiff=$(version_of tiff)
uring=$(version_of liburing) xxhash=$(version_of xxhash) lmdb=$(version_of lmdb) hdf5=$(version_of hdf5) pugixml=$(version_of pugixml) snappy=$(version_of snappy)
yaml=$(version_of libyaml)

work=$(mktemp -d)
ended() {
  rm -rf "$work"
  [[ -e $prefix/complete ]] && return
  tail -40 "$prefix/build.log" >&4
  printf 'libraries: %s: failed\nhint: all of it is in %s/build.log\n' "$target" "$prefix" >&4
}
exec 4>&2
trap ended EXIT
rm -rf "$prefix"
mkdir -p "$prefix"/{lib/pkgconfig,include}
begin=$SECONDS
exec 3>&1 >"$prefix/build.log" 2>&1
fetch_sources
libraries
notices
: >"$prefix/complete"
exec 1>&3 2>&4
printf 'libraries: %s: %d s\n' "$target" "$((SECONDS - begin))" >&2
printf '%s\n' "$prefix"
