# case: missing_on_one_of_many_paths expect: missing-scale line: 30 alt: 41,42
import torch
from torch import nn


class Attention(nn.Module):
    """What a cache hands back is not followed; what is projected here is, on the last of many paths."""

    def __init__(self, config):
        super().__init__()
        self.heads = config.heads
        self.head_dim = config.width // config.heads
        self.query = nn.Linear(config.width, config.width)
        self.key = nn.Linear(config.width, config.width)
        self.value = nn.Linear(config.width, config.width)
        self.kind = config.kind
        self.places = nn.Embedding(config.longest, self.head_dim)

    def split(self, x):
        return x.view(x.shape[0], -1, self.heads, self.head_dim).transpose(1, 2)

    def forward(self, x, memory=None, mask=None, cache=None):
        query = self.split(self.query(x))
        if memory is not None and cache is not None and cache.full:
            key, value = cache.cross.keys, cache.cross.values
        else:
            key, value = self.split(self.key(x)), self.split(self.value(x))
            if cache is not None:
                key, value = cache.update(key, value)
        logits = query @ key.transpose(-1, -2)
        if self.kind == "relative" or self.kind == "relative to both":
            places = torch.arange(key.shape[2])
            if cache is not None:
                places = places[-1:]
            near = self.places(places[:, None] - torch.arange(key.shape[2])[None, :])
            if self.kind == "relative":
                logits = logits + torch.einsum("bhld,lrd->bhlr", query, near)
            elif self.kind == "relative to both":
                logits = logits + torch.einsum("bhld,lrd->bhlr", query, near) + torch.einsum("bhrd,lrd->bhlr", key, near)
        if mask is not None:
            logits = logits + mask
        return logits.softmax(dim=-1) @ value
