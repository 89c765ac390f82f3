# case: other_fastformer_linear_logits expect: clean
import torch
from torch import nn


class GlobalQuery(nn.Module):
    """Each token's logit comes from a layer of one output; the root only tames it."""

    def __init__(self, dim, dim_head):
        super().__init__()
        self.scale = dim_head**-0.5
        self.to_qk = nn.Linear(dim, 2 * dim_head)
        self.q_logit, self.k_logit = nn.Linear(dim_head, 1, bias=False), nn.Linear(dim_head, 1, bias=False)

    def forward(self, x):
        q, k = self.to_qk(x).chunk(2, dim=-1)
        qa = torch.softmax(self.q_logit(q) * self.scale, dim=1)
        query = (qa * q).sum(dim=1, keepdim=True)
        ka = torch.softmax(self.k_logit(k * query) * self.scale, dim=1)
        return (ka * k).sum(dim=1)
