"""Fills in a text field with pyHanko: fill.py IN OUT FIELD VALUE

pyHanko has no command for it. The value and the appearance are written with its
writer of incremental updates, as its own tests do.
"""
import sys

from pyhanko.pdf_utils import generic
from pyhanko.pdf_utils.generic import pdf_name, pdf_string
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter

source, target, name, value = sys.argv[1:]
with open(source, "rb") as f:
    writer = IncrementalPdfFileWriter(f)
    form = writer.root["/AcroForm"]
    field = next(x.get_object() for x in form["/Fields"] if x.get_object().get("/T") == name)
    left, low, right, high = (float(x) for x in field["/Rect"])
    font = form["/DR"]["/Font"].raw_get("/Helv")
    shown = generic.StreamObject(
        dict_data={
            pdf_name("/Type"): pdf_name("/XObject"),
            pdf_name("/Subtype"): pdf_name("/Form"),
            pdf_name("/BBox"): generic.ArrayObject(generic.FloatObject(x) for x in (0, 0, right - left, high - low)),
            pdf_name("/Resources"): generic.DictionaryObject(
                {pdf_name("/Font"): generic.DictionaryObject({pdf_name("/Helv"): font})}
            ),
        },
        stream_data=b"/Tx BMC q BT /Helv 12 Tf 0 g 2 5 Td (" + value.encode("ascii") + b") Tj ET Q EMC",
    )
    field["/V"] = pdf_string(value)
    field["/AP"] = generic.DictionaryObject({pdf_name("/N"): writer.add_object(shown)})
    writer.update_container(field)
    with open(target, "wb") as out:
        writer.write(out)
