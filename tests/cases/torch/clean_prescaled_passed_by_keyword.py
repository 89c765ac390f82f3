# case: clean_prescaled_passed_by_keyword expect: clean
# proved: yes
import torch
from torch import nn


class Relay(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.scaling = self.head_dim**-0.5
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(embed_dim, embed_dim) for _ in range(3))

    def _shape(self, t, length, bsz):
        return t.view(bsz, length, self.num_heads, self.head_dim).transpose(1, 2).contiguous()

    def forward(self, tokens, globals_):
        b, n, _ = tokens.shape
        g = globals_.shape[1]
        global_q = self._shape(self.q_proj(globals_) * self.scaling, g, b)
        local_k = self._shape(self.k_proj(tokens), n, b)
        local_v = self._shape(self.v_proj(tokens), n, b)
        return self.read_globals(global_q=global_q, local_k=local_k, local_v=local_v)

    def read_globals(self, global_q, local_k, local_v):
        weights = torch.einsum("BHGF,BHXF->BHGX", global_q, local_k)
        probs = nn.functional.softmax(weights, dim=-1)
        return torch.einsum("BHGX,BHXF->BHGF", probs, local_v).transpose(1, 2).flatten(2)
