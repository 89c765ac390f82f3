"""ATT501: dropout of a fused kernel that is not switched off in evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attnlint.domain.algebra import CONFIG
from attnlint.domain.record import SiteRecord
from attnlint.domain.values import Argument, ClassValue, Scalar
from attnlint.fixes import edits
from attnlint.model import Fix
from attnlint.rule import Report, Rule
from attnlint.sites.roles import argument, code
from attnlint.sites.sites import AttentionSite
from attnlint.syntax import nodes as cst

_MODE = re.compile(r"train|eval|determinis|infer|grad", re.I)


class SdpaDropoutInEval(Rule):
    """
    ## What it does
    Checks that the `dropout_p` of a fused attention is 0 unless the module is in training.

    ## Why is this bad
    A function knows nothing of `module.eval()`: `scaled_dot_product_attention` drops weights whenever `dropout_p` is above 0, so the
    model gives other and worse answers at every call in evaluation.

    ## Example
    ```python
    import torch.nn.functional as F
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, heads, dropout=0.1):
            super().__init__()
            self.heads, self.dropout = heads, dropout
            self.qkv = nn.Linear(width, 3 * width)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)
            return y.transpose(1, 2).reshape(b, t, c)
    ```

    ## Use instead
    ```python
    import torch.nn.functional as F
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, heads, dropout=0.1):
            super().__init__()
            self.heads, self.dropout = heads, dropout
            self.qkv = nn.Linear(width, 3 * width)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0)
            return y.transpose(1, 2).reshape(b, t, c)
    ```

    ## Fix safety
    Safe: training is as before, and evaluation becomes what a dropout layer would give. Code that draws samples by dropout in evaluation
    on purpose has to suppress the rule.

    ## References
    PyTorch, `torch.nn.functional.scaled_dot_product_attention`: the function always applies dropout according to `dropout_p`.
    """

    code = "ATT501"
    name = "sdpa-dropout-in-eval"

    def check(self, site: AttentionSite) -> Iterable[Report]:
        record = site.record
        given = record.argument_origins.get("dropout_p")
        if record.kernel is None or given is None or not isinstance(record.owner, ClassValue):
            return
        if record.softmax is not None and argument(record.softmax.node, "training", "deterministic", "is_training") is not None:
            return  # Paddle's function is told the mode itself
        if not _always(record) or any(_MODE.search(text) for text, _ in record.path) or _switches(record.owner):
            return
        receiver = _receiver(record)
        text = code(given)
        fix = None
        if receiver is not None and isinstance(given.node, (cst.Attribute, cst.Name, cst.Float, cst.Subscript)):
            fix = Fix("safe", "Drop in training only", (edits.wrap(given, "", f" if {receiver}.training else 0.0")[1],))
        yield Report(given, f"`{text}` drops weights in evaluation too: write `{text} if {receiver or 'self'}.training else 0.0`", fix)


def _always(record: SiteRecord) -> bool:
    """Whether the rate is a number or setting of the module, that nothing turns to 0 in evaluation."""
    value = record.arguments.get("dropout_p")
    if isinstance(value, Scalar):
        if value.value.is_number:
            return value.value.coefficient > 0
        symbols = value.value.symbols
        return bool(symbols) and all(_of_module(record, symbol.kind, symbol.key) for symbol in symbols)
    return isinstance(value, Argument) and _of_module(record, value.kind, value.key)


def _of_module(record: SiteRecord, kind: str, key: str) -> bool:
    """Whether a value is a setting, or was given to the constructor, rather than to the function that holds the kernel."""
    classes = {record.owner.name, *(base.name for base in record.owner.bases if isinstance(base, ClassValue))}
    return kind == CONFIG or key.rpartition(":")[2].split(".")[-2:-1] in [[name] for name in classes]


def _switches(owner: ClassValue) -> bool:
    """A class that reacts to the switch from training to evaluation by itself."""
    return "train" in owner.methods or "eval" in owner.methods


def _receiver(record: SiteRecord) -> str | None:
    function = record.function
    if function is None or not isinstance(function.node, cst.FunctionDef) or function.kind != "function":
        return None
    parameters = function.node.params.params
    return parameters[0].name.value if parameters else None
