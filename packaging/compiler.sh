#!/usr/bin/env bash
# Makes the compiler of one target: DIR with cc, c++, ar and ranlib, which are zig.
#   packaging/compiler.sh ZIG TARGET DIR       TARGET: x86_64-linux-gnu.2.28 or x86_64-linux-musl
# Only files whose text differs are written: what was compiled with the others stays.
set -euo pipefail

zig=$1 target=$2 dir=$3
mkdir -p "$dir"

tool() {
  local text
  text=$(cat)
  if [[ ! -x $dir/$1 || $(<"$dir/$1") != "$text" ]]; then
    printf '%s\n' "$text" >"$dir/$1"
    chmod +x "$dir/$1"
  fi
}

tool cc <<END
#!/usr/bin/env bash
exec '$zig' cc -target $target "\$@"
END

tool c++ <<END
#!/usr/bin/env bash
# zig's driver knows no --push-state, which CMake writes around a library of which everything is linked.
args=()
for arg; do
  case \$arg in --push-state | --pop-state) arg=--no-whole-archive ;; esac
  args+=("\$arg")
done
exec '$zig' c++ -target $target "\${args[@]}"
END

for name in ar ranlib; do
  tool $name <<END
#!/usr/bin/env bash
exec '$zig' $name "\$@"
END
done
