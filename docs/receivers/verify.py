"""A receiver of webhooks that verifies the raw bytes. Start it with: SECRET=... PORT=8080 python3 verify.py"""
import hashlib
import hmac
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environb.get(b"SECRET") or sys.exit("SECRET is not set")
MAX_BODY = 1_048_576


def is_authentic(body: bytes, signature: str) -> bool:
    expected = hmac.new(SECRET, body, hashlib.sha1).hexdigest()
    # Bytes: for text that is not ASCII compare_digest raises an error.
    return hmac.compare_digest(expected.encode(), signature.encode())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def read(self, size: int, room: int) -> bytes:
        if not 0 <= size <= room:
            raise ValueError("the body is too large")
        return self.rfile.read(size)

    def read_body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.read(int(self.headers.get("Content-Length", 0)), MAX_BODY)
        # A proxy may send chunks, which http.server leaves to us. Unread, they would be taken for a request.
        body = b""
        while size := int(self.rfile.readline(1000).split(b";")[0], 16):
            body += self.read(size, MAX_BODY - len(body))
            self.rfile.readline()
        while self.rfile.readline().strip():  # trailers
            pass
        return body

    def answer(self, status: int):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        try:
            body = self.read_body()
        except ValueError:  # too large, or its length is no number
            self.close_connection = True
            return self.answer(413)
        # 401 is final. After a 5xx the event would come again for four hours.
        self.answer(204 if is_authentic(body, self.headers.get("X-Signature", "")) else 401)
        # From here on json.loads(body) is an event. Store it, and work on it after the answer.


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # connections that wait; the default is 5


server = Server(("127.0.0.1", int(os.environ.get("PORT", "0"))), Handler)
print(f"http://127.0.0.1:{server.server_port}/hook", flush=True)
server.serve_forever()
