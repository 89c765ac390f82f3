# case: clean_scaling_taken_back_before_fused expect: clean
# proved: yes
import torch.nn.functional as F
from torch import nn


class TakenBack(nn.Module):
    """The projection scales for the old path; the fused kernel gets the query unscaled again."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.scaling = self.head_dim**-0.5
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(embed_dim, embed_dim) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q = self.q_proj(x) * self.scaling
        q = q.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        y = F.scaled_dot_product_attention(q / self.scaling, k, v)
        return y.transpose(1, 2).reshape(b, n, c)
