#!/bin/bash
# Models of exact sizes on a GPU: made here by brass-synth, their logits checked against the CPU's, then timed and profiled.
# Prints tables as Markdown (bench/gpu.py has what is measured and against what).
#
#   bench/gpu.sh [SHAPE…]                 names of tools/synth/shapes, else the three of the table
#
# For a bare machine: bash and python3 are all that it needs. Where things lie and how much is done, by variables:
#   BRASS, BRASS_SYNTH   the programs (else those of build/release)      SHAPES    their folder
#   WORK                 a folder for the files (removed one by one)     DEVICE    "vulkan" and further flags
#   SECONDS_IN_ALL       no model is begun after that (480)              DEPTHS    of decode (0 8192 32768)
#   PROMPTS, TOKENS      prefill and decode (512 2048; 128)              LAYERS    "" or a number: cut models, for tests
#   CHECK_LAYERS         blocks of the model whose logits are checked (8); 0: no check
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export BRASS=${BRASS:-$here/../build/release/brass}
export BRASS_SYNTH=${BRASS_SYNTH:-$here/../build/release/src/model/brass-synth}
export SHAPES=${SHAPES:-$here/../tools/synth/shapes}
export WORK=${WORK:-${TMPDIR:-/tmp}/brass-gpu}
mkdir -p "$WORK"
[[ $# -gt 0 ]] || set -- qwen3-8b qwen3.5-9b qwen3-30b-a3b
exec python3 "$here/gpu.py" "$@"
