"""Signs and validates PDFs with pyHanko.

Reads one JSON object from standard input:
  validate  paths of signed documents, with root: a PEM file that is trusted; or
  sign      [[input, output], ...], with key, cert and chain: PEM files
Prints a JSON array with one string for each: empty where all went well.
"""
import json
import logging
import sys

from pyhanko.keys import load_cert_from_pemder
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign import fields, signers
from pyhanko.sign.validation import validate_pdf_signature
from pyhanko_certvalidator import ValidationContext

logging.disable(logging.CRITICAL)


def sign(source, target, signer):
    with open(source, "rb") as f:
        writer = IncrementalPdfFileWriter(f, strict=False)
        meta = signers.PdfSignatureMetadata(field_name="Theirs", subfilter=fields.SigSeedSubFilter.PADES)
        with open(target, "wb") as out:
            signers.sign_pdf(writer, meta, signer=signer, output=out)
    return ""


def validate(path, root):
    with open(path, "rb") as f:
        found = PdfFileReader(f, strict=False).embedded_signatures
        if len(found) != 1:
            return f"{len(found)} signatures"
        # a signer's certificate may be meant for something else than pyHanko asks for
        status = validate_pdf_signature(found[0], ValidationContext(trust_roots=[root], allow_fetching=False))
        if not (status.intact and status.valid):
            return "the digest or the value does not fit"
        if status.coverage.name != "ENTIRE_FILE":
            return "covers " + status.coverage.name
        if status.modification_level is not None and status.modification_level.name != "NONE":
            return "changes: " + status.modification_level.name
        return "" if status.trusted else "not trusted"


def each(items, work):
    out = []
    for item in items:
        try:
            out.append(work(item))
        except Exception as e:  # whatever it is, it is told
            out.append(f"{type(e).__name__}: {e}"[:200] or type(e).__name__)
    return out


ask = json.load(sys.stdin)
if "sign" in ask:
    signer = signers.SimpleSigner.load(ask["key"], ask["cert"], ca_chain_files=(ask["chain"],))
    answer = each(ask["sign"], lambda pair: sign(pair[0], pair[1], signer))
else:
    root = load_cert_from_pemder(ask["root"])
    answer = each(ask["validate"], lambda path: validate(path, root))
json.dump(answer, sys.stdout)
