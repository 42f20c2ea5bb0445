# SPDX-License-Identifier: Apache-2.0
"""A remote service behind TLS, for http_tls_test.c:

    tls_service.py CERT KEY CLIENT_CA

prints its port and answers each POST with what it was shown, until stdin ends. It accepts clients
with a certificate of CLIENT_CA only; "" = without one."""
import http.server
import json
import ssl
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        peer = self.connection.getpeercert()
        body = json.dumps({"authorization": self.headers.get("Authorization"),
                           "tenant": self.headers.get("X-Tenant"),
                           "peer": peer["subject"][0][0][1] if peer else None}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, context):
        super().__init__(("127.0.0.1", 0), Handler)
        self.context = context

    def finish_request(self, request, client_address):
        """The handshake, in the connection's own thread."""
        request.settimeout(60)
        self.RequestHandlerClass(self.context.wrap_socket(request, server_side=True),
                                 client_address, self)

    def handle_error(self, request, client_address):
        pass


def main():
    cert, key, client_ca = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    if client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_ca)
    server = Server(context)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


main()
