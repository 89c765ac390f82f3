# case: clean_rotated_part_is_the_head expect: clean
import torch.nn.functional as F
from elsewhere import whole
from torch import nn


class PartlyTurned(nn.Module):
    """Where the test holds, the part that is turned is the whole head."""

    def __init__(self, width, heads, share):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.turned = int(self.size * share)
        self.to_q, self.to_k, self.to_v = (nn.Linear(width, width) for _ in range(3))

    def joined(self, part, rest):
        return whole(part, rest)

    def turn(self, x, angle):
        part, rest = x[..., : self.turned], x[..., self.turned :]
        part = part * angle.cos() + part.flip(-1) * angle.sin()
        if self.turned != self.size:
            return self.joined(part, rest)
        return part

    def forward(self, x, angle):
        b, n, _ = x.shape
        q, k, v = (layer(x).view(b, n, self.heads, self.size).transpose(1, 2) for layer in (self.to_q, self.to_k, self.to_v))
        q, k = self.turn(q, angle), self.turn(k, angle)
        weights = F.softmax(q @ k.transpose(-2, -1) / self.size**0.5, dim=-1)
        return (weights @ v).transpose(1, 2).flatten(2)
