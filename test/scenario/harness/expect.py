"""Judges messages against what a scenario expects of them."""

import email
import gzip
import hashlib
import re
import zlib

from harness.wire import pattern


class Unmet(Exception):
    """An expectation that does not hold."""


def to_bytes(text):
    """Scenario text is bytes in disguise: one character a byte."""
    return text.encode("latin-1") if isinstance(text, str) else str(text).encode()


def body_bytes(spec):
    """The bytes that a scenario means: text, a text many times, a piece of a pattern, or one of
    these compressed."""
    if spec is None:
        return b""
    if isinstance(spec, dict) and "gzip" in spec:
        whole = gzip.compress(body_bytes(spec["gzip"]), mtime=0)
        return whole[:spec.get("to", len(whole))]
    if isinstance(spec, dict) and "repeat" in spec:
        return to_bytes(spec["repeat"]) * spec["times"]
    if isinstance(spec, dict) and "pattern" in spec:
        whole = pattern(spec["pattern"], spec["size"])
        return whole[spec.get("from", 0):spec.get("to", spec["size"])]
    return to_bytes(spec)


def _number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


_OPERATORS = {
    "matches": lambda value, want: value is not None and bool(re.search(str(want), str(value))),
    "contains": lambda value, want: value is not None and str(want) in str(value),
    "not": lambda value, want: not matches(value, want),
    "ge": lambda value, want: _number(value) is not None and _number(value) >= float(want),
    "le": lambda value, want: _number(value) is not None and _number(value) <= float(want),
    "present": lambda value, want: (value is not None) == want,
    "optional": lambda value, want: value is None or matches(value, want),
    "all": lambda value, want: all(matches(value, one) for one in want),
}


def matches(value, want):
    """Whether a value is what is wanted: itself, one of a list, or what operators say."""
    if isinstance(want, list):
        return any(matches(value, one) for one in want)
    if isinstance(want, dict):
        unknown = set(want) - set(_OPERATORS)
        if unknown:
            raise ValueError(f"unknown operator {sorted(unknown)}")
        return all(_OPERATORS[name](value, argument) for name, argument in want.items())
    if want is None or value is None:
        return value is None and want is None
    if isinstance(want, bool) or isinstance(value, bool):
        return value == want
    if isinstance(want, (int, float)) and _number(value) is not None:
        return _number(value) == float(want)
    return str(value) == str(want)


def demand(what, value, want):
    if not matches(value, want):
        raise Unmet(f"{what} is {value!r}, expected {want!r}")


def _check_body(what, body, want):
    if isinstance(want, list):
        if not any(_body_is(body, one) for one in want):
            raise Unmet(f"{what} is {_summary(body)}, expected one of {want!r}")
    elif not _body_is(body, want):
        raise Unmet(f"{what} is {_summary(body)}, expected {want!r}")


def _body_is(body, want):
    if isinstance(want, dict) and "gunzip" in want:  # whatever the compressor made of it
        try:
            return len(body) < len(body_bytes(want["gunzip"])) and \
                gzip.decompress(body) == body_bytes(want["gunzip"])
        except (OSError, EOFError, zlib.error):
            return False
    if isinstance(want, dict) and not {"pattern", "repeat", "gzip"} & set(want):
        return matches(body.decode("latin-1"), want)
    return body == body_bytes(want)


def _summary(body):
    if len(body) <= 120:
        return repr(body)
    return f"{len(body)} bytes, sha256 {hashlib.sha256(body).hexdigest()[:16]}, {body[:40]!r}..."


def check_headers(message, wanted):
    for name, want in wanted.items():
        if isinstance(want, dict) and "values" in want:
            demand(f"all of {name}", repr(message.values(name)), repr(want["values"]))
        else:
            demand(f"field {name}", message.get(name), want)


_CACHE_STATUS = {
    "hit": r"^ringfence; ?hit\b(?!.*\bfwd=)",
    "miss": r"^ringfence; ?fwd=",
    "revalidated": r"^ringfence; ?(?:hit.*|fwd=stale.*fwd-status=304|fwd=request.*fwd-status=304)",
    "any": r"^ringfence; ?(?:hit|fwd=)",
}


def _check_cache(message, want):
    value = message.get("cache-status")
    if value is None:
        raise Unmet("the response has no Cache-Status")
    own = value.rsplit(",", 1)[-1].strip()
    for one in want if isinstance(want, list) else [want]:
        if re.search(_CACHE_STATUS.get(one, one), own):
            return
    raise Unmet(f"Cache-Status is {value!r}, expected {want!r}")


def _check_parts(message, want):
    """The parts of a multipart/byteranges body, as Python's e-mail parser reads them."""
    head = f"Content-Type: {message.get('content-type')}\r\n\r\n".encode("latin-1")
    parsed = email.message_from_bytes(head + message.body)
    if parsed.get_content_type() != "multipart/byteranges" or parsed.defects:
        raise Unmet(f"no multipart/byteranges: {message.get('content-type')!r}, {parsed.defects}")
    parts = parsed.get_payload()
    demand("the number of parts", len(parts), len(want))
    for number, (part, one) in enumerate(zip(parts, want)):
        demand(f"the range of part {number}", part.get("Content-Range"), one["range"])
        demand(f"the type of part {number}", part.get("Content-Type"), one.get("type"))
        _check_body(f"the body of part {number}", part.get_payload(decode=True), one["body"])


