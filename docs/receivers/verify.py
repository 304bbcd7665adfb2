"""A receiver of webhooks that verifies the raw bytes. Start it with: SECRET=... PORT=8080 python3 verify.py"""
import hashlib
import hmac
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environb.get(b"SECRET") or sys.exit("SECRET is not set")


def is_authentic(body: bytes, signature: str) -> bool:
    expected = hmac.new(SECRET, body, hashlib.sha1).hexdigest()
    # Bytes: for text that is not ASCII compare_digest raises an error.
    return hmac.compare_digest(expected.encode(), signature.encode())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def read_body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        # A proxy may send chunks, which http.server leaves to us. Unread, they would be taken for a request.
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():  # trailers
            pass
        return body

    def do_POST(self):
        body = self.read_body()
        # 401 is final. After a 5xx the event would come again for four hours.
        self.send_response(204 if is_authentic(body, self.headers.get("X-Signature", "")) else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()
        # From here on json.loads(body) is an event. Store it, and work on it after the answer.


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # connections that wait; the default is 5


server = Server(("127.0.0.1", int(os.environ.get("PORT", "0"))), Handler)
print(f"http://127.0.0.1:{server.server_port}/hook", flush=True)
server.serve_forever()
