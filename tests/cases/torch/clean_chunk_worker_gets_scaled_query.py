# case: clean_chunk_worker_gets_scaled_query expect: clean
# proved: yes
import math
from functools import partial

import torch


def one_chunk(query, key, value):
    """Weights of one block of keys, with the maximum kept for the merge."""
    logits = torch.einsum("qhd,khd->qhk", query, key)
    top, _ = torch.max(logits, dim=-1, keepdim=True)
    top = top.detach()
    e = torch.exp(logits - top)
    return torch.einsum("khf,qhk->qhf", value, e), e.sum(dim=-1), top.squeeze(-1)


def blockwise(query, key, value, block=16):
    query = query / math.sqrt(key.shape[-1])
    work = partial(one_chunk, query)
    parts = [work(key[i : i + block], value[i : i + block]) for i in range(0, key.shape[0], block)]
    values, sums, tops = (torch.stack(t) for t in zip(*parts))
    best = tops.amax(dim=0, keepdim=True)
    shift = torch.exp(tops - best)
    return (values * shift.unsqueeze(-1)).sum(0) / (sums * shift).sum(0).unsqueeze(-1)


def demo():
    q, k, v = (torch.randn(48, 4, 16) for _ in range(3))
    return blockwise(q, k, v)
