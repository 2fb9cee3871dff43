"""A thin layer over the API of a Rogito server.

``rogito_client.generated`` is the whole API, generated from the server's OpenAPI
document; ``Rogito.api`` is its client. The methods here are what most callers want.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import time
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from .generated import AuthenticatedClient
from .generated.api.signatures import ask_aes, ask_ses, download_signed_document, get_signature, sign_automatic, sign_eseal, sign_otp
from .generated.api.verification import verify as verify_operation
from .generated.models import Failure, InputDocument, PeopleRequest, SignatureOptions, SignatureRecord, SignatureRequest, VerifyParts, View
from .generated.types import UNSET, File, Response

__all__ = ["Rogito", "RogitoError", "SignError", "document", "verify_callback", "SignatureOptions", "SignatureRecord", "View"]

_OPERATIONS = {"automatic": sign_automatic, "otp": sign_otp, "eseal": sign_eseal}

T = TypeVar("T")


class RogitoError(Exception):
    """What the server refuses a call with; ``code`` is of the table at /docs/errors."""

    def __init__(self, message: str, status: int, code: int, request_id: str) -> None:
        super().__init__(f"{message} (status {status}, code {code}, request {request_id})")
        self.message, self.status, self.code, self.request_id = message, status, code, request_id


class SignError(Exception):
    """A signature that was taken and then failed."""

    def __init__(self, record: SignatureRecord) -> None:
        super().__init__(f"signature {record.id} failed: {record.error_message} (code {record.error_number})")
        self.record = record


def document(source: str | os.PathLike[str] | bytes, name: str | None = None) -> InputDocument:
    """A document to sign: the path of a file, or bytes with the name of a file."""
    if not isinstance(source, bytes):
        path = Path(source)
        source, name = path.read_bytes(), name or path.name
    return InputDocument.from_dict({"sourceType": "base64", "name": name or "document", "payload": base64.b64encode(source).decode()})


def _opened(response: Response[Any], wanted: type[T]) -> T:
    if isinstance(response.parsed, wanted):
        return response.parsed
    request_id = response.headers.get("x-request-id", "")
    if isinstance(response.parsed, Failure):
        raise RogitoError(response.parsed.message, response.status_code, response.parsed.error, request_id)
    raise RogitoError(response.content[:200].decode(errors="replace"), response.status_code, 0, request_id)


def _checked(record: SignatureRecord) -> SignatureRecord:
    if record.state == "ERROR":
        raise SignError(record)
    return record


class Rogito:
    """A server, called with one token."""

    def __init__(self, base_url: str, token: str, **httpx_args: Any) -> None:
        self.api = AuthenticatedClient(base_url=base_url.rstrip("/"), token=token, httpx_args=httpx_args)

    def sign(
        self,
        kind: str,
        documents: Iterable[InputDocument],
        *,
        username: str,
        password: str,
        otp: str | None = None,
        options: Mapping[str, Any] | None = None,
        callback: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        **members: Any,
    ) -> SignatureRecord:
        """Ask for a signature: ``kind`` is automatic, otp or eseal; ``members`` are title,
        description, signatureType. The record is DONE, or waits where ``options`` asks for
        asynchronous work or a person must approve: then see ``wait``. Under the same
        idempotency key the same request gives the same record, for a day."""
        body: dict[str, Any] = {
            "inputDocuments": [d.to_dict() for d in documents],
            "certificateUsername": username,
            "certificatePassword": password,
            **members,
        }
        for name, value in (("certificateOtp", otp), ("options", options), ("callback", callback)):
            if value is not None:
                body[name] = value
        operation = _OPERATIONS[kind]
        request = SignatureRequest.from_dict(body)
        response = operation.sync_detailed(client=self.api, body=request, idempotency_key=idempotency_key or str(uuid.uuid4()))
        return _checked(_opened(response, getattr(operation, f"Sign{kind.capitalize()}Answer")).data)

    def ask(
        self,
        signers: Iterable[Mapping[str, Any]],
        documents: Iterable[InputDocument] = (),
        *,
        advanced: bool = False,
        options: Mapping[str, Any] | None = None,
        callback: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        **members: Any,
    ) -> SignatureRecord:
        """Ask people to sign PDFs in a browser: ``signers`` of the record have the link of each.
        With ``advanced`` every signer is identified, and signs with a certificate for this one
        act; ``members`` are title, description, template."""
        body: dict[str, Any] = {"signers": [dict(s) for s in signers], "options": dict(options or {}), **members}
        if given := [d.to_dict() for d in documents]:
            body["inputDocuments"] = given
        if callback is not None:
            body["callback"] = callback
        operation = ask_aes if advanced else ask_ses
        request = PeopleRequest.from_dict(body)
        response = operation.sync_detailed(client=self.api, body=request, idempotency_key=idempotency_key or str(uuid.uuid4()))
        if response.parsed is None or isinstance(response.parsed, Failure):
            _opened(response, SignatureRecord)  # says why
        return _checked(response.parsed.data)

    def signature(self, id: str) -> SignatureRecord:
        """The record of a signature as it is now."""
        return _checked(_opened(get_signature.sync_detailed(id, client=self.api), get_signature.GetSignatureAnswer).data)

    def wait(self, id: str, timeout: float = 600) -> SignatureRecord:
        """Ask for a record until it is DONE; one that failed is a SignError."""
        end, pause = time.monotonic() + timeout, 0.1
        while (record := self.signature(id)).state != "DONE":
            if time.monotonic() + pause > end:
                raise TimeoutError(f"signature {id} is {record.state} after {timeout} s")
            time.sleep(pause)
            pause = min(pause * 1.5, 5)
        return record

    def download(self, id: str) -> bytes:
        """The signed document of a record that is DONE."""
        return _opened(download_signed_document.sync_detailed(id, client=self.api), File).payload.read()

    def verify(self, content: bytes, name: str = "document", plain: bool = False, **members: Any) -> View:
        """What the signatures of a document are worth: ``overall_verified`` says whether to rely on it."""
        import io

        form = VerifyParts(input_document=File(payload=io.BytesIO(content), file_name=name), with_plain_document=plain, **members)
        data = _opened(verify_operation.sync_detailed(client=self.api, body=form), verify_operation.VerifyAnswer).data
        if not isinstance(data, View):
            raise ValueError("the server answered without a report")
        return data


def verify_callback(headers: Mapping[str, str], body: bytes, *secrets: str, now: float | None = None) -> bool:
    """Check the signature of a callback (Standard Webhooks) over its body, byte for byte as it
    came. Secrets are those of GET /callbacks/secret; one that fits will do."""
    named = {name.lower(): value for name, value in headers.items()}
    id, at = named.get("webhook-id", ""), named.get("webhook-timestamp", "")
    if not id or not at.isdecimal() or abs((time.time() if now is None else now) - int(at)) > 300:
        return False
    given = named.get("webhook-signature", "").split(" ")
    for secret in secrets:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        want = "v1," + base64.b64encode(hmac.new(key, f"{id}.{at}.".encode() + body, hashlib.sha256).digest()).decode()
        if key and any(hmac.compare_digest(want.encode(), got.encode()) for got in given):
            return True
    return False
