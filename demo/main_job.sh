#!/bin/sh
# The main job, once, for real: config.json -> verified rows -> tables -> a commit that the gate
# accepts, and a forged row that it refuses. Everything happens in a temporary folder.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
export GIT_AUTHOR_NAME="Demo" GIT_AUTHOR_EMAIL="demo@example.invalid"
export GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME" GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"
export PRE_COMMIT_COLOR=never

say() { printf '\n# %s\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }

say "A new git repository with an empty registry and its hooks"
run git init --quiet "$work/registry"
cd "$work/registry"
run registry-tool init --hooks
run git commit --quiet -m "Start a registry"

say "What Llama-3.2-1B needs, and what would be run for it"
run registry-tool shapes "$here/configs/llama-3.2-1b.json"

say "Verify all of it on the embedded emulation of the NPU2 numerics (never hardware)"
run registry-tool verify --config "$here/configs/llama-3.2-1b.json" --model Llama-3.2-1B --jobs 2

say "The tables were regenerated from the records"
run grep -A 20 "registry:begin kernels" supported_kernels.md

say "Commit through the real hook"
run git commit --quiet -m "Verify Llama-3.2-1B on npu2-emu"
run git status --short

say "What a builder gets: the verified configuration of a shape, or an error; never a guess"
run registry-tool lookup GEMM_bf16_in_bf16_out M=2048 K=8192 N=2048
printf '$ %s\n' "registry-tool lookup GEMM_bf16_in_bf16_out M=2048 K=8192 N=2047"
registry-tool lookup GEMM_bf16_in_bf16_out M=2048 K=8192 N=2047 && exit 1 || echo "(exit $?)"

say "What an auditor gets: the row's history, from git alone"
run registry-tool log GEMM_bf16_in_bf16_out 2048x8192x2048

say "A forged row: somebody improves a measured number by hand"
row=records/npu2-emu/GEMM_bf16_in_bf16_out/2048x8192x2048+fused-cast.json
run sed -i 's/"mean_rel_L1": .*/"mean_rel_L1": 0.0091,/' "$row"
run git add "$row"
printf '$ %s\n' 'git commit -m "A better number"'
if git commit -m "A better number"; then
  echo "the hook let a forged row in" >&2
  exit 1
fi
run git checkout --quiet HEAD -- "$row"

say "Done: the forged row was refused, and the registry is as it was"
run registry-tool check
