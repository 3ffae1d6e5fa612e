"""How the two readers of a query inside a ResourceManager work, written down step by step for tests.

`URLEncodedUtils.parse` of HttpClient 4.5.13 under the authentication filter, and `UriComponent.decodeQuery` of Jersey
1.19.4 behind `UriComponent.contextualEncode`.
"""

import re

_HEX = set("0123456789abcdefABCDEF")


def _utf16(raw: str) -> list[int]:
    """The characters that Java has of a request line's bytes."""
    units = raw.encode("latin-1").decode("utf-8", "replace").encode("utf-16-be")
    return [int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2)]


def _split(units: list[int], delimiters: str) -> list[list[int]]:
    parts: list[list[int]] = [[]]
    for unit in units:
        if unit < 128 and chr(unit) in delimiters:
            parts.append([])
        else:
            parts[-1].append(unit)
    return parts


def _decode_form_field(units: list[int]) -> str:
    """`URLEncodedUtils.urlDecode`: two characters are taken after a percent sign, escapes or not."""
    found = bytearray()
    at = 0
    while at < len(units):
        unit, at = units[at], at + 1
        if unit == ord("%") and len(units) - at >= 2:
            high, low, at = units[at], units[at + 1], at + 2
            digits = [chr(each) if each < 128 and chr(each) in _HEX else None for each in (high, low)]
            if None in digits:
                found += bytes((ord("%"), high & 0xFF, low & 0xFF))
            else:
                found.append(int("".join(map(str, digits)), 16))
        else:
            found.append(ord(" ") if unit == ord("+") else unit & 0xFF)
    return found.decode("utf-8", "replace")


def httpclient(raw: str) -> list[tuple[str, str | None]]:
    """Names and values as the authentication filter sees them; None for a name without `=`."""
    pairs = []
    for part in _split(_utf16(raw), "&;"):
        name, *values = _split(part, "=")
        if name:
            value = part[len(name) + 1 :] if values else None
            pairs.append((_decode_form_field(name), None if value is None else _decode_form_field(value)))
    return pairs


def authentication_filter(raw: str) -> tuple[str | None, str | None, str | None]:
    """`user.name`, `doAs` and `delegation`: the first of each."""
    pairs = httpclient(raw)

    def first(is_it):
        return next((value for name, value in pairs if is_it(name)), None)

    return (
        first(lambda name: name == "user.name"),
        first(lambda name: _equals_ignore_case(name, "doAs")),
        first(lambda name: name == "delegation"),
    )


def _equals_ignore_case(one: str, other: str) -> bool:
    return len(one) == len(other) and all(
        a == b or a.upper() == b.upper() or a.upper().lower() == b.upper().lower()
        for a, b in zip(one, other, strict=True)
    )


def jersey(raw: str) -> dict[str, tuple[str, ...]]:
    """Values by name as resources see them."""
    text = raw.encode("latin-1").decode("utf-8", "replace")
    text = re.sub("%(?![0-9A-Fa-f]{2})", "%25", text)
    found: dict[str, tuple[str, ...]] = {}
    for part in text.split("&"):
        name, _, value = part.partition("=")
        if name:
            decoded = _url_decoder(name)
            found[decoded] = (*found.get(decoded, ()), _url_decoder(value))
    return found


def _url_decoder(text: str) -> str:
    """`java.net.URLDecoder`."""
    found = ""
    for run in re.findall("(?:%[0-9A-Fa-f]{2})+|[^%]+", text):
        found += (
            bytes.fromhex(run.replace("%", "")).decode("utf-8", "replace") if run[0] == "%" else run.replace("+", " ")
        )
    return found
