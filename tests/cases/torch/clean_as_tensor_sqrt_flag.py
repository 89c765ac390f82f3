# case: clean_as_tensor_sqrt_flag expect: clean
# proved: yes
import torch
from torch import nn


class SeriesDot(nn.Module):
    def __init__(self, scale: bool = True):
        super().__init__()
        self.scale = scale
        self.softmax = nn.Softmax(dim=2)

    def forward(self, q, k, v, mask=None):
        attn = torch.bmm(q, k.permute(0, 2, 1))
        if self.scale:
            root = torch.as_tensor(k.size(-1), dtype=attn.dtype, device=attn.device).sqrt()
            attn = attn / root
        if mask is not None:
            attn = attn.masked_fill(mask, -1e9)
        return torch.bmm(self.softmax(attn), v)


class SeriesReader(nn.Module):
    def __init__(self, d_model, d_k):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d_model, d_k), nn.Linear(d_model, d_k), nn.Linear(d_model, d_model)
        self.dot = SeriesDot()

    def forward(self, x):
        return self.dot(self.q(x), self.k(x), self.v(x))
