# case: intended_scale_commented_out expect: clean
# verdict: intended
import torch
from torch import nn


class Attention(nn.Module):
    """Somebody tried the scale and left it out."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        # q /= np.sqrt(self.width)  # scale factor (i.e. 1 / sqrt(d_k))
        return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v
