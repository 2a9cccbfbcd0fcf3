#!/usr/bin/env python3
"""What `brass bench client` reports of a server whose times are known.

    tools/oracles/bench_client.py build/release/brass

Starts a small server on this machine that speaks OpenAI's chat completions: it waits as long as a prompt of so many tokens
would take, sends a chunk with nothing but the role at once, then the reply token by token at a fixed pace. The reported
figures must be those of the server, within what sleeping costs.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PREFILL_TPS, TOKEN_S, BYTES_A_TOKEN = 2000.0, 0.02, 4
FAILED_REQUEST = "this server is out of patience"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen = set()
    fail_all = False
    lock = threading.Lock()

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = json.dumps({"data": [{"id": "known-times"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def event(self, value):
        data = ("data: " + (value if isinstance(value, str) else json.dumps(value)) + "\n\n").encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if Handler.fail_all:
            body = json.dumps({"error": {"message": FAILED_REQUEST}}).encode()
            self.send_response(503)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        prompt = request["messages"][0]["content"]
        tokens = len(prompt.encode()) // BYTES_A_TOKEN
        with Handler.lock:
            cached = tokens - 1 if prompt in Handler.seen else 0
            Handler.seen.add(prompt)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.event({"choices": [{"delta": {"role": "assistant", "content": ""}}]})
        time.sleep((tokens - cached) / PREFILL_TPS)
        for i in range(request["max_tokens"]):
            if i > 0:
                time.sleep(TOKEN_S)
            self.event({"choices": [{"delta": {"content": f"w{i} "}}]})
        self.event({"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": request["max_tokens"],
                                             "prompt_tokens_details": {"cached_tokens": cached}}})
        self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")


def close(name, value, expected, share):
    ok = abs(value / expected - 1) <= share
    print(f"{'ok  ' if ok else 'FAIL'} {name}: {value:.4g}, expected {expected:.4g} within {share:.0%}")
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("brass")
    brass = parser.parse_args().brass
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    command = [brass, "bench", "client", url, "--workload", "1k/20", "--concurrency", "1", "--concurrency", "3", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    report = json.loads(done.stdout)
    good = report["head"]["model"] == "known-times" and report["complete"] and len(report["levels"]) == 2
    for level in report["levels"]:
        n = level["concurrency"]
        good &= level["errors"] == [] and level["tokens_counted_by_server"] and level["reply_tokens"] == 20 * n
        good &= close("prompt tokens", level["prompt_tokens"], 1024 * n, 0.02)
        for ttft, prefill, decode in zip(level["ttft_s"], level["prefill_tps"], level["decode_tps"]):
            good &= close("time to first token", ttft, 1024 / PREFILL_TPS, 0.1)
            good &= close("prefill tok/s", prefill, PREFILL_TPS, 0.1)
            good &= close("decode tok/s", decode, 1 / TOKEN_S, 0.15)
        good &= close("p50 between chunks", level["latency_s"]["p50"], TOKEN_S, 0.15)
    again = report["levels"][0]["ttft_repeated_prompt_s"]
    good &= len(again) == 1 and again[0] < 0.1
    row = report["workloads"][0]
    good &= len(report["workloads"]) == 1 and row["kind"] == "measured"
    good &= close("prefill of the workload", row["measured"]["prefill_s"], 1024 / PREFILL_TPS, 0.1)
    good &= close("decode of the workload", row["measured"]["decode_s"], 19 * TOKEN_S, 0.15)
    good &= close("prefill tok/s of the head", report["numbers"]["prefill_tps"], PREFILL_TPS, 0.1)
    Handler.fail_all = True
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    good &= failed.returncode == 1 and FAILED_REQUEST in failed.stderr
    server.shutdown()
    nobody = subprocess.run([brass, "bench", "client", "http://127.0.0.1:1", "--json"], capture_output=True, text=True, check=False)
    good &= nobody.returncode == 1 and "127.0.0.1:1" in nobody.stderr
    print("as expected" if good else "NOT as expected")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
