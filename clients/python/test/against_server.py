"""Signs, waits, downloads, verifies and checks a callback, against a running server that may
call 127.0.0.1. It ends with 0 where all of it worked."""

import base64
import json
import os
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer

from rogito_client import Rogito, RogitoError, SignError, document, verify_callback

rogito = Rogito(os.environ["ROGITO_URL"], os.environ["ROGITO_TOKEN"])
secret = os.environ["ROGITO_WEBHOOK_SECRET"]
credentials = {"username": os.environ["ROGITO_USERNAME"], "password": os.environ["ROGITO_PASSWORD"]}
done, problems, deliveries = threading.Event(), [], []


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = dict(self.headers)
        another = "whsec_" + base64.b64encode(b"another").decode()
        for what, held in {
            "the signature": verify_callback(headers, body, another, secret),
            "another body": not verify_callback(headers, body + b" ", secret),
            "another secret": not verify_callback(headers, body, another),
            "an old one": not verify_callback(headers, body, secret, now=time.time() + 400),
        }.items():
            if not held:
                problems.append(what)
        self.send_response(204)
        self.end_headers()
        message = json.loads(body)
        if message["data"]["state"] == "DONE":
            deliveries.append(message)
            done.set()

    def log_message(self, *_: object) -> None:
        pass


receiver = HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()


def ask(key: str):
    return rogito.sign(
        "automatic",
        [document(os.environ["ROGITO_DOCUMENT"])],
        **credentials,
        title="from Python",
        options={"asyncSignature": True, "level": "B"},
        callback={"url": f"http://127.0.0.1:{receiver.server_port}/hook", "custom": {"from": "Python"}},
        idempotency_key=key,
    )


key = str(uuid.uuid4())
asked = ask(key)
assert asked.state == "WAIT_SIGN", asked.state
assert ask(key).id == asked.id, "the same key gives another record"
record = rogito.wait(asked.id, timeout=30)
signed = rogito.download(record.id)
assert signed.startswith(b"%PDF-") and len(signed) == record.document.signed_document.size
report = rogito.verify(signed, "signed.pdf")
assert report.overall_verified is True and len(report.signature_report_list) == 1, report
assert done.wait(30), "no callback came"
assert deliveries[0]["data"]["id"] == record.id and deliveries[0]["custom"] == {"from": "Python"}
assert not problems, problems

try:
    rogito.signature("0" * 24)
    raise SystemExit("a record that is not there was found")
except RogitoError as e:
    assert (e.code, e.status) == (140, 404) and e.request_id, e
try:
    rogito.sign("automatic", [document(b"hello", "hello.txt")], username=credentials["username"], password="wrong")
    raise SystemExit("a wrong password signed")
except SignError as e:
    assert e.record.error_number == 110, e
print("signed", record.id)
