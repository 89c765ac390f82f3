# case: clean_packed_images_apart expect: clean
# proved: yes
import torch
from torch import nn


class Patches(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.num_heads
        self.scaling = (config.hidden_size // config.num_heads) ** -0.5
        self.q, self.k, self.v = (nn.Linear(config.hidden_size, config.hidden_size) for _ in range(3))

    def forward(self, hidden_states):
        length = hidden_states.shape[0]
        q, k, v = (f(hidden_states).reshape(length, self.heads, -1).transpose(0, 1).unsqueeze(0) for f in (self.q, self.k, self.v))
        return torch.softmax(q @ k.transpose(2, 3) * self.scaling, dim=-1) @ v
