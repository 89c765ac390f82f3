# case: wrongdim_float_tensor_on_device expect: wrong-dim-scale line: 11 alt: 18
import torch
from torch import nn


class Seq2Seq(nn.Module):
    def __init__(self, units, parts, device):
        super().__init__()
        self.units, self.parts, self.head_dim = units, parts, units // parts
        self.to_q, self.to_k, self.to_v = (nn.Linear(units, units) for _ in range(3))
        self.scale = torch.sqrt(torch.FloatTensor([units])).to(device)

    def forward(self, query, key, value, mask=None):
        count = query.shape[0]
        ask = self.to_q(query).view(count, -1, self.parts, self.head_dim).permute(0, 2, 1, 3)
        hint = self.to_k(key).view(count, -1, self.parts, self.head_dim).permute(0, 2, 1, 3)
        fact = self.to_v(value).view(count, -1, self.parts, self.head_dim).permute(0, 2, 1, 3)
        logits = torch.matmul(ask, hint.permute(0, 1, 3, 2)) / self.scale
        if mask is not None:
            logits = logits.masked_fill(mask == 0, -1e10)
        return torch.matmul(torch.softmax(logits, dim=-1), fact).permute(0, 2, 1, 3).reshape(count, -1, self.units)
