# case: wrongdim_interface_scaling_argument expect: wrong-dim-scale line: 16 alt: 7,24
import torch
from torch import nn


def eager(module, query, key, value, mask, scaling):
    weights = torch.matmul(query, key.transpose(2, 3)) * scaling
    weights = nn.functional.softmax(weights if mask is None else weights + mask, dim=-1)
    return torch.matmul(weights, value).transpose(1, 2)


class Wide(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.head_dim = getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
        self.scaling = config.hidden_size**-0.5
        self.q_proj = nn.Linear(config.hidden_size, config.num_attention_heads * self.head_dim)
        self.k_proj = nn.Linear(config.hidden_size, config.num_attention_heads * self.head_dim)
        self.v_proj = nn.Linear(config.hidden_size, config.num_attention_heads * self.head_dim)

    def forward(self, x, mask=None):
        shape = (*x.shape[:-1], -1, self.head_dim)
        q, k, v = (p(x).view(shape).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        return eager(self, q, k, v, mask, scaling=self.scaling).flatten(2)
