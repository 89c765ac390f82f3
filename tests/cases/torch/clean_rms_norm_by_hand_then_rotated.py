# case: clean_rms_norm_by_hand_then_rotated expect: clean
# verdict: intended
import torch
from torch import nn


class RootMeanSquareNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        y = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (y * (1.0 + self.weight)).type_as(x)


def half_turned(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.head_dim = getattr(config, "head_dim", config.hidden_size // config.num_heads)
        self.q_proj = nn.Linear(config.hidden_size, config.num_heads * self.head_dim)
        self.k_proj = nn.Linear(config.hidden_size, config.num_heads * self.head_dim)
        self.v_proj = nn.Linear(config.hidden_size, config.num_heads * self.head_dim)
        self.q_norm = RootMeanSquareNorm(self.head_dim, config.eps)
        self.k_norm = RootMeanSquareNorm(self.head_dim, config.eps)

    def forward(self, x, rotation):
        b, t, _ = x.shape
        q = self.q_norm(self.q_proj(x).view(b, t, -1, self.head_dim)).transpose(1, 2)
        k = self.k_norm(self.k_proj(x).view(b, t, -1, self.head_dim)).transpose(1, 2)
        v = self.v_proj(x).view(b, t, -1, self.head_dim).transpose(1, 2)
        cos, sin = rotation
        q = q * cos + half_turned(q) * sin
        k = k * cos + half_turned(k) * sin
        return torch.softmax(q @ k.mT, dim=-1) @ v
