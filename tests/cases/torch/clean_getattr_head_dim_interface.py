# case: clean_getattr_head_dim_interface expect: clean
# proved: yes
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class BrewConfig:
    hidden_size: int = 64
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    attn_implementation: str = "plain"


def widen(states, times):
    batch, heads, length, dim = states.shape
    if times == 1:
        return states
    states = states[:, :, None, :, :].expand(batch, heads, times, length, dim)
    return states.reshape(batch, heads * times, length, dim)


def plain_forward(module, query, key, value, mask, scaling, **kwargs):
    key = widen(key, module.kettles)
    value = widen(value, module.kettles)
    weights = torch.matmul(query, key.transpose(2, 3)) * scaling
    if mask is not None:
        weights = weights + mask[:, :, :, : key.shape[-2]]
    weights = nn.functional.softmax(weights, dim=-1, dtype=torch.float32).to(query.dtype)
    return torch.matmul(weights, value).transpose(1, 2).contiguous(), weights


REGISTRY = {}


class BrewAttention(nn.Module):
    def __init__(self, config: BrewConfig, batch_number: int):
        super().__init__()
        self.recipe = config
        self.batch_number = batch_number
        self.head_dim = getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
        self.kettles = config.num_attention_heads // config.num_key_value_heads
        self.scaling = self.head_dim**-0.5
        self.q_proj = nn.Linear(config.hidden_size, config.num_attention_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, config.num_key_value_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, config.num_key_value_heads * self.head_dim, bias=False)

    def forward(self, mash, attention_mask=None, **kwargs):
        lead = mash.shape[:-1]
        by_head = (*lead, -1, self.head_dim)
        query = self.q_proj(mash).view(by_head).transpose(1, 2)
        key = self.k_proj(mash).view(by_head).transpose(1, 2)
        value = self.v_proj(mash).view(by_head).transpose(1, 2)
        attend = plain_forward
        if self.recipe.attn_implementation != "plain":
            attend = REGISTRY[self.recipe.attn_implementation]
        out, weights = attend(self, query, key, value, attention_mask, scaling=self.scaling, **kwargs)
        return out.reshape(*lead, -1).contiguous(), weights
