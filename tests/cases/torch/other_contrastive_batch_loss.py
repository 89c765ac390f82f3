# case: other_contrastive_batch_loss expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class PairLoss(nn.Module):
    def __init__(self, dim, out, temperature=0.07):
        super().__init__()
        self.head_a, self.head_b, self.temperature = nn.Linear(dim, out), nn.Linear(dim, out), temperature

    def forward(self, a, b):
        za = F.normalize(self.head_a(a), dim=1)
        zb = F.normalize(self.head_b(b), dim=1)
        logits = za @ zb.t() / self.temperature
        rows, cols = F.log_softmax(logits, dim=1), F.log_softmax(logits, dim=0)
        diagonal = torch.arange(a.shape[0])
        return -(rows[diagonal, diagonal].mean() + cols[diagonal, diagonal].mean()) / 2
