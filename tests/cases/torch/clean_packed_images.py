# case: clean_packed_images expect: clean
# proved: yes
import torch
from torch import nn


class Patches(nn.Module):
    """Images of many sizes behind one another: the first axis is the positions, and there is no batch."""

    def __init__(self, config):
        super().__init__()
        self.heads = config.num_heads
        self.scaling = (config.hidden_size // config.num_heads) ** -0.5
        self.qkv = nn.Linear(config.hidden_size, config.hidden_size * 3)

    def forward(self, hidden_states):
        length = hidden_states.shape[0]
        q, k, v = self.qkv(hidden_states).reshape(length, 3, self.heads, -1).permute(1, 0, 2, 3).unbind(0)
        q, k, v = (t.transpose(0, 1).unsqueeze(0) for t in (q, k, v))
        return torch.softmax(q @ k.transpose(2, 3) * self.scaling, dim=-1) @ v
