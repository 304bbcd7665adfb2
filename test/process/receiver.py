"""A webhook receiver out of Python's standard library: it verifies the raw bytes. Prints its port, and what it found when stdin ends."""
import hashlib
import hmac
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["SECRET"].encode()
lock = threading.Lock()
found = {"requests": 0, "verified": 0, "types": {}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        expected = hmac.new(SECRET, body, hashlib.sha1).hexdigest()
        right = hmac.compare_digest(expected, self.headers.get("X-Signature", ""))
        kind = json.loads(body)["type"]
        with lock:
            found["requests"] += 1
            found["verified"] += right
            found["types"][kind] = found["types"].get(kind, 0) + 1
        self.send_response(200 if right else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("port", server.server_port, flush=True)
sys.stdin.read()
print(json.dumps(found), flush=True)
