"""Text from a stranger's files, made harmless for each place that it is written to.

Rows, notes, names and subjects of commits come from whoever opened the pull request. Nothing of
them may move a terminal's cursor, turn text round, break a table, call a person, or be taken for a
command by the program that reads a CI's log.
"""

from __future__ import annotations

import re
from typing import Any

_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Controls, formats (bidi and zero-width ones among them), halves of pairs, line separators."""
_PRINTABLE = re.compile(r"[ -~]*")
# Runners look for `##[command]` and `##vso[command]` anywhere in a line of output.
_RUNNER = re.compile(r"(##\w*)\[")
_PUNCTUATION = re.compile(r"([\\`*_{}\[\]()#+!~$^])")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/×-]*")
_BREAK = "&#8203;"


def line(text: str) -> str:
    """``text`` as one line that a terminal only shows: what cannot be seen is written out."""
    return _RUNNER.sub(r"\1\\[", _seen(text))


def _seen(text: str) -> str:
    if _PRINTABLE.fullmatch(text):
        return text
    # Imported where it is needed: most of what a hook prints is plain.
    import unicodedata

    return "".join(
        _code(character) if unicodedata.category(character) in _UNSEEN else character
        for character in text
    )


def _code(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{{{number:x}}}"


def start(text: str) -> str:
    """``line(text)`` at the start of a line of output, where runners look for `::command::`."""
    safe = line(text)
    return f"./{safe}" if safe.lstrip().startswith("::") else safe


def short(text: str, limit: int) -> str:
    """``text``, cut to ``limit`` characters with a sign that it was."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def markdown(text: str, limit: int = 300) -> str:
    """``text`` as Markdown that shows just that: no markup, link, reference or mention."""
    safe = short(_seen(text), limit)
    safe = _PUNCTUATION.sub(r"\\\1", safe)
    safe = safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # The parsers of tables disagree on a backslash before a pipe.
    safe = safe.replace("|", "&#124;")
    # A backslash does not keep code hosts from calling people and linking issues and addresses.
    safe = safe.replace("@", f"@{_BREAK}").replace("\\#", f"\\#{_BREAK}")
    safe = re.sub(r"(?i)\b(www)\.", rf"\1{_BREAK}.", safe)
    safe = safe.replace("://", f":{_BREAK}//").replace("mailto:", f"mailto{_BREAK}:")
    return re.sub(r"(?i)\b(GH)-(?=\d)", rf"\1{_BREAK}-", safe)


def code(text: str) -> str:
    """A name as Markdown code, where it holds only what names are made of."""
    return f"`{text}`" if _PLAIN.fullmatch(text) and len(text) <= 200 else markdown(text)


_JSON = re.compile(r"[\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f"
                   r"\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
                   r"\U000e0000-\U000e007f]")  # fmt: skip


def json_text(document: Any) -> str:
    """``document`` as indented JSON, in which nothing that cannot be seen stands raw."""
    import json

    return json_seen(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def json_seen(text: str) -> str:
    """Finished JSON, with an escape for all in it that cannot be seen."""
    # Outside strings JSON has none of these, so an escape may stand for each.
    if not text.isascii() or "\x7f" in text:
        import json

        text = _JSON.sub(lambda found: json.dumps(found[0])[1:-1], text)
    return _RUNNER.sub(lambda found: f"{found[1]}\\u005b", text) if "##" in text else text


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml(text: str) -> str:
    """``text`` for XML 1.0, in content and in attributes alike."""
    safe = _NOT_XML.sub("\ufffd", line(text))
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        safe = safe.replace(sign, entity)
    return safe


def data(text: str) -> str:
    """The message of a workflow command, as its runner documents it."""
    for sign, written in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        text = text.replace(sign, written)
    return text


def property_(text: str) -> str:
    """The value of a workflow command's property."""
    for sign, written in ((":", "%3A"), (",", "%2C")):
        text = data(text) if sign == ":" else text
        text = text.replace(sign, written)
    return text
