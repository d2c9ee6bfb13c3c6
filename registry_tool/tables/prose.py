"""What a new page says around its generated regions; written once, and then it is the reader's."""

from __future__ import annotations

from registry_tool.records.spec import KernelSpec


def _markers(region: str) -> str:
    return f"<!-- registry:begin {region} -->\n<!-- registry:end -->\n"


def index(region: str) -> bytes:
    """A new supported_kernels.md."""
    return f"""\
# Supported kernels

Which kernels are verified in this registry, on which target, and how fast they were at best. Each
kernel's page has its tested shapes.

Status: ✅ every row passed its accuracy gate on the device · `emulated ✔` every row passed in
emulation, which proves numerics and nothing about hardware · ⚠️ something on the page needs a look ·
— no row yet.

## Kernels

{_markers(region)}
The table is generated from `records/` by `registry-tool render`; the text around it is yours.
""".encode()


def kernel(spec: KernelSpec, target: str, target_kind: str, index: str, region: str) -> bytes:
    """A new page of a kernel on a target; ``index`` is the way from it to the index."""
    if target_kind == "hardware":
        meaning = "Every row passed its accuracy gate on the device and was timed there."
    else:
        meaning = (
            "This target is an emulation: a row proves the numerics of its datapath, and nothing "
            "about speed or hardware."
        )
    summary = " ".join(spec.summary.split())
    return f"""\
# {spec.title}

{summary}

All kernels: [{index.rpartition("/")[2]}]({index})

## Tested shapes on {target}

{meaning} `mean_rel_L1` is the mean absolute error over the mean absolute reference.

{_markers(region)}
The table is generated from `records/{target}/{spec.kernel}/` by `registry-tool render`; the text
around it is yours.
""".encode()
