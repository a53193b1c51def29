"""What the registers publish, read into our records.

`reading` is the way in: `read` takes a file, `parse` one document.
"""
