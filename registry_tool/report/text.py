"""A report for a person at a terminal: one line per finding, its fix below, and a summary."""

from __future__ import annotations

from registry_tool.rules.model import Finding, Report


def write(report: Report, way: str) -> str:
    """Findings and summary; ``way`` is put before each path, so that an editor can open it."""
    lines = [line for finding in report.findings for line in _finding(finding, way)]
    return "\n".join([*lines, _summary(report)])


def _finding(finding: Finding, way: str) -> list[str]:
    path = f"{way}{finding.path}"
    warning = " (warning)" if finding.severity == "warning" else ""
    fix = finding.fix.replace(finding.path, path) if way else finding.fix
    return [f"{path}:{finding.line}: {finding.rule}{warning} {finding.message}", f"  fix: {fix}"]


def _summary(report: Report) -> str:
    warnings = len(report.findings) - report.blocking
    rows = _count(report.records, "row")
    found = [
        _count(number, what)
        for number, what in ((report.blocking, "error"), (warnings, "warning"))
        if number
    ]
    seconds = f"({report.seconds:.2f} s)"
    if report.blocking:
        why = "registry-tool explain RULE says more about each"
        return f"{' and '.join(found)} in {rows} {seconds}; {why}"
    and_warnings = f", with {found[0]}" if found else ""
    verb = "has a passing verdict" if report.records == 1 else "have passing verdicts"
    return f"{rows} {verb}{and_warnings} {seconds}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
