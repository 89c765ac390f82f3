"""A small language model. It trains, and three of its attention layers scale their logits wrongly: `attnlint examples/` finds them."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class SelfAttention(nn.Module):
    def __init__(self, embed_size: int, heads: int) -> None:
        super().__init__()
        self.embed_size = embed_size
        self.heads = heads
        self.head_dim = embed_size // heads
        self.to_queries = nn.Linear(embed_size, embed_size, bias=False)
        self.to_keys = nn.Linear(embed_size, embed_size, bias=False)
        self.to_values = nn.Linear(embed_size, embed_size, bias=False)
        self.to_out = nn.Linear(embed_size, embed_size)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q = self.to_queries(x).reshape(batch, length, self.heads, self.head_dim)
        k = self.to_keys(x).reshape(batch, length, self.heads, self.head_dim)
        v = self.to_values(x).reshape(batch, length, self.heads, self.head_dim)
        energy = torch.einsum("bqhd,bkhd->bhqk", q, k)
        energy = energy.masked_fill(mask == 0, float("-inf"))
        attention = torch.softmax(energy / (self.embed_size ** (1 / 2)), dim=3)
        out = torch.einsum("bhqk,bkhd->bqhd", attention, v)
        return self.to_out(out.reshape(batch, length, self.embed_size))


class CrossAttention(nn.Module):
    """Reads the encoder's states with one head."""

    def __init__(self, dim: int, context_dim: int) -> None:
        super().__init__()
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(context_dim, dim)
        self.value = nn.Linear(context_dim, dim)

    def forward(self, x: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        q, k, v = self.query(x), self.key(context), self.value(context)
        weights = F.softmax(q @ k.transpose(-2, -1), dim=-1)
        return weights @ v


class FusedAttention(nn.Module):
    """Calls PyTorch's kernel, which divides by the root itself."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, dim = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q = q * self.head_dim**-0.5
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return out.transpose(1, 2).reshape(batch, length, dim)


class RightAttention(nn.Module):
    """Nothing is reported here: q·k sums over head_dim, and its root is the scale."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, dim = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.head_dim), dim=-1)
        return (weights @ v).transpose(1, 2).reshape(batch, length, dim)
