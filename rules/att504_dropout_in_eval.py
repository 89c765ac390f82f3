"""ATT504: dropout of the weights that does not ask whether the model is trained."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attnlint.domain.ancestry import ancestors
from attnlint.domain.record import SiteRecord
from attnlint.domain.values import ClassValue, Origin
from attnlint.evaluate.powers import called
from attnlint.fixes import edits
from attnlint.model import Fix
from attnlint.rule import Report, Rule
from attnlint.sites.roles import argument, code, is_sure
from attnlint.sites.sites import AttentionSite
from attnlint.syntax import nodes as cst

_MODE = re.compile(r"train|deterministic|eval", re.I)


class DropoutInEval(Rule):
    """
    ## What it does
    Checks that `torch.nn.functional.dropout` on attention weights is told whether the model is in training.

    ## Why is this bad
    The function drops unless it is told otherwise: `training=True` is its default, and `model.eval()` does not reach it. Evaluation and
    inference lose weights at random, and no run gives the same result twice.

    ## Example
    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, size):
            super().__init__()
            self.q, self.k, self.v = nn.Linear(width, size), nn.Linear(width, size), nn.Linear(width, size)

        def forward(self, x):
            q, k, v = self.q(x), self.k(x), self.v(x)
            logits = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
            weights = F.dropout(torch.softmax(logits, dim=-1), p=0.1)
            return weights @ v
    ```

    ## Use instead
    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, size):
            super().__init__()
            self.q, self.k, self.v = nn.Linear(width, size), nn.Linear(width, size), nn.Linear(width, size)

        def forward(self, x):
            q, k, v = self.q(x), self.k(x), self.v(x)
            logits = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
            weights = F.dropout(torch.softmax(logits, dim=-1), p=0.1, training=self.training)
            return weights @ v
    ```

    ## Fix safety
    Safe: what is computed in training stays as it is.

    ## References
    PyTorch, `torch.nn.functional.dropout`: `training` is True by default.
    """

    code = "ATT504"
    name = "dropout-in-eval"
    preview = True

    def check(self, site: AttentionSite) -> Iterable[Report]:
        record = site.record
        if not isinstance(record.owner, ClassValue) or record.function is None or not is_sure(site):
            return
        if any(_MODE.search(text) for text, _ in record.path):
            return
        weights = record.weights_at_value
        for origin in weights.history if weights is not None else ():
            call = origin.node
            if not isinstance(call, cst.Call) or called(call) != "dropout" or not _is_functional(origin, call) or not _always(call, origin):
                continue
            if not any(isinstance(node, cst.FunctionDef) and node is record.function.node for node in ancestors(origin)):
                continue
            if any(isinstance(node, cst.If) and _MODE.search(origin.unit.code(node.test)) for node in ancestors(origin)):
                continue
            receiver = _receiver(record)
            edit = edits.add_argument(origin, f"training={receiver}.training") if receiver is not None else None
            fix = Fix("safe", "Drop in training only", (edit,)) if edit is not None else None
            yield Report(origin, f"`{code(origin)}` drops weights in evaluation too: its `training` is True unless it is told", fix)
            return


def _is_functional(origin: Origin, call: cst.Call) -> bool:
    """Whether the function of `torch.nn.functional` is called."""
    text = origin.unit.code(call.func)
    top, _, rest = text.partition(".")
    target = origin.unit.scope.imports.get(top)
    if target is None:
        return False
    name = ".".join(part for part in (target.module, target.attribute, rest) if part)
    return name in ("torch.nn.functional.dropout", "torch.dropout")


def _always(call: cst.Call, origin: Origin) -> bool:
    """Whether the call drops whatever the mode: it is told nothing of it, and its rate is not made of it."""
    plain = [one for one in call.args if one.keyword is None]
    if len(plain) > 2 or any(one.star for one in call.args) or argument(call, "training") is not None:
        return False
    rate = argument(call, "p") or (plain[1] if len(plain) > 1 else None)
    if rate is None:
        return True
    text = origin.unit.code(rate.value)
    return not _MODE.search(text) and (isinstance(rate.value, (cst.Float, cst.Attribute)) and text not in ("0.0", "0."))


def _receiver(record: SiteRecord) -> str | None:
    function = record.function
    if function is None or not isinstance(function.node, cst.FunctionDef) or function.kind != "function":
        return None
    parameters = function.node.params.params
    return parameters[0].name.value if parameters else None
