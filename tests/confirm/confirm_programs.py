"""Programs with a wrong scale, written for the tests of the confirmation."""

LIGHT = """\
import torch
from torch import nn


class Lamp(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.part = heads, width // heads
        self.width = width
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def split(self, t):
        return t.view(t.shape[0], t.shape[1], self.heads, self.part).transpose(1, 2)

    def forward(self, x, mask=None):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = q @ k.transpose(-2, -1) / self.width ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
"""
LIGHT_FIXED = LIGHT.replace("self.width ** 0.5", "self.part ** 0.5")
LIGHT_STILL_WRONG = LIGHT.replace("self.width ** 0.5", "self.heads ** 0.5")
# muP: a multiplier over the head size
MEANT = (
    LIGHT.replace("def __init__(self, width, heads):", "def __init__(self, width, heads, attn_mult=1.0):")
    .replace("self.width = width", "self.attn_mult = attn_mult")
    .replace("/ self.width ** 0.5", "* (self.attn_mult / self.part)")
)
LIGHT_BROKEN = LIGHT.replace("self.width ** 0.5", "self.nothing ** 0.5")

ROWS = """\
import numpy as np


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attend(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    return softmax(q @ k.T / k.shape[-1]) @ v
"""

SCRIPT = """\
import numpy as np

with open("{trace}", "w") as trace:
    trace.write("the script ran")


def soft(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


rng = np.random.default_rng(1)
tokens = rng.standard_normal((6, 20))
w_q, w_k, w_v = (rng.standard_normal((20, 8)) for _ in range(3))
query, key, value = tokens @ w_q, tokens @ w_k, tokens @ w_v
scores = query @ key.T / np.sqrt(20)
weights = soft(scores)
out = weights @ value
print(out)
open("{trace}", "a").write("again")
"""

# what stands in the constructor of an attention with a wrong scale
IN_CONSTRUCTOR = LIGHT.replace("import torch\n", "import os\nimport socket\nimport sys\nimport time\n\nimport torch\n").replace(
    "        self.width = width\n", "        self.width = width\n        {statement}\n"
)

CONFIGURED = """\
import math

import torch
from framework_that_is_not_there import PreTrainedModel, add_docstrings
from torch import nn


class Reader(PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.num_heads = config.num_attention_heads
        self.head_dim = config.hidden_size // self.num_heads
        self.hidden_size = config.hidden_size
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def heads(self, t):
        return t.view(*t.shape[:-1], self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    @add_docstrings("nothing")
    def forward(self, hidden_states, attention_mask=None):
        q, k, v = (self.heads(f(hidden_states)) for f in (self.query, self.key, self.value))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.hidden_size)
        if attention_mask is not None:
            scores = scores + attention_mask
        return torch.matmul(self.dropout(torch.softmax(scores, dim=-1)), v).permute(0, 2, 1, 3).flatten(2)
"""

# no call gets through without knowing that the rows are height times width and one more
TOKENS = """\
import torch
from torch import nn


class Tiles(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.scale = embed_dim**-0.5
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.q, self.k, self.v = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)

    def split(self, t):
        return t.view(t.shape[0], t.shape[1], self.num_heads, self.embed_dim // self.num_heads).permute(0, 2, 1, 3)

    def forward(self, tokens, height, width):
        first, rest = torch.split(tokens, [1, height * width * 3 + 2], 1)
        tokens = torch.cat((first, rest), dim=1)
        query, key, value = self.split(self.q(tokens)), self.split(self.k(tokens)), self.split(self.v(tokens))
        scores = torch.einsum("bhlk,bhtk->bhlt", [query, key]) * self.scale
        weights = torch.softmax(scores, dim=-1)
        return torch.einsum("bhlt,bhtv->bhlv", [weights, value])
"""
TOKENS_FIXED = TOKENS.replace("self.scale = embed_dim**-0.5", "self.scale = (embed_dim // num_heads) ** -0.5")

# one of two paths has the wrong scale, and not the one of the default
TWO_PATHS = """\
import torch
import torch.nn.functional as F
from torch import nn


class Both(nn.Module):
    def __init__(self, width, heads, fused=True):
        super().__init__()
        self.heads, self.part, self.width, self.fused = heads, width // heads, width, fused
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.part).permute(2, 0, 3, 1, 4)
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v)
        else:
            y = torch.softmax(q @ k.transpose(-2, -1) / self.width**0.5, dim=-1) @ v
        return y.transpose(1, 2).flatten(2)
"""
