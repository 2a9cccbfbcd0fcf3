#!/bin/bash
# The GPU lab: a root folder with a newer Mesa than this system's, whose CPU driver (lavapipe) has cooperative matrices,
# whose AMD driver compiles for cards that are not there, and with Vulkan's validation layers.
#   lab.sh make               builds it once, by debootstrap (as root), in ~/.cache/brass/lab
#   lab.sh run COMMAND…       runs a program of this system with the lab's CPU driver (and so the lab's C library under both)
#   lab.sh card GPU COMMAND…  with the AMD driver for a card (gfx1201, navi31, navi21) that does nothing but compile
#   lab.sh validate COMMAND…  as run, under the validation layers, which write what they find to standard output
#   lab.sh path               the folder
set -euo pipefail
lab=${BRASS_LAB:-$HOME/.cache/brass/lab}
packages=mesa-vulkan-drivers,libvulkan1,mesa-drm-shim,vulkan-validationlayers
libraries=$lab/usr/lib/x86_64-linux-gnu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

is_made() { [[ $(cat "$lab/packages" 2>/dev/null) == "$packages" ]]; }

make_lab() {
  ! is_made || return 0
  command -v debootstrap >/dev/null || { echo "lab: install debootstrap first" >&2; exit 1; }
  local mirror
  # shellcheck disable=SC2016 # apt's own format
  mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | head -n 1)
  mkdir -p "$(dirname "$lab")"
  rm -rf "$lab" "$lab.part"
  debootstrap --variant=minbase --include="$packages" sid "$lab.part" "$mirror" >"$lab.log" 2>&1 ||
    { tail -n 5 "$lab.log" >&2; exit 1; }
  gcc -O1 -shared -fPIC "$here/lab/null_page.c" -o "$lab.part/null_page.so"
  echo "$packages" >"$lab.part/packages"
  mv "$lab.part" "$lab"
}

# with_driver DRIVER LIBRARY COMMAND…: the library is loaded first. Libraries that only this system has (those that the
# program was linked with) come after the lab's.
with_driver() {
  is_made || { echo "lab: there is none; ./dev lab makes it" >&2; exit 1; }
  local driver=$1 preloaded=$2 program
  program=$(command -v "$3")
  shift 3
  VK_DRIVER_FILES=$(ls "$lab"/usr/share/vulkan/icd.d/"$driver"_icd*.json) exec "$lab/lib64/ld-linux-x86-64.so.2" \
    --library-path "$libraries:/usr/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu" --preload "$preloaded" "$program" "$@"
}

card() {
  export AMDGPU_GPU_ID=$1 MESA_SHADER_CACHE_DISABLE=true
  shift
  with_driver radeon "$libraries/libamdgpu_noop_drm_shim.so" "$@"
}

validate() {
  export VK_LAYER_PATH=$lab/usr/share/vulkan/explicit_layer.d VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
  export VK_LAYER_SETTINGS_PATH=$here/lab/vk_layer_settings.txt
  with_driver lvp "$lab/null_page.so" "$@"
}

case ${1:-} in
  make) make_lab ;;
  run) shift && with_driver lvp "$lab/null_page.so" "$@" ;;
  card) shift && card "$@" ;;
  validate) shift && validate "$@" ;;
  path) echo "$lab" ;;
  *) sed -n '2,8s/^# //p' "$0" >&2; exit 2 ;;
esac
