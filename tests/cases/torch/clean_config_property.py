# case: clean_config_property expect: clean
# proved: yes
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class TramConfig:
    width: int = 64
    n_heads: int = 4
    bias: bool = False

    @property
    def head_width(self) -> int:
        return self.width // self.n_heads


class TramAttention(nn.Module):
    def __init__(self, cfg: TramConfig):
        super().__init__()
        self.cfg = cfg
        self.wq = nn.Linear(cfg.width, cfg.width, bias=cfg.bias)
        self.wk = nn.Linear(cfg.width, cfg.width, bias=cfg.bias)
        self.wv = nn.Linear(cfg.width, cfg.width, bias=cfg.bias)

    def forward(self, x):
        lead = x.shape[:-1]
        q = self.wq(x).view(*lead, self.cfg.n_heads, self.cfg.head_width).transpose(-3, -2)
        k = self.wk(x).view(*lead, self.cfg.n_heads, self.cfg.head_width).transpose(-3, -2)
        v = self.wv(x).view(*lead, self.cfg.n_heads, self.cfg.head_width).transpose(-3, -2)
        att = (q @ k.transpose(-1, -2)) / (self.cfg.head_width**0.5)
        return (att.softmax(-1) @ v).transpose(-3, -2).reshape(*lead, self.cfg.width)
