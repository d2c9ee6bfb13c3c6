"""What is wrong with registry.yaml is said with field, line, and words for who wrote it."""

from __future__ import annotations

import pytest

from registry_tool.records.catalog import parse_policy
from registry_tool.records.yaml_errors import FieldError, field_error, line_of

POLICY = """\
schema_version: 1
targets:
  npu2-emu:
    kind: emulated
    lock: {path: /tmp/x, limit_s: 60}
"""


@pytest.mark.parametrize(
    ("text", "line", "pointer", "words"),
    [
        (POLICY.replace("60", "soon"), 5, "/targets/npu2-emu/lock/limit_s",
         "expected a whole number, found the text 'soon'"),
        (POLICY.replace("emulated", "emu"), 4, "/targets/npu2-emu/kind",
         "expected emulated or hardware, found the text 'emu'"),
        (POLICY.replace("    kind: emulated\n", ""), 3, "/targets/npu2-emu",
         "the field 'kind' is missing"),
        (POLICY + "    jobs: 0\n", 6, "/targets/npu2-emu/jobs", "expected at least 1, found 0"),
        (POLICY + "    jobs: true\n", 6, "/targets/npu2-emu/jobs", "a whole number, found true"),
        (POLICY + "    jobs: 2.0\n", 6, "/targets/npu2-emu/jobs", "a whole number, found 2.0"),
        (POLICY + "    jobz: 1\n", 6, "/targets/npu2-emu/jobz", "did you mean 'jobs'?"),
        (POLICY + "    harness_root: [a]\n", 6, "/targets/npu2-emu/harness_root",
         "expected text or nothing (null), found a list of 1"),
        (POLICY + "    limits: {gflops: -1}\n", 6, "/targets/npu2-emu/limits/gflops",
         "expected more than 0, found -1"),
        (POLICY + "    rules:\n      KR202: maybe\n", 7, "/targets/npu2-emu/rules/KR202",
         "expected error, off or warning, found the text 'maybe'"),
        (POLICY + "rules: {KR2: off}\n", 6, "/rules", "a rule's id is KR and three digits"),
        (POLICY + "rules: [KR202]\n", 6, "/rules", "expected fields (NAME: VALUE)"),
        (POLICY.replace("npu2-emu", "n u"), 2, "/targets", "letters, digits and . _ - only"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_with_its_line_and_in_words(
    text: str, line: int, pointer: str, words: str
) -> None:
    with pytest.raises(FieldError) as caught:
        parse_policy(text.encode(), "registry.yaml")
    error = caught.value
    assert (error.path, error.line, error.pointer) == ("registry.yaml", line, pointer)
    assert words in error.message
    for name in ("`", "int", "str`", "NoneType", "$."):
        assert name not in error.message


def test_what_only_the_types_refuse_is_said_without_their_names() -> None:
    fallback = "Expected `int`, got `str` - at `$.targets[...].jobs`"
    error = field_error({}, {}, b"a: 1\n", "registry.yaml", fallback)
    assert error.message == "expected a whole number, got text (at targets[...].jobs)"


def test_the_line_is_that_of_the_nearest_field_that_is_there() -> None:
    data = POLICY.encode()
    assert line_of(data, ["targets", "npu2-emu", "kind"]) == 4
    assert line_of(data, ["targets", "npu2-emu", "rules", "KR202"]) == 3
    assert line_of(data, ["rules"]) == 1
