# case: clean_position_bias_beside_position_product expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class RelativeAttention(nn.Module):
    def __init__(self, width, heads, reach):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.to_q, self.to_k, self.to_v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.places = nn.Parameter(torch.randn(reach, heads, self.size))
        self.place_bias = nn.Parameter(torch.zeros(reach, heads))
        self.content_bias = nn.Parameter(torch.zeros(heads, self.size))

    def forward(self, x):
        n, b, w = x.shape
        q, k, v = (f(x).view(n, b, self.heads, self.size) for f in (self.to_q, self.to_k, self.to_v))
        content = torch.einsum("ibhd,jbhd->ijbh", q + self.content_bias, k)
        place = torch.einsum("ibhd,jhd->ijbh", q, self.places[-n:]) + self.place_bias[-n:][None, :, None]
        scores = (content + place) / self.size**0.5
        weights = F.softmax(scores, dim=1)
        return torch.einsum("ijbh,jbhd->ibhd", weights, v).reshape(n, b, w)
