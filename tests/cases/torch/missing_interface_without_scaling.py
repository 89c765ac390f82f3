# case: missing_interface_without_scaling expect: missing-scale line: 7 alt: 10,24
import torch
from torch import nn


def eager(module, query, key, value, mask, scaling=None):
    weights = torch.matmul(query, key.transpose(2, 3))
    if mask is not None:
        weights = weights + mask
    weights = nn.functional.softmax(weights, dim=-1, dtype=torch.float32).to(query.dtype)
    return torch.matmul(weights, value).transpose(1, 2), weights


class Ported(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.head_dim = config.num_heads, config.hidden_size // config.num_heads
        self.scaling = self.head_dim**-0.5
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(config.hidden_size, config.hidden_size) for _ in range(3))

    def forward(self, x, mask=None):
        shape = (*x.shape[:-1], -1, self.head_dim)
        q, k, v = (p(x).view(shape).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        out, _ = eager(self, q, k, v, mask, scaling=self.scaling)
        return out.flatten(2)
