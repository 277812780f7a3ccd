"""Fuzz targets: one source, built two ways.

With `--config=fuzz` the target is a libFuzzer binary with sanitizers:

    bazel build --config=fuzz //test/fuzz/...
    bazel-bin/test/fuzz/http/head_fuzz -max_total_time=60 corpus_dir

Without it the target is a test, `<name>_replay`, that runs every file of the corpus and a few
thousand deterministic mutations of them through the same entry point (see replay_main.cc). Each
target belongs to one of the two modes and is skipped in the other, so `//...` always builds.
"""

_FUZZING = "//test/fuzz:fuzzing"
_ONLY_HERE = "//test/fuzz:never"

def fuzz_target(name, srcs, corpus = [], deps = [], size = "small", copts = [], tags = []):
    """Makes the libFuzzer binary `name` and the test `name`_replay.

    Args:
      name: name of the binary.
      srcs: sources; one of them defines LLVMFuzzerTestOneInput.
      corpus: files of this package that seed the fuzzer, usually a glob.
      deps: libraries under test.
      size: size of the replay test.
      copts: further compiler options.
      tags: further tags of the replay test.
    """
    native.cc_library(
        name = name + "_entry",
        testonly = True,
        srcs = srcs,
        copts = copts,
        deps = deps,
        alwayslink = True,
    )
    native.filegroup(
        name = name + "_corpus",
        srcs = corpus,
    )
    native.cc_binary(
        name = name,
        testonly = True,
        data = [":" + name + "_corpus"],
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["fuzz"],
        target_compatible_with = select({
            _FUZZING: [],
            "//conditions:default": [_ONLY_HERE],
        }),
        deps = [":" + name + "_entry"],
    )
    native.cc_test(
        name = name + "_replay",
        size = size,
        args = [native.package_name() + "/" + f for f in corpus],
        data = [":" + name + "_corpus"],
        tags = ["fuzz_replay"] + tags,
        target_compatible_with = select({
            _FUZZING: [_ONLY_HERE],
            "//conditions:default": [],
        }),
        deps = [
            ":" + name + "_entry",
            "//test/fuzz:replay_main",
        ],
    )
