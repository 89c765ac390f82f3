# case: clean_triton_style_log2e expect: clean
# proved: yes
import math

import torch


def base_two(q, k, v):
    """exp2 wants the logits times log2(e)."""
    log2e = 1.4426950408889634
    scale = 1.0 / math.sqrt(q.shape[-1])
    s = (q @ k.transpose(-1, -2)) * (scale * log2e)
    s = s - s.max(dim=-1, keepdim=True).values
    p = torch.exp2(s)
    return (p / p.sum(dim=-1, keepdim=True)) @ v
