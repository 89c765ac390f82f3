# case: intended_t5_initialiser_elsewhere expect: clean
# verdict: intended
import torch
from torch import nn


class TextPairAttention(nn.Module):
    def __init__(self, config, has_relative_attention_bias=False):
        super().__init__()
        self.d_model, self.d_kv, self.n_heads = config.d_model, config.d_kv, config.num_heads
        self.total = self.n_heads * self.d_kv
        self.q = nn.Linear(self.d_model, self.total, bias=False)
        self.k = nn.Linear(self.d_model, self.total, bias=False)
        self.v = nn.Linear(self.d_model, self.total, bias=False)
        self.o = nn.Linear(self.total, self.d_model, bias=False)

    def forward(self, words, position_bias=None):
        b, n, _ = words.shape
        q = self.q(words).view(b, -1, self.n_heads, self.d_kv).transpose(1, 2)
        k = self.k(words).view(b, -1, self.n_heads, self.d_kv).transpose(1, 2)
        v = self.v(words).view(b, -1, self.n_heads, self.d_kv).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(3, 2))
        if position_bias is not None:
            scores = scores + position_bias
        weights = nn.functional.softmax(scores.float(), dim=-1).type_as(scores)
        return self.o(torch.matmul(weights, v).transpose(1, 2).contiguous().view(b, n, self.total))


class TextPairModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.attention = TextPairAttention(config)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        factor = self.config.initializer_factor
        if isinstance(module, TextPairAttention):
            d_model, d_kv, n_heads = self.config.d_model, self.config.d_kv, self.config.num_heads
            module.q.weight.data.normal_(mean=0.0, std=factor * ((d_model * d_kv) ** -0.5))
            module.k.weight.data.normal_(mean=0.0, std=factor * (d_model**-0.5))
            module.v.weight.data.normal_(mean=0.0, std=factor * (d_model**-0.5))
            module.o.weight.data.normal_(mean=0.0, std=factor * ((n_heads * d_kv) ** -0.5))

    def forward(self, words):
        return self.attention(words)
