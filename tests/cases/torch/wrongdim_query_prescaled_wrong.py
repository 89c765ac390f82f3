# case: wrongdim_query_prescaled_wrong expect: wrong-dim-scale line: 10 alt: 15,19
import torch
from torch import nn


class Prescaled(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.scaling = embed_dim**-0.5
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(embed_dim, embed_dim) for _ in range(3))

    def forward(self, x):
        b, n, c = x.size()
        q = self.q_proj(x) * self.scaling
        q = q.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        w = torch.matmul(q, k.transpose(2, 3)).softmax(dim=-1)
        return torch.matmul(w, v).transpose(1, 2).reshape(b, n, c)
