# case: intended_t5_initialiser_elsewhere expect: clean
# verdict: intended
import torch
from torch import nn


class TextPairAttention(nn.Module):
    def __init__(self, config, has_relative_attention_bias=False):
        super().__init__()
        self.d_model, self.key_value_proj_dim, self.n_heads = config.d_model, config.d_kv, config.num_heads
        self.inner_dim = self.n_heads * self.key_value_proj_dim
        self.q = nn.Linear(self.d_model, self.inner_dim, bias=False)
        self.k = nn.Linear(self.d_model, self.inner_dim, bias=False)
        self.v = nn.Linear(self.d_model, self.inner_dim, bias=False)
        self.o = nn.Linear(self.inner_dim, self.d_model, bias=False)

    def forward(self, hidden, position_bias=None):
        b, n, _ = hidden.shape
        q = self.q(hidden).view(b, -1, self.n_heads, self.key_value_proj_dim).transpose(1, 2)
        k = self.k(hidden).view(b, -1, self.n_heads, self.key_value_proj_dim).transpose(1, 2)
        v = self.v(hidden).view(b, -1, self.n_heads, self.key_value_proj_dim).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(3, 2))
        if position_bias is not None:
            scores = scores + position_bias
        weights = nn.functional.softmax(scores.float(), dim=-1).type_as(scores)
        return self.o(torch.matmul(weights, v).transpose(1, 2).contiguous().view(b, n, self.inner_dim))


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

    def forward(self, hidden):
        return self.attention(hidden)
