"""`attnlint audit`: every attention site of many repositories, archives or tables of code, on Dask.

An audit has two rounds over its source. The survey reads every text once and notes its digest and whether attention may be in it; the
second round lints each such text once, wherever it lies, beside the others of its repository. Both work through partitions whose
results are written before they count as done, so that an audit that was interrupted goes on where it was.
"""