_RESPONSE_KEYS = {"status", "headers", "absent", "body", "parts", "complete", "interim", "http",
                  "cache", "any_of", "closes", "keeps", "trailers", "reason", "to", "chunked",
                  "raw_absent"}


def _check_alternatives(message, want):
    reasons = []
    for alternative in want["any_of"]:
        try:
            check_response(message, alternative)
            return
        except Unmet as unmet:
            reasons.append(str(unmet))
    raise Unmet("no alternative holds: " + "; ".join(reasons))


def _check_extras(message, want):
    if "http" in want:
        demand("the version", f"1.{message.minor}", want["http"])
    if "reason" in want:
        demand("the reason", message.start[2].decode("latin-1"), want["reason"])
    if "cache" in want:
        _check_cache(message, want["cache"])
    if "chunked" in want:
        demand("chunked", message.chunked, want["chunked"])
    if "trailers" in want:
        for name, value in want["trailers"].items():
            found = [v for k, v in message.trailers if k.lower() == name.lower()]
            demand(f"trailer {name}", found[0] if found else None, value)
    for text in want.get("raw_absent", []):
        if to_bytes(text) in message.raw_head + message.body:
            raise Unmet(f"the response contains {text!r}")
    if want.get("keeps") and "close" in message.tokens("connection"):
        raise Unmet("the response says Connection: close, the connection was to stay open")


def check_response(message, want):
    """Raises Unmet unless the response is what is wanted."""
    unknown = set(want) - _RESPONSE_KEYS
    if unknown:
        raise ValueError(f"unknown expectation {sorted(unknown)}")
    if "status" in want:
        demand("the status", message.status, want["status"])
    if "any_of" in want:
        _check_alternatives(message, want)
    check_headers(message, want.get("headers", {}))
    for name in want.get("absent", []):
        demand(f"field {name}", message.get(name), None)
    if "any_of" not in want or "complete" in want:
        complete = want.get("complete", True)
        if complete != "any" and message.complete != complete:
            text = "complete" if message.complete else "cut short"
            raise Unmet(f"the response is {text} ({len(message.body)} body bytes)")
    if "body" in want:
        _check_body("the body", message.body, want["body"])
    if "parts" in want:
        _check_parts(message, want["parts"])
    _check_extras(message, want)
    if "any_of" not in want and want.get("interim") != "any":
        seen = [one.status for one in message.interim]
        demand("interim responses", repr(seen), repr(want.get("interim", [])))
    if message.violations:
        raise Unmet("; ".join(message.violations))


_REQUEST_KEYS = {"method", "target", "headers", "absent", "body", "http", "trailers", "raw_absent"}


def check_request(message, want):
    """Raises Unmet unless a request that reached an origin is what is wanted."""
    unknown = set(want) - _REQUEST_KEYS
    if unknown:
        raise ValueError(f"unknown expectation {sorted(unknown)}")
    if "method" in want:
        demand("the method", message.method, want["method"])
    if "target" in want:
        demand("the target", message.target, want["target"])
    if "http" in want:
        demand("the version", f"1.{message.minor}", want["http"])
    check_headers(message, want.get("headers", {}))
    for name in want.get("absent", []):
        demand(f"field {name}", message.get(name), None)
    if "body" in want:
        _check_body("the request's body", message.body, want["body"])
    for name, value in want.get("trailers", {}).items():
        found = [v for k, v in message.trailers if k.lower() == name.lower()]
        demand(f"trailer {name}", found[0] if found else None, value)
    for text in want.get("raw_absent", []):
        if to_bytes(text).lower() in message.raw_head.lower():
            raise Unmet(f"the request contains {text!r}")


def json_values(document, path):
    """Every value that a dotted path reaches; `*` goes through each element or member."""
    found = [document]
    for part in path.split("."):
        step = []
        for value in found:
            if part == "*":
                step += list(value.values()) if isinstance(value, dict) else list(value or [])
            elif isinstance(value, list):
                index = int(part)
                step += [value[index]] if -len(value) <= index < len(value) else []
            elif isinstance(value, dict) and part in value:
                step.append(value[part])
        found = step
    return found


def check_json(document, wanted):
    """`path: want`; a path with `*` is summed if its values are numbers."""
    for path, want in wanted.items():
        values = json_values(document, path)
        if "*" in path and values and all(isinstance(v, (int, float)) for v in values):
            demand(f"the sum of {path}", sum(values), want)
        elif isinstance(want, dict) and set(want) == {"some"}:
            if not any(matches(value, want["some"]) for value in values):
                raise Unmet(f"none of {path} is {want['some']!r}: {values!r}")
        else:
            demand(path, values[0] if values else None, want)
