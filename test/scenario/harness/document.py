"""Reads a scenario file: YAML whose mappings remember their line, with ${...} for values."""

import re

import yaml


class Located(dict):
    """A mapping that knows where it stands in its file."""

    line = 0


class DocumentError(Exception):
    """The scenario itself is wrong; nothing was tested."""


class _Loader(yaml.SafeLoader):
    pass


def _mapping(loader, node):
    seen = set()
    for key_node, _ in node.value:
        if key_node.value in seen and key_node.value != "<<":
            line = key_node.start_mark.line + 1
            raise DocumentError(f"line {line}: {key_node.value!r} is given twice")
        seen.add(key_node.value)
    loader.flatten_mapping(node)
    mapping = Located(loader.construct_pairs(node, deep=True))
    mapping.line = node.start_mark.line + 1
    return mapping


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)

_TOP_KEYS = {"name", "why", "timeout_s", "config", "origin", "origins", "steps", "start", "flags",
             "data", "forbid"}


def load(path):
    """The document of a file, with its top level checked."""
    with open(path, encoding="utf-8") as file:
        try:
            document = yaml.load(file, _Loader)
        except yaml.YAMLError as error:
            raise DocumentError(f"not YAML: {error}") from None
    if not isinstance(document, dict):
        raise DocumentError("a scenario is a mapping")
    unknown = set(document) - _TOP_KEYS
    if unknown:
        raise DocumentError(f"unknown keys {sorted(unknown)}; known are {sorted(_TOP_KEYS)}")
    for key in ("name", "steps"):
        if key not in document:
            raise DocumentError(f"{key!r} is missing")
    return document


_VARIABLE = re.compile(r"\$\{([a-zA-Z_][\w.]*)\}")


def _lookup(variables, name):
    value = variables
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            raise DocumentError(f"${{{name}}} stands for nothing")
        value = value[part]
    return value


def substitute(value, variables):
    """A copy of `value` with every ${name} replaced; a text that is one variable takes its type."""
    if isinstance(value, dict):
        copy = Located((key, substitute(one, variables)) for key, one in value.items())
        copy.line = getattr(value, "line", 0)
        return copy
    if isinstance(value, list):
        return [substitute(one, variables) for one in value]
    if isinstance(value, str):
        whole = _VARIABLE.fullmatch(value)
        if whole:
            return _lookup(variables, whole.group(1))
        return _VARIABLE.sub(lambda match: str(_lookup(variables, match.group(1))), value)
    return value


def loop_variables(one, index, outer):
    """Variables inside one turn of a for_each: the members of a mapping, or `item`; always `i`."""
    inner = dict(outer)
    inner.update(one if isinstance(one, dict) else {"item": one})
    inner["i"] = index
    return inner


def expand(items, variables):
    """A list of plain data with its `{for_each: [...], do: [...]}` members unrolled."""
    out = []
    for item in items:
        if isinstance(item, dict) and "for_each" in item:
            for index, one in enumerate(item["for_each"]):
                out += expand(item["do"], loop_variables(one, index, variables))
        else:
            out.append(substitute(item, variables))
    return out


def plain(value):
    """The same data without line numbers, for the YAML writer."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value
