# case: clean_sink_logits_concatenated expect: clean
# proved: yes
import torch
from torch import nn


class Drain(nn.Module):
    def __init__(self, width, heads, head_dim):
        super().__init__()
        self.heads, self.head_dim = heads, head_dim
        self.scaling = head_dim**-0.5
        self.sinks = nn.Parameter(torch.empty(heads).normal_())
        self.q, self.k, self.v = (nn.Linear(width, heads * head_dim) for _ in range(3))

    def forward(self, x):
        b, n, _ = x.shape
        shape = (b, n, self.heads, self.head_dim)
        q, k, v = (f(x).view(shape).transpose(1, 2) for f in (self.q, self.k, self.v))
        w = torch.matmul(q, k.transpose(2, 3)) * self.scaling
        sink = self.sinks.reshape(1, -1, 1, 1).expand(b, -1, n, -1)
        both = torch.cat([w, sink], dim=-1)
        both = both - both.max(dim=-1, keepdim=True).values
        probs = torch.softmax(both, dim=-1)
        return torch.matmul(probs[..., :-1], v).transpose(1, 2).reshape(b, n, -1)
