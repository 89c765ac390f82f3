# case: other_soft_embedding_of_classes expect: clean
import torch
from torch import nn


class SoftWords(nn.Module):
    """The distribution over words is turned into a mean word, with the same table."""

    def __init__(self, vocab, width):
        super().__init__()
        self.table = nn.Embedding(vocab, width)
        self.hidden = nn.Linear(width, width)

    def forward(self, x):
        p = torch.softmax(self.hidden(x) @ self.table.weight.t(), dim=-1)
        return p @ self.table.weight
