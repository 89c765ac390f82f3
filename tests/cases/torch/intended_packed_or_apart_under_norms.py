# case: intended_packed_or_apart_under_norms expect: clean
# verdict: intended
import torch
import torch.nn.functional as F
from flash_attn import flash_attn_func, flash_attn_qkvpacked_func
from torch import nn


class Backend(nn.Module):
    """Three tensors that are handed over together are no packed one."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, qkv):
        if isinstance(qkv, torch.Tensor):
            return flash_attn_qkvpacked_func(qkv, 0.0, self.scale)
        q, k, v = qkv
        return flash_attn_func(q, k, v, 0.0, self.scale)


class Normalised(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.backend = heads, Backend((width // heads) ** 0.5)
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        b, t, _ = x.shape
        q = F.normalize(self.q(x).view(b, t, self.heads, -1), dim=-1)
        k = F.normalize(self.k(x).view(b, t, self.heads, -1), dim=-1)
        return self.backend((q, k, self.v(x).view(b, t, self.heads, -1)))
