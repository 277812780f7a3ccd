#!/usr/bin/env python3
"""A tiny caching proxy with the command line, configuration and admin of the real program.

It exists so that the harness is tested without the program that the harness tests. It is slow,
knows only what the self-test needs, and can be told by flags to misbehave in known ways.
"""

import http.server
import json
import os
import signal
import socket
import sys
import threading
import time

import yaml

STATE = {"config": None, "cache": {}, "requests": 0, "lock": threading.Lock()}


def recv_until(sock, buffer, marker):
    while marker not in buffer:
        data = sock.recv(65536)
        if not data:
            return None, buffer
        buffer += data
    at = buffer.index(marker) + len(marker)
    return buffer[:at], buffer[at:]


def field(head, name):
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value.strip()
    return None


def recv_body(sock, head, buffer):
    length = int(field(head, b"content-length") or 0)
    while len(buffer) < length:
        data = sock.recv(65536)
        if not data:
            break
        buffer += data
    return buffer[:length], buffer[length:]


def fetch(head, body):
    cluster = STATE["config"]["static_resources"]["clusters"][0]
    endpoint = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]
    where = endpoint["address"]["socket_address"]
    with socket.create_connection((where["address"], where["port_value"]), timeout=5) as upstream:
        upstream.sendall(head + body)
        answer, rest = recv_until(upstream, b"", b"\r\n\r\n")
        if answer is None:
            return None, b""
        data, _ = recv_body(upstream, answer, rest)
    return answer, data


def with_fields(head, *lines):
    return head[:-2] + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


def answer(head, body):
    """(bytes of the response, whether it is complete)"""
    method, target, _ = head.split(b"\r\n")[0].split(b" ")
    key = (field(head, b"host"), target)
    found = STATE["cache"].get(key)
    if found is not None and method == b"GET":
        age = int(time.monotonic() - found[2])
        hit = with_fields(found[0], b"Age: %d" % age, b"Cache-Status: ringfence; hit")
        return hit + found[1], True
    reply, data = fetch(head, body)
    if reply is None:
        return b"HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n", True
    complete = len(data) == int(field(reply, b"content-length") or 0)
    if method == b"GET" and complete and b"max-age" in (field(reply, b"cache-control") or b""):
        STATE["cache"][key] = (reply, data, time.monotonic())
    if "--lie-about-length" in sys.argv:
        reply = with_fields(reply, b"Content-Length: 1")
    return with_fields(reply, b"Cache-Status: ringfence; fwd=miss") + data, complete


def serve(sock):
    buffer = b""
    with sock:
        while True:
            try:
                head, buffer = recv_until(sock, buffer, b"\r\n\r\n")
                if head is None:
                    return
                body, buffer = recv_body(sock, head, buffer)
                with STATE["lock"]:
                    STATE["requests"] += 1
                data, complete = answer(head, body)
                sock.sendall(data)
                if not complete:
                    return
            except OSError:
                return


def accept(listener):
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=serve, args=(sock,), daemon=True).start()


class Admin(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/listeners?format=json":
            name = STATE["config"]["static_resources"]["listeners"][0]["name"]
            where = {"socket_address": {"address": "127.0.0.1", "port_value": STATE["port"]}}
            self.reply(200, {"listener_statuses": [{"name": name, "local_address": where}]})
        elif self.path == "/shards?format=json":
            self.reply(200, {"shards": [{"requests": STATE["requests"]}, {"requests": 0}]})
        else:
            self.reply(200 if self.path == "/ready" else 404, {})

    def do_POST(self):
        try:
            STATE["config"] = read_config(sys.argv[sys.argv.index("-c") + 1])
            self.reply(200, {})
        except (KeyError, TypeError, yaml.YAMLError) as error:
            self.reply(400, {"error": str(error)})

    def reply(self, status, document):
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


def read_config(path):
    with open(path, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    if not config["static_resources"]["clusters"]:
        raise KeyError("no clusters")
    return config


def main():
    signal.signal(signal.SIGTERM, lambda *_: os._exit(3 if "--bad-exit" in sys.argv else 0))
    try:
        STATE["config"] = read_config(sys.argv[sys.argv.index("-c") + 1])
    except (KeyError, TypeError, yaml.YAMLError) as error:
        print(f"bad configuration: {error}", file=sys.stderr)
        sys.exit(1)
    if "--complain" in sys.argv:
        print("CHECK failed: for the self-test", file=sys.stderr, flush=True)
    listener = socket.create_server(("127.0.0.1", 0))
    STATE["port"] = listener.getsockname()[1]
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    admin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Admin)
    with open(sys.argv[sys.argv.index("--admin-address-path") + 1], "w", encoding="utf-8") as file:
        file.write(f"127.0.0.1:{admin.server_address[1]}")
    admin.serve_forever()


if __name__ == "__main__":
    main()
