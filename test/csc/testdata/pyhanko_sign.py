"""Signs PDFs with pyHanko through a remote signing service (CSC API).

Reads one JSON object from standard input:
  service   base of the service, before /csc/v1
  version   v1 or v2 (changes the address only: pyHanko speaks version 1)
  token     bearer token
  credential, pin, otp (null for none)
  ca        PEM file that TLS is trusted by, or null
  files     [[input, output], ...]: signed together, in one call
  pss, digest
  twice     send signHash a second time with the same data: must fail
Prints one JSON object: {"signed": n, "multisign": n, "scal": n, "refused": "..."}.
"""
import asyncio
import json
import ssl
import sys

import aiohttp
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign import fields, signers
from pyhanko.sign.general import SigningError
from pyhanko.sign.signers import csc_signer
from pyhanko.sign.signers.pdf_signer import PdfSignatureMetadata


class Authorization(csc_signer.CSCAuthorizationManager):
    def __init__(self, session, info, credential, pin, otp):
        super().__init__(info, credential)
        self.session, self.pin, self.otp = session, pin, otp
        self.answer = None

    async def authorize_signature(self, hash_b64s):
        body = self.format_csc_auth_request(pin=self.pin, otp=self.otp, hash_b64s=hash_b64s)
        url = self.csc_session_info.endpoint_url("credentials/authorize")
        async with self.session.post(url, headers=self.auth_headers, json=body) as response:
            text = await response.text()
            if response.status != 200:
                raise SigningError(f"authorize: {response.status} {text}")
            self.answer = json.loads(text)
        return self.parse_csc_auth_response(self.answer)


async def main(ask):
    connector = None
    if ask.get("ca"):
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=ask["ca"]))
    async with aiohttp.ClientSession(connector=connector) as session:
        info = csc_signer.CSCServiceSessionInfo(
            service_url=ask["service"], credential_id=ask["credential"], oauth_token=ask["token"], api_ver=ask["version"]
        )
        credential = await csc_signer.fetch_certs_in_csc_credential(session, info)
        manager = Authorization(session, info, credential, ask.get("pin"), ask.get("otp"))
        files = ask["files"]
        signer = csc_signer.CSCSigner(
            session, manager, batch_size=len(files), prefer_pss=ask.get("pss", False)
        )

        async def one(source, target):
            with open(source, "rb") as f:
                writer = IncrementalPdfFileWriter(f)
                meta = PdfSignatureMetadata(
                    field_name="Signature1", md_algorithm=ask.get("digest", "sha256"),
                    subfilter=fields.SigSeedSubFilter.PADES,
                )
                out = await signers.PdfSigner(meta, signer).async_sign_pdf(writer)
            with open(target, "wb") as f:
                f.write(out.getbuffer())

        await asyncio.gather(*(one(a, b) for a, b in files))
        print(json.dumps({
            "signed": len(files), "multisign": credential.max_batch_size,
            "scal": 2 if credential.hash_pinning_required else 1, "expiresIn": manager.answer.get("expiresIn"),
        }))


try:
    asyncio.run(main(json.load(sys.stdin)))
except SigningError as e:
    cause = getattr(e.__cause__, "status", None)
    print(json.dumps({"signed": 0, "refused": str(e), "status": cause}))
