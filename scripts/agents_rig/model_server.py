"""The scripted model: an HTTP server on loopback that speaks the APIs of the providers and asks a script what to answer."""

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import protocols
from .protocols import Fail, Silence

LARGEST_BODY = 64 * 1024 * 1024
LONGEST_SILENCE = 300


class ModelServer:
    """Answers on 127.0.0.1 until it is closed. As a proxy it refuses every request, so that no traffic leaves the machine."""

    def __init__(self, script):
        self.script = script
        self.requests, self.refused = [], []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._number = 0
        handler = type("Handler", (_Handler,), {"owner": self})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.daemon_threads = True
        self.http.handle_error = lambda *_: None  # A client that is killed closes its connection.
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self._thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self._thread.start()

    def close(self):
        self.closing.set()
        self.http.shutdown()
        self.http.server_close()

    def answer(self, ask):
        """The script's reply and its number; requests are kept for the checks."""
        with self._lock:
            self._number += 1
            number = self._number
            self.requests.append(ask)
            return self.script.reply(ask), number


class _Handler(BaseHTTPRequestHandler):
    owner = None
    protocol_version = "HTTP/1.1"
    timeout = 120

    def log_message(self, *args):
        pass

    def do_CONNECT(self):
        self.owner.refused.append(self.path)
        self._send(403, "text/plain", "only loopback is allowed here")

    def do_GET(self):
        if self._is_foreign():
            return
        path = self.path.split("?")[0]
        if path.endswith("/models"):
            model = {"id": "scripted", "object": "model", "created": 1760000000, "owned_by": "rig"}
            self._send(200, "application/json", json.dumps({"object": "list", "data": [model]}))
        else:
            self._send(200, "application/json", "{}")

    def do_HEAD(self):
        self._send(200, "text/plain", "")

    def do_POST(self):
        if self._is_foreign():
            return
        length = int(self.headers.get("Content-Length") or 0)
        if length > LARGEST_BODY:
            return self._send(413, "text/plain", "too large")
        raw = self._chunks() if self.headers.get("Transfer-Encoding") == "chunked" else self.rfile.read(length)
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            return self._send(400, "text/plain", "not JSON")
        path = self.path.split("?")[0]
        ask = _read(path, body)
        if ask is None:
            if path.endswith("count_tokens") or path.endswith(":countTokens"):
                return self._send(200, "application/json", json.dumps({"input_tokens": 1000, "totalTokens": 1000}))
            return self._send(200, "application/json", "{}")
        reply, number = self.owner.answer(ask)
        if isinstance(reply, Silence):
            deadline = time.monotonic() + LONGEST_SILENCE
            while time.monotonic() < deadline and not self.owner.closing.wait(1):
                pass
            self.close_connection = True
            return None
        if isinstance(reply, Fail):
            text = protocols.write_failure(ask.protocol, reply)
            return self._send(reply.status, "application/json", text, reply.headers)
        text = protocols.WRITERS[ask.protocol](ask, reply, number)
        return self._send(200, "text/event-stream" if ask.stream else "application/json", text)

    def _is_foreign(self):
        """A request for another machine, sent here because this server is the proxy."""
        if self.path.startswith("http://") and not self.path.startswith(self.owner.url):
            self.owner.refused.append(self.path)
            self._send(403, "text/plain", "only loopback is allowed here")
            return True
        return False

    def _chunks(self):
        whole = b""
        while len(whole) < LARGEST_BODY:
            size = int(self.rfile.readline().split(b";")[0] or b"0", 16)
            if size == 0:
                self.rfile.readline()
                break
            whole += self.rfile.read(size)
            self.rfile.readline()
        return whole

    def _send(self, status, kind, text, headers=None):
        data = text.encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


def _read(path, body):
    if path.endswith("/messages"):
        return protocols.read_anthropic(body)
    if path.endswith("/responses"):
        return protocols.read_responses(body)
    if path.endswith("/chat/completions"):
        return protocols.read_chat(body)
    found = re.search(r"/models/([^/:]+):(streamGenerateContent|generateContent)$", path)
    if found:
        return protocols.read_gemini(body, found.group(1), found.group(2) == "streamGenerateContent")
    return None
