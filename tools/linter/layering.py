"""Rule `layering`: which folder of source/ may include which, and who may use which library."""

from tools.linter.source import Finding

RULE = "layering"

_DATA_PLANE = {"base", "telemetry", "http", "policy", "store/core", "rt", "config/model", "net",
               "store/io", "upstream", "coding", "cache", "proxy"}

# Folder -> folders that it may include besides itself. A folder that is not here may not exist.
ALLOWED = {
    "base": set(),
    "telemetry": {"base"},
    "telemetry/sink": {"base", "telemetry"},
    "http": {"base"},
    "policy": {"base", "http"},
    "coding": {"policy"},
    "store/core": {"base"},
    "rt": {"base", "telemetry"},
    "config/model": {"base", "http", "policy"},
    "io/clock": {"base", "rt"},
    "io/uring": {"base", "rt", "io/clock"},
    "io/aio": {"base", "rt"},
    "io/epoll": {"base", "rt", "io/aio", "io/clock"},
    "net": {"base", "rt"},
    "store/io": {"base", "rt", "telemetry", "store/core"},
    "config/load": {"config/model", "base", "http", "policy", "api"},
    "upstream": {"base", "rt", "net", "http", "telemetry", "config/model"},
    "cache": {"base", "rt", "telemetry", "http", "policy", "coding", "store/core", "store/io",
              "config/model"},
    "proxy": {"base", "rt", "telemetry", "net", "http", "policy", "cache", "upstream",
              "config/model"},
    "shard": _DATA_PLANE,
    "admin": {"base", "rt", "telemetry", "net", "http", "config/model", "config/load", "shard",
              "api"},
    "server": _DATA_PLANE | {"shard", "admin", "config/load", "io/uring", "io/aio",
                             "io/epoll", "telemetry/sink", "api"},
    "main": {"server", "base"},
    "tools/cachesim": {"base", "store/core"},
    "tools/inspect": {"base", "store/core", "cache", "policy", "http"},
}

# Beginning of a system include -> folders that may use it.
LIBRARIES = {
    "liburing": {"io/uring"},
    "linux/io_uring": {"io/uring"},
    "boost/": {"io/epoll"},
    "libaio": {"io/aio"},
    "yaml-cpp/": {"config/load"},
    "google/protobuf": {"config/load", "admin", "server"},
    "spdlog/": {"telemetry/sink", "server"},
    "fmt/": {"telemetry/sink", "server", "admin"},
    "CLI/": {"main", "server", "tools/cachesim", "tools/inspect"},
    "zlib": {"coding"},
    "brotli/": {"coding"},
    "zstd": {"coding"},
    "re2/": {"config/model", "config/load", "proxy", "admin"},
    "gtest/": set(),
    "gmock/": set(),
    "benchmark/": set(),
}


def folder_of(path):
    """The layer of a path below source/: the longest known folder, or its own folder if unknown."""
    parts = path.split("/")[1:-1]
    if not parts:
        return "main"
    for length in (len(parts), 2, 1):
        name = "/".join(parts[:length])
        if name in ALLOWED:
            return name
    return "/".join(parts)


def _target_layer(include):
    if include.startswith("source/"):
        return folder_of(include)
    return include.split("/", 1)[0]


def _check_includes(file, layer, findings):
    for line, include in file.includes():
        if not include.startswith(("source/", "api/", "test/")):
            findings.append(Finding(file.path, line, RULE,
                                    f'"{include}" is not named from the root (source/...)'))
            continue
        target = _target_layer(include)
        if target != layer and target not in ALLOWED[layer]:
            allowed = ", ".join(sorted(ALLOWED[layer])) or "nothing"
            findings.append(Finding(file.path, line, RULE,
                                    f"{layer} may not use {target}; it may use {allowed}"))


def _check_libraries(file, layer, findings):
    for line, include in file.system_includes():
        for beginning, users in LIBRARIES.items():
            if include.startswith(beginning) and layer not in users:
                owners = ", ".join(sorted(users)) or "tests"
                findings.append(Finding(file.path, line, RULE,
                                        f"<{include}> belongs to {owners}, not to {layer}"))


def check(tree):
    findings = []
    for file in tree.chosen(".cc", ".h", under="source/"):
        layer = folder_of(file.path)
        if layer not in ALLOWED:
            findings.append(Finding(file.path, 1, RULE,
                                    f"folder {layer} has no place in tools/linter/layering.py"))
            continue
        _check_includes(file, layer, findings)
        _check_libraries(file, layer, findings)
    return findings
