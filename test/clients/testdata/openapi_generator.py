"""What openapi-generator makes for Python signs, downloads and verifies."""

import base64
import os

import rogitoapi
from rogitoapi.models.signature_request import SignatureRequest
from rogitoapi.models.signature_request_input_documents import SignatureRequestInputDocuments
from rogitoapi.models.verify_request import VerifyRequest

config = rogitoapi.Configuration(
    host=os.environ["ROGITO_URL"], access_token=os.environ["ROGITO_TOKEN"]
)
with open(os.environ["ROGITO_DOCUMENT"], "rb") as f:
    document = base64.b64encode(f.read()).decode()

with rogitoapi.ApiClient(config) as client:
    signatures = rogitoapi.SignaturesApi(client)
    # One document, and a list of them; how the type of its elements is called, the generator
    # takes from the first request that has one.
    one = SignatureRequestInputDocuments(document)
    element = next(n for n in dir(rogitoapi.models) if n.endswith("InputDocumentsOneOfInner"))
    several = SignatureRequestInputDocuments([getattr(rogitoapi.models, element)(document)])
    for documents in (one, several):
        answer = signatures.sign_automatic(
            SignatureRequest(
                inputDocuments=documents,
                certificateUsername=os.environ["ROGITO_USERNAME"],
                certificatePassword=os.environ["ROGITO_PASSWORD"],
            )
        )
        assert answer.data.state == "DONE", answer
    signed = bytes(signatures.download_signed_document(answer.data.id))
    assert signed.startswith(b"%PDF-"), signed[:20]
    report = rogitoapi.VerificationApi(client).verify(
        VerifyRequest(inputDocument=base64.b64encode(signed).decode())
    )
    assert report.data is not None and report.data.overall_verified, report
print("signed", answer.data.id)
