# case: other_softmax_of_softmax expect: clean
"""Two softmaxes, each over two axes without a `dim` (PyTorch takes the last). At the first, the advice `dim=-2` would change what is computed:
the axis that is meant is the one that runs now, and it stands under "keys `of another size`"."""

import torch
from torch import nn


def cross(query, context):
    b, n, m = query.size(0), query.size(1), context.size(1)
    scores = torch.bmm(context, query.transpose(1, 2))
    scores = nn.Softmax()(scores.view(b * m, n)).view(b, m, n)
    scores = scores.transpose(1, 2).contiguous().view(b * n, m)
    weights = nn.Softmax()(scores).view(b, n, m).transpose(1, 2).contiguous()
    return torch.bmm(context.transpose(1, 2), weights).transpose(1, 2)
