"""nginx, Varnish, HAProxy and Traffic Server as caches, each with as many threads as shards."""

import os
import shutil

from tools.benchmarks import machine

RUNROOT = ("prefix: {0}\nexec_prefix: /usr\nbindir: /usr/bin\nsbindir: /usr/sbin\n"
           "sysconfdir: {0}/etc\ndatadir: {0}/var\nincludedir: /usr/include\nlibdir: /usr/lib\n"
           "libexecdir: /usr/lib/trafficserver/modules\nlocalstatedir: {0}/var\n"
           "runtimedir: {0}/run\nlogdir: {0}/log\nmandir: /usr/share/man\n"
           "infodir: /usr/share/info\ncachedir: {0}/cache\n")
ATS = """CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT {threads}
CONFIG proxy.config.accept_threads INT 0
CONFIG proxy.config.task_threads INT 1
CONFIG proxy.config.cache.threads_per_disk INT 8
CONFIG proxy.config.http.server_ports STRING {port}:ip-in=127.0.0.1
CONFIG proxy.config.http.insert_request_via_str INT 0
CONFIG proxy.config.http.cache.required_headers INT 2
CONFIG proxy.config.net.connections_throttle INT 9000
CONFIG proxy.config.cache.ram_cache.size INT {ram}
CONFIG proxy.config.cache.min_average_object_size INT 8000
CONFIG proxy.config.log.logging_enabled INT 0
CONFIG proxy.config.url_remap.remap_required INT 1
CONFIG proxy.config.reverse_proxy.enabled INT 1
CONFIG proxy.config.admin.user_id STRING #-1
"""


def start_nginx(bed, memory=None, disk=False):
    """Files read by sendfile, nginx's fastest way where the page cache has them."""
    machine.need("nginx")
    folder, port = bed.clean("nginx"), machine.free_port()
    conf = bed.write("nginx.conf", f"""
user root; worker_processes {len(bed.placement.server)}; daemon off; pid {folder}/pid;
error_log {folder}/err; worker_rlimit_nofile 15000;
events {{ worker_connections 8192; }}
http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;
  proxy_cache_path {folder}/cache levels=1:2 keys_zone=c:200m max_size=60g inactive=1d
    use_temp_path=off;
  upstream o {{ server {bed.origin.address}; keepalive 64; }}
  server {{ listen 127.0.0.1:{port} backlog=4096;
    location / {{ proxy_pass http://o; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_cache c; proxy_cache_lock on; }} }} }}
""")
    return bed.start("nginx", ["nginx", "-c", conf], port, memory=memory)


def start_varnish(bed, memory=None, disk=False):
    machine.need("varnishd")
    folder, port = bed.clean("varnish"), machine.free_port()
    vcl = bed.write("varnish.vcl", f'vcl 4.1; backend default {{ .host="{bed.origin.host}"; '
                                   f'.port="{bed.origin.port}"; }}')
    store = f"file,{folder}/store.bin,8G" if disk else "malloc,2G"
    return bed.start("varnish", [
        "varnishd", "-F", "-j", "none", "-n", f"{folder}/wd", "-a", f"127.0.0.1:{port}",
        "-f", vcl, "-s", store, "-p", "thread_pools=1", "-p", "thread_pool_min=100",
        "-p", "thread_pool_max=5000"], port, memory=memory)


def start_haproxy(bed, memory=None, disk=False):
    machine.need("haproxy")
    if disk:
        raise machine.Missing("HAProxy caches in memory only")
    port = machine.free_port()
    conf = bed.write("haproxy.cfg", f"""
global
  nbthread {len(bed.placement.server)}
  maxconn 9000
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option http-keep-alive
cache c
  total-max-size 1000
  max-object-size 1500000
  max-age 86400
frontend f
  bind 127.0.0.1:{port}
  filter cache c
  http-request cache-use c
  http-response cache-store c
  default_backend b
backend b
  http-reuse always
  server s {bed.origin.address}
""")
    return bed.start("haproxy", ["haproxy", "-db", "-f", conf], port, memory=memory)


def start_ats(bed, memory=None, disk=False):
    machine.need("traffic_server")
    folder, port = bed.clean("ats"), machine.free_port()
    for name in ("var", "log", "cache", "run"):
        os.makedirs(os.path.join(folder, name))
    shutil.copytree("/etc/trafficserver", os.path.join(folder, "etc"))

    def write(name, text):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    write("etc/records.config", ATS.format(threads=len(bed.placement.server), port=port,
                                           ram=0 if disk else 1 << 30))
    write("etc/remap.config", f"map http://127.0.0.1:{port}/ http://{bed.origin.address}/\n")
    write("etc/storage.config", f"{folder}/cache 8G\n")
    write("etc/ip_allow.yaml",
          "ip_allow:\n  - apply: in\n    ip_addrs: 0/0\n    action: allow\n    methods: ALL\n")
    write("runroot.yaml", RUNROOT.format(folder))
    env = dict(os.environ, TS_RUNROOT=os.path.join(folder, "runroot.yaml"))
    return bed.start("ats", ["traffic_server", f"--run-root={folder}/runroot.yaml"], port,
                     memory=memory, env=env)


RIVALS = {"nginx": start_nginx, "varnish": start_varnish, "haproxy": start_haproxy,
          "ats": start_ats}
