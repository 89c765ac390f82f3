# case: other_gumbel_policy expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class Policy(nn.Module):
    def __init__(self, obs, hidden, actions):
        super().__init__()
        self.fc, self.out = nn.Linear(obs, hidden), nn.Linear(hidden, actions)

    def forward(self, obs, tau=1.0):
        logits = self.out(F.relu(self.fc(obs)))
        noise = -torch.log(-torch.log(torch.rand_like(logits)))
        return F.softmax((logits + noise) / tau, dim=-1)
