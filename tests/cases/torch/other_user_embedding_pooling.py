# case: other_user_embedding_pooling expect: clean
import torch
from torch import nn


class UserHistory(nn.Module):
    """A user's vector weighs the items of the history; the raw items are summed."""

    def __init__(self, users, items, size):
        super().__init__()
        self.user, self.item = nn.Embedding(users, size), nn.Embedding(items, size)
        self.w = nn.Linear(size, size)
        self.act = nn.ReLU()

    def forward(self, user, history, pad):
        raw = self.item(history)
        keys = self.act(self.w(raw))
        score = torch.matmul(keys, self.user(user).unsqueeze(2)).squeeze(-1)
        score = score.masked_fill(pad, -1e9)
        share = nn.Softmax(dim=1)(score)
        return (raw * share.unsqueeze(2)).sum(dim=1)
