#!/bin/bash
# The GPU lab: a root folder with a newer Mesa than this system's, whose CPU driver (lavapipe) has cooperative matrices.
#   lab.sh make            builds it once, by debootstrap (as root), in ~/.cache/brass/lab
#   lab.sh run COMMAND…    runs a program of this system with the lab's driver (and so the lab's C library under both)
#   lab.sh path            the folder
set -euo pipefail
lab=${BRASS_LAB:-$HOME/.cache/brass/lab}
libraries=$lab/usr/lib/x86_64-linux-gnu

make_lab() {
  [[ ! -e $libraries/libvulkan_lvp.so ]] || return 0
  command -v debootstrap >/dev/null || { echo "lab: install debootstrap first" >&2; exit 1; }
  local mirror
  # shellcheck disable=SC2016 # apt's own format
  mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | head -n 1)
  mkdir -p "$(dirname "$lab")"
  debootstrap --variant=minbase --include=mesa-vulkan-drivers,libvulkan1 sid "$lab.part" "$mirror" >"$lab.log" 2>&1 ||
    { tail -n 5 "$lab.log" >&2; exit 1; }
  mv "$lab.part" "$lab"
}

# Libraries that only this system has (those that the program was linked with) come after the lab's.
run_in_lab() {
  [[ -e $libraries/libvulkan_lvp.so ]] || { echo "lab: there is none; ./dev lab makes it" >&2; exit 1; }
  local program
  program=$(command -v "$1")
  shift
  VK_DRIVER_FILES=$(ls "$lab"/usr/share/vulkan/icd.d/lvp_icd*.json) exec "$lab/lib64/ld-linux-x86-64.so.2" \
    --library-path "$libraries:/usr/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu" "$program" "$@"
}

case ${1:-} in
  make) make_lab ;;
  run) shift && run_in_lab "$@" ;;
  path) echo "$lab" ;;
  *) sed -n '2,5s/^# //p' "$0" >&2; exit 2 ;;
esac
