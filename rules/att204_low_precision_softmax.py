"""ATT204: softmax in half precision."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint.rule import Report, Rule
from attnlint.sites.roles import carrier_of, code
from attnlint.sites.sites import AttentionSite


class LowPrecisionSoftmax(Rule):
    """
    ## What it does
    Checks that logits which the code casts to half precision are not normalised there.

    ## Why is this bad
    Half precision keeps 8 or 11 bits: the sum of many small exponentials loses its small terms, and a float16 logit overflows at 65504.
    The usual remedy costs one cast: softmax in float32, the weights back in half precision. In preview, since it is a matter of
    taste where the framework accumulates in float32 anyway, which the source does not show.

    ## Example
    ```python
    import torch


    def attention(q, k, v):
        logits = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).to(torch.float16)
        return torch.softmax(logits, dim=-1) @ v
    ```

    ## Use instead
    ```python
    import torch


    def attention(q, k, v):
        logits = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).to(torch.float32)
        return torch.softmax(logits, dim=-1).to(v.dtype) @ v
    ```

    ## Fix safety
    No fix: which type the weights should have afterwards is not in the source.

    ## References
    Micikevicius et al., Mixed Precision Training, 2018, section 3.3.
    """

    code = "ATT204"
    name = "low-precision-softmax"
    preview = True

    def check(self, site: AttentionSite) -> Iterable[Report]:
        record = site.record
        carrier = carrier_of(site)
        if record.kind != "softmax" or record.softmax is None or carrier is None:
            return
        if record.dtype == "half" or (
            record.dtype is None and "half" in (carrier.dtype, record.logits.dtype if record.logits is not None else None)
        ):
            yield Report(record.softmax, f"`{code(record.softmax)}` normalises in half precision: cast the logits to float32 first")
