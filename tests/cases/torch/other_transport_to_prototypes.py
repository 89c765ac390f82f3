# case: other_transport_to_prototypes expect: clean
import torch
from torch import nn
import torch.nn.functional as F


class Loss(nn.Module):
    """Features are assigned to prototypes by optimal transport."""

    def __init__(self, epsilon, iterations):
        super().__init__()
        self.epsilon, self.iterations = epsilon, iterations

    def forward(self, features, prototype_weights, embedding):
        out = torch.mm(features, prototype_weights.t())
        q = torch.exp(out / self.epsilon).t()
        q /= torch.sum(q)
        for _ in range(self.iterations):
            q /= torch.sum(q, dim=1, keepdim=True)
            q /= torch.sum(q, dim=0, keepdim=True)
        p = F.softmax(embedding, dim=1)
        return torch.mean(torch.sum(q.t() * torch.log(p), dim=1))
