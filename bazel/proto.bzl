"""C++ sources from .proto files through the system's protoc."""

def cc_protos(name, srcs, visibility = None):
    """Makes a cc_library `name` of the messages in `srcs` (paths from the workspace root are
    kept)."""
    stems = [s[:-len(".proto")] for s in srcs]
    native.genrule(
        name = name + "_gen",
        srcs = srcs,
        outs = [s + e for s in stems for e in (".pb.h", ".pb.cc")],
        cmd = "protoc -I. --cpp_out=$(GENDIR) $(SRCS)",
        message = "Generating C++ from protos",
    )
    native.cc_library(
        name = name,
        srcs = [s + ".pb.cc" for s in stems],
        hdrs = [s + ".pb.h" for s in stems],
        copts = ["-w"],
        visibility = visibility,
        deps = ["@debian//:protobuf"],
    )
