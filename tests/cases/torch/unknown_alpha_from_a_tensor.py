# case: unknown_alpha_from_a_tensor expect: clean
# verdict: unknown
import torch
from torch import nn


class PixelAttention(nn.Module):
    """Attention between pixels whose factor is handed to the product: one of several, as one entry of a tensor."""

    def __init__(self, channels):
        super().__init__()
        self.to_q = nn.Linear(channels, channels)
        self.to_k = nn.Linear(channels, channels)
        self.to_v = nn.Linear(channels, channels)

    def forward(self, x, widths):
        query, key, value = self.to_q(x), self.to_k(x), self.to_v(x)
        empty = torch.empty(query.shape[0], query.shape[1], key.shape[1])
        scale = 1 / torch.sqrt(widths.float().select(0, 1)).item()
        scores = torch.baddbmm(empty, query, key.transpose(-1, -2), beta=0, alpha=scale)
        return torch.bmm(scores.softmax(dim=-1), value)
